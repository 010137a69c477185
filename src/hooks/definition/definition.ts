/** The definition of a chainhook: its schema, its parser, and a stored hook as the engine evaluates it. */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { named, nullable } from '../../api/shared/fields.ts';
import { isObject } from '../../base/json.ts';
import type { Network } from '../../chain/network.ts';
import { ConditionError, literalOf, NOT_128_BITS, serializedForms } from '../../codec/value-condition.ts';
import { checker, unknownMember } from '../../http/checker.ts';
import type { HookRecord } from '../../store/hooks/model.ts';
import { type Condition, toConditions } from '../matching/matching.ts';
import { HookProblem, invalidField } from '../problem.ts';
import { type Filter, filterSchemas, formerFilters, isFilterType } from './filter-schemas.ts';

const flag = Type.Optional(nullable(Type.Boolean(), { $id: 'Flag', description: 'Off if false, null or missing' }));
const limit = (counted: string) =>
  Type.Optional(
    nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
      rule: `an integer from 0 to ${Number.MAX_SAFE_INTEGER}, or null`,
      description: `Number of ${counted} blocks after which the chainhook expires; 0 and null mean no limit`,
    }),
  );

const MAX_URL = 2048;

const Url = { pattern: '^https?://', rule: 'a URL that begins with http:// or https://', maxLength: MAX_URL };

export const Options = Type.Object(
  {
    decode_clarity_values: flag,
    include_contract_abi: flag,
    include_contract_source_code: flag,
    include_post_conditions: flag,
    include_raw_transactions: flag,
    include_block_metadata: flag,
    include_block_signatures: flag,
    enable_on_registration: flag,
    expire_after_evaluations: limit('evaluated'),
    expire_after_occurrences: limit('matching'),
    alert_url: Type.Optional(
      nullable(Type.String(Url), {
        rule: `${Url.rule}, with at most ${MAX_URL} characters, or null`,
        description: 'URL that receives a POST when the chainhook is interrupted or expires',
      }),
    ),
  },
  { $id: 'ChainhookOptions', additionalProperties: false },
);
export type Options = Static<typeof Options>;

const MAX_FILTERS = 500;
const MAX_NAME = 256;

export const Definition = named('ChainhookDefinition', {
  name: Type.String({ description: `At most ${MAX_NAME} characters` }),
  version: Type.Literal('1'),
  chain: Type.Literal('stacks'),
  network: Type.Union([Type.Literal('mainnet'), Type.Literal('testnet')]),
  filters: Type.Object({
    events: Type.Array(Type.Union(Object.values(filterSchemas), { $id: 'ChainhookFilter' }), {
      maxItems: MAX_FILTERS,
      description: 'Filters of the chainhook; a block matches if any of them does',
    }),
  }),
  options: Type.Optional(nullable(Options)),
  action: Type.Object({ type: Type.Literal('http_post'), url: Type.String(Url) }),
});

/** A hook as its consumer defined it, without unknown keys. */
export type HookDefinition = Omit<Static<typeof Definition>, 'filters'> & { filters: { events: Filter[] } };

const BACKFILLS = 'POST /chainhooks/me/{uuid}/backfills';

/** Keys of the earlier version of chainhooks, and their replacements. */
const formerKeys: Readonly<Record<string, string>> = {
  if_this: 'filters.events',
  then_that: 'action',
  networks: 'network',
  start_block: BACKFILLS,
  end_block: BACKFILLS,
  authorization_header: 'POST /chainhooks/me/secret',
  expire_after_occurrence: 'options.expire_after_occurrences',
  decode_clarity_values: 'options.decode_clarity_values',
};
const formerOptions = ['start_at_block_height', 'start_block', 'end_block'];

/** Makes a check of a part of a definition. @returns a function that throws a HookProblem with the field of the mistake */
function partCheck(schema: TSchema): (value: unknown, ...field: string[]) => void {
  const mistakeIn = checker(schema);
  return (value, ...field) => {
    const mistake = mistakeIn(value);
    if (mistake !== null) throw invalidField([...field, ...mistake.path].join('.'), mistake.rule);
  };
}

const checkOptions = partCheck(Options);
const checkFilter = Object.fromEntries(
  Object.entries(filterSchemas).map(([type, schema]) => [type, partCheck(schema)]),
);

