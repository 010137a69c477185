/** `stackside devnet types`: TypeScript types of deployed contracts, for `stackside/test`. */
import { Type } from '@sinclair/typebox';
import { OperatorError } from '../../base/errors.ts';
import type { AbiType } from '../../codec/abi.ts';
import type { ContractInterface } from '../../devnet/contract.ts';
import { devnetJson } from '../cli/client.ts';

type FunctionInterface = ContractInterface['functions'][number];

const State = Type.Object({ accounts: Type.Array(Type.Object({ address: Type.String() })) });
const Contracts = Type.Object({
  cursor: Type.Object({ next: Type.Union([Type.String(), Type.Null()]) }),
  results: Type.Array(Type.Object({ contract_id: Type.String() })),
});
const Interface = Type.Object({ functions: Type.Array(Type.Unknown()) });

/** Interfaces by the name of their contract. */
type Interfaces = ReadonlyMap<string, readonly FunctionInterface[]>;

async function listContracts(url: string): Promise<string[]> {
  const ids: string[] = [];
  let query = '';
  for (;;) {
    const { results, cursor } = await devnetJson(Contracts, url, `/stackside/v1/contracts${query}`);
    ids.push(...results.map(({ contract_id: id }) => id));
    if (cursor.next === null) return ids.reverse();
    query = `?cursor=${encodeURIComponent(cursor.next)}`;
  }
}

/**
 * Returns the interfaces of the contracts that the accounts of a devnet's project deployed, oldest first.
 * @throws OperatorError if the server isn't a devnet, or has no such contract
 */
export async function projectInterfaces(url: string): Promise<Interfaces> {
  const { accounts } = await devnetJson(State, url, '/stackside/v1/devnet');
  const addresses = new Set(accounts.map(({ address }) => address));
  const interfaces = new Map<string, readonly FunctionInterface[]>();
  for (const id of await listContracts(url)) {
    const [address = '', name = ''] = id.split('.');
    // A test finds a contract by its name, which belongs to the first deployment.
    if (!addresses.has(address) || interfaces.has(name)) continue;
    const { functions } = await devnetJson(Interface, url, `/v2/contracts/interface/${address}/${name}`);
    interfaces.set(name, functions as FunctionInterface[]);
  }
  if (interfaces.size > 0) return interfaces;
  throw new OperatorError(
    `The devnet at ${url} has no contracts of a project.`,
    'Start `stackside devnet` in the directory of a Clarinet project.',
  );
}

/** Types of arguments that `stackside/test` exports. */
const NAMES = ['Ascii', 'Bool', 'Buffer', 'Int', 'List', 'Optional', 'Principal', 'Tuple', 'Uint', 'Utf8'];

/** The type of literals, and the JavaScript type of results, of types without parts. */
const PLAIN: Readonly<Record<Extract<AbiType, string>, readonly [literal: string, value: string]>> = {
  uint128: ['Uint', 'bigint'],
  int128: ['Int', 'bigint'],
  bool: ['Bool', 'boolean'],
  principal: ['Principal', 'string'],
  trait_reference: ['Principal', 'string'],
  none: ["'none'", 'null'],
};

function literalOf(type: AbiType): string {
  if (typeof type === 'string') return PLAIN[type][0];
  if ('buffer' in type) return 'Buffer';
  if ('string-ascii' in type) return 'Ascii';
  if ('string-utf8' in type) return 'Utf8';
  if ('optional' in type) return `Optional<${literalOf(type.optional)}>`;
  if ('list' in type) return 'List';
  if ('tuple' in type) return 'Tuple';
  return 'string';
}

const quote = (name: string): string =>
  /^[a-zA-Z_]\w*$/.test(name) ? name : JSON.stringify(name).replaceAll('"', "'");

function valueTypeOf(type: AbiType): string {
  if (typeof type === 'string') return PLAIN[type][1];
  if ('optional' in type) return `${valueTypeOf(type.optional)} | null`;
  if ('response' in type)
    return `{ ok: ${valueTypeOf(type.response.ok)} } | { err: ${valueTypeOf(type.response.error)} }`;
  if ('list' in type) return `(${valueTypeOf(type.list.type)})[]`;
  if ('tuple' in type)
    return `{ ${type.tuple.map((member) => `${quote(member.name)}: ${valueTypeOf(member.type)}`).join('; ')} }`;
  return 'string';
}

/** Words that TypeScript doesn't accept as the label of an argument. */
const RESERVED =
  /^(break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|export|extends|false|finally|for|function|if|import|in|infer|instanceof|keyof|new|null|readonly|return|super|switch|this|throw|true|try|typeof|unique|var|void|while|with)$/;

/** Returns the label of an argument: its name in camel case, or its number if TypeScript doesn't accept the name. */
const labelOf = (name: string, index: number): string => {
  const label = name.replace(/\W+(\w?)/g, (_, next: string) => next.toUpperCase());
  return /^[a-zA-Z_]\w*$/.test(label) && !RESERVED.test(label) ? label : `argument${index + 1}`;
};

function functionsOf(functions: readonly FunctionInterface[], access: FunctionInterface['access']): string {
  const lines = functions
    .filter((declared) => declared.access === access)
    .map(({ name, args, outputs }) => {
      const literals = args.map((argument, index) => `${labelOf(argument.name, index)}: ${literalOf(argument.type)}`);
      const value = valueTypeOf(outputs.type);
      return `      ${quote(name)}: {\n        args: [${literals.join(', ')}];\n        value: ${value};\n      };\n`;
    });
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}    }`;
}

/** Returns the source of a file with the type `Contracts`. */
export function typesFile(contracts: Interfaces): string {
  // A contract without such functions only defines traits.
  const callable = [...contracts].filter(([, functions]) => functions.some(({ access }) => access !== 'private'));
  const members = callable.map(([name, functions]) => {
    const [calls, reads] = [functionsOf(functions, 'public'), functionsOf(functions, 'read_only')];
    return `  ${quote(name)}: {\n    calls: ${calls};\n    reads: ${reads};\n  };\n`;
  });
  const body = members.join('');
  const types = NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  const imports = types.length === 0 ? '' : `import type { ${types.join(', ')} } from 'stackside/test';\n\n`;
  return `/* Generated by \`stackside devnet types\`. */\n${imports}export type Contracts = {\n${body}};\n`;
}
