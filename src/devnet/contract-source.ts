/** Contracts that users deploy: what their source says of them without being executed. */
import type { AbiType } from '../codec/abi.ts';
import { atomOf, type Form, listOf, readForms, SourceError } from './clarity-forms.ts';
import { literalOf, typeOf } from './clarity-literals.ts';
import { type ContractInterface, type ContractTemplate, contractInterface } from './contract.ts';

/** What a source is made into. */
export interface ReadSource {
  readonly template: ContractTemplate;
  /** The error of a source that no contract can be made of; null for others. */
  readonly flaw: string | null;
  /** An expression at the top level, which a deployment would execute; null where there is none. */
  readonly executed: string | null;
}

/** Forms that declare something and execute nothing that is visible from outside. */
const silentForms = new Set(['define-private', 'define-trait', 'impl-trait', 'use-trait']);

type Draft = { -readonly [K in keyof ContractInterface]: ContractInterface[K] } & {
  readonly constants: Record<string, Uint8Array>;
  readonly values: Record<string, Uint8Array>;
};

/** What a public function returns is a response; of what, only an analysis could tell. */
const unknownResponse: AbiType = { response: { ok: 'none', error: 'none' } };

function nameOf(form: Form | undefined): string {
  const name = atomOf(form);
  if (name === undefined || !/^[a-zA-Z][\w!?+<>=/*-]*$|^[-+=/*<>]=?$/.test(name)) {
    throw new SourceError(':0:0: expected a name');
  }
  return name;
}

function addFunction(draft: Draft, form: Form | undefined, access: ContractInterface['functions'][number]['access']) {
  const [name, ...parameters] = listOf(form) ?? [];
  const args = parameters.map((parameter) => {
    const [argument, type] = listOf(parameter) ?? [];
    return { name: nameOf(argument), type: typeOf(type) };
  });
  draft.functions.push({
    access,
    args,
    name: nameOf(name),
    outputs: { type: access === 'public' ? unknownResponse : 'none' },
  });
}

/** What each form of definition adds. @throws SourceError */
const definitions: Readonly<Record<string, (draft: Draft, rest: readonly Form[], sender: string) => void>> = {
  'define-public': (draft, [head]) => addFunction(draft, head, 'public'),
  'define-read-only': (draft, [head]) => addFunction(draft, head, 'read_only'),
  'define-private': (draft, [head]) => addFunction(draft, head, 'private'),
  'define-constant': (draft, [name, value], sender) => {
    const literal = literalOf(value, sender);
    draft.variables.push({ access: 'constant', name: nameOf(name), type: literal?.type ?? 'none' });
    if (literal !== null) draft.constants[nameOf(name)] = literal.value;
  },
  'define-data-var': (draft, [name, type, value], sender) => {
    draft.variables.push({ access: 'variable', name: nameOf(name), type: typeOf(type) });
    const literal = literalOf(value, sender);
    if (literal !== null) draft.values[nameOf(name)] = literal.value;
  },
  'define-map': (draft, [name, key, value]) => {
    draft.maps.push({ name: nameOf(name), key: typeOf(key), value: typeOf(value) });
  },
  'define-fungible-token': (draft, [name]) => {
    draft.fungible_tokens.push({ name: nameOf(name) });
  },
  'define-non-fungible-token': (draft, [name, type]) => {
    draft.non_fungible_tokens.push({ name: nameOf(name), type: typeOf(type) });
  },
};

/** Reads the definitions. @returns an expression that isn't one, or null @throws SourceError */
function readInto(draft: Draft, source: string, sender: string): string | null {
  let executed: string | null = null;
  for (const form of readForms(source)) {
    const [head, ...rest] = listOf(form) ?? [];
    const name = atomOf(head) ?? '';
    if (Object.hasOwn(definitions, name)) definitions[name]!(draft, rest, sender);
    else if (!silentForms.has(name)) executed ??= name === '' ? 'a value' : `(${name} …)`;
  }
  return executed;
}

/**
 * Reads the source of a contract that is not one of the simulation's own. Its functions can't be called; constants,
 * variables and maps are as a deployment leaves them.
 * @param clarityVersion null for that of the epoch
 * @param sender who deploys it
 */
export function readSource(name: string, source: string, clarityVersion: number | null, sender: string): ReadSource {
  const abi = contractInterface({ clarity_version: `Clarity${clarityVersion ?? 3}` });
  const draft: Draft = { ...abi, constants: {}, values: {} };
  let executed: string | null = null;
  let flaw: string | null = null;
  try {
    executed = readInto(draft, source, sender);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    flaw = error.message;
  }
  const variables = Object.entries(draft.values).map(([variable, value]) => [variable, () => value] as const);
  const template: ContractTemplate = {
    name,
    clarityVersion: clarityVersion ?? undefined,
    source,
    abi,
    constants: draft.constants,
    variables: Object.fromEntries(variables),
    maps: Object.fromEntries(draft.maps.map(({ name: map }) => [map, () => undefined])),
    propose() {
      throw new Error(`nobody of the simulation calls ${name}`);
    },
  };
  return { template, flaw, executed };
}