/** @throws HookProblem naming the field if a text can't be the value of an argument */
function checkLiteral(text: string, field: string): void {
  try {
    if (serializedForms(literalOf(text)).length === 0) throw new ConditionError(NOT_128_BITS);
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    throw invalidField(field, error.rule);
  }
}

/** @throws HookProblem naming the field */
function parseFilter(value: unknown, field: string): Filter {
  if (!isObject(value)) throw invalidField(field, 'must be object');
  const { type } = value;
  if (type === undefined) throw invalidField(`${field}.type`, 'is required');
  if (typeof type !== 'string' || !isFilterType(type)) {
    const newName = formerFilters.get(type);
    const words = Object.keys(filterSchemas).join(', ');
    throw invalidField(
      `${field}.type`,
      newName === undefined ? `must be one of ${words}` : `has another name now: ${newName}`,
    );
  }
  checkFilter[type]?.(value, field);
  if (value.receiver !== undefined && value.recipient !== undefined) {
    throw invalidField(`${field}.recipient`, 'must not be given with receiver, which is the same parameter');
  }
  if (typeof value.value === 'number' && !Number.isSafeInteger(value.value)) {
    throw invalidField(`${field}.value`, 'is larger than 2^53; send its digits as a string');
  }
  const filter = value as Filter;
  if (filter.type === 'contract_call' && filter.argument !== undefined) {
    checkLiteral(filter.argument.equals, `${field}.argument.equals`);
  }
  return filter;
}

/** Reads the filters of a definition. @throws HookProblem 400 naming the field */
export function parseFilters(value: unknown): HookDefinition['filters'] {
  if (value === undefined) throw invalidField('filters', 'is required');
  if (!isObject(value)) throw invalidField('filters', 'must be object');
  const { events, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw invalidField(`filters.${other}`, 'is not allowed');
  if (events === undefined) throw invalidField('filters.events', 'is required');
  if (!Array.isArray(events)) throw invalidField('filters.events', 'must be array');
  if (events.length > MAX_FILTERS) throw invalidField('filters.events', `must NOT have more than ${MAX_FILTERS} items`);
  return { events: events.map((event, index) => parseFilter(event, `filters.events.${index}`)) };
}

/** Reads the options of a definition. @throws HookProblem 400 naming the field */
export function parseOptions(value: unknown): Options | null {
  if (value === null) return null;
  if (!isObject(value)) throw invalidField('options', 'must be object or null');
  const former = formerOptions.find((key) => Object.hasOwn(value, key));
  if (former !== undefined) throw invalidField(`options.${former}`, `is not allowed; use ${BACKFILLS}`);
  checkOptions(value, 'options');
  const { alert_url: alertUrl } = value;
  if (typeof alertUrl === 'string' && !URL.canParse(alertUrl)) {
    throw invalidField('options.alert_url', 'must be an absolute URL');
  }
  return value;
}

function parseAction(value: unknown): HookDefinition['action'] {
  if (value === undefined) throw invalidField('action', 'is required');
  if (!isObject(value)) throw invalidField('action', 'must be object');
  const { type, url } = value;
  if (type !== 'http_post') throw invalidField('action.type', 'must be "http_post"');
  if (url === undefined) throw invalidField('action.url', 'is required');
  if (typeof url !== 'string') throw invalidField('action.url', 'must be string');
  if (url.length > MAX_URL) throw invalidField('action.url', `must NOT have more than ${MAX_URL} characters`);
  if (!URL.canParse(url)) throw invalidField('action.url', 'must be an absolute URL');
  return { type, url };
}

/** The members of a definition that have a plain value. */
const plain = ['name', 'version', 'chain', 'network'] as const;
const checkPlain = Object.fromEntries(plain.map((name) => [name, partCheck(Definition.properties[name])]));

/** Returns the members that have a plain value. @throws HookProblem naming the first one that is missing or wrong */
function plainMembers(body: Record<string, unknown>, network: Network | null) {
  // Clients with a coercing validator send the version as a number.
  const members = { ...body, version: body.version === 1 ? '1' : body.version } as HookDefinition;
  for (const name of plain) {
    if (members[name] === undefined) throw invalidField(name, 'is required');
    checkPlain[name]?.(members[name], name);
  }
  if (members.name.length > MAX_NAME) throw invalidField('name', `must NOT have more than ${MAX_NAME} characters`);
  // Every chain but mainnet is `testnet`.
  if (network !== null && members.network !== network.kind)
    throw invalidField('network', `must be ${network.kind}, like this server`);
  const { name, version, chain, network: kind } = members;
  return { name, version, chain, network: kind };
}

/**
 * Reads a definition from a request body.
 * @param network the node's network; null while unknown
 * @throws HookProblem 400 naming the field
 */
export function readDefinition(body: unknown, network: Network | null): HookDefinition {
  if (!isObject(body)) throw new HookProblem(400, 'body must be object');
  for (const [key, instead] of Object.entries(formerKeys)) {
    if (key in body) throw invalidField(key, `belongs to an earlier version of chainhooks; use ${instead}`);
  }
  return {
    ...plainMembers(body, network),
    filters: parseFilters(body.filters),
    ...(body.options === undefined ? {} : { options: parseOptions(body.options) }),
    action: parseAction(body.action),
  };
}

/**
 * Replaces the parts of a stored definition that the body has.
 * @throws HookProblem 400, also if the chain or network would change
 */
export function patchedDefinition(stored: HookDefinition, body: unknown, network: Network | null): HookDefinition {
  if (!isObject(body)) throw new HookProblem(400, 'body must be object');
  for (const key of ['chain', 'network'] as const) {
    if (body[key] !== undefined && body[key] !== stored[key]) {
      throw invalidField(key, `can't be changed from ${stored[key]}`);
    }
  }
  return readDefinition({ ...stored, ...body }, network);
}

/** Finds keys that a definition doesn't have. @returns their paths, and the rule that each breaks */
function* unknownKeys(body: Record<string, unknown>): Generator<readonly [path: string, rule: string]> {
  const { properties } = Definition;
  const { action } = body;
  for (const key of Object.keys(body)) {
    if (key === 'enabled') yield [key, 'is not allowed; use PATCH /chainhooks/me/{uuid}/enabled'];
    else if (!Object.hasOwn(properties, key)) yield [key, unknownMember(key, Definition)];
  }
  if (!isObject(action)) return;
  for (const key of Object.keys(action)) {
    if (!Object.hasOwn(properties.action.properties, key))
      yield [`action.${key}`, unknownMember(key, properties.action)];
  }
}

const MAX_KEY_WARNINGS = 20;

/** Returns warnings about keys of a definition or a change that are dropped, as other servers drop them. */
export function ignoredKeys(body: unknown): string[] {
  if (!isObject(body)) return [];
  const warnings = unknownKeys(body).map(([path, rule]) => `${path}: the key is ignored, since it ${rule}`);
  return warnings.take(MAX_KEY_WARNINGS).toArray();
}

/** Returns the conditions of all filters, for the matcher. */
export const conditionsOfDefinition = ({ filters }: Pick<HookDefinition, 'filters'>): Condition[] =>
  filters.events.flatMap(toConditions);

/** The part of a hook that its evaluation needs. */
export interface ActiveHook {
  id: number;
  uuid: string;
  name: string;
  options: Options;
  conditions: readonly Condition[];
}

/** Parses a stored definition, which was checked when it was registered. */
export const parseDefinition = ({ definition }: Pick<HookRecord, 'definition'>): HookDefinition =>
  JSON.parse(definition) as HookDefinition;

/** Parses a stored hook for evaluation. */
export function activeHook(record: HookRecord): ActiveHook {
  const definition = parseDefinition(record);
  return {
    id: record.id,
    uuid: record.uuid,
    name: definition.name,
    options: definition.options ?? {},
    conditions: conditionsOfDefinition(definition),
  };
}

/** Evaluations that the hook has left since it was enabled; null for no limit. */
export const evaluationsLeft = (record: HookRecord, { expire_after_evaluations: limit }: Options): number | null =>
  limit ? limit - (record.evaluated - record.windowEvaluated) : null;

/** Returns the option with the limit that a hook has reached; null if it has reached none. */
export function reachedLimit(
  record: HookRecord,
  options: Options,
): 'expire_after_evaluations' | 'expire_after_occurrences' | null {
  const remaining = evaluationsLeft(record, options);
  if (remaining !== null && remaining <= 0) return 'expire_after_evaluations';
  const { expire_after_occurrences: limit } = options;
  return limit && record.occurrences - record.windowOccurrences >= limit ? 'expire_after_occurrences' : null;
}
