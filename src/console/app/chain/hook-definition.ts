/** The definition of a chainhook as a form. */
import { isObject } from '../../../base/json.ts';
import { nearestName } from '../../../base/nearest-name.ts';
import { MAX_UINT } from '../../../codec/clarity.ts';
import { type FilterType, filterSchemas, isFilterType } from '../../../hooks/definition/filter-schemas.ts';
import type { TokenUnit } from './format.ts';

export type FilterValues = { type: string } & Record<string, unknown>;

/** A definition in the editor. The input may still be invalid. */
export interface Draft {
  name: string;
  version: '1';
  chain: 'stacks';
  network: string;
  filters: { events: FilterValues[] };
  options: Record<string, unknown>;
  action: { type: 'http_post'; url: string };
}

/** The part of a JSON schema that filters use. */
interface Schema {
  $id?: string;
  type?: string;
  description?: string;
  /** The accepted values, in words that follow `must be`. */
  rule?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

export interface FilterField {
  /** Name of the parameter; a member of an object is `memo.equals`. */
  name: string;
  required: boolean;
  /** The accepted input, in words. */
  help: string;
  /** The words to choose from; null for a text. */
  choices: readonly string[] | null;
  /** Whether several words may be chosen. */
  isList: boolean;
  /** Whether it is an amount in the smallest unit, which the form shows in whole units. */
  isAmount: boolean;
}

export const filterTypes = Object.keys(filterSchemas) as FilterType[];

const schemaOf = (type: string): Schema | null => (isFilterType(type) ? (filterSchemas[type] as Schema) : null);

const wordsOf = ({ anyOf }: Schema): string[] | null => {
  const words = anyOf?.map(({ const: word }) => word);
  return words?.every((word) => typeof word === 'string') ? (words as string[]) : null;
};

/** The `$id` of the schema of amounts. */
const AMOUNT = 'MinimumAmount';

/** An alias of `receiver`, which the form doesn't offer twice. */
const ALIAS = 'recipient';

/** Returns the fields of a filter, without its type. */
export const fieldsOf = (type: string): FilterField[] =>
  membersOf(schemaOf(type) ?? {}).filter(({ name }) => name !== 'type' && name !== ALIAS);

const membersOf = ({ properties = {}, required = [] }: Schema): FilterField[] =>
  Object.entries(properties).flatMap(([name, schema]): FilterField | FilterField[] =>
    schema.properties === undefined
      ? {
          name,
          required: required.includes(name),
          help: helpOf(schema),
          choices: wordsOf(schema.items ?? schema),
          isList: schema.type === 'array',
          isAmount: schema.$id === AMOUNT,
        }
      : membersOf(schema).map((field) => ({ ...field, name: `${name}.${field.name}`, required: false })),
  );

/** Returns the description of a schema without its quotation marks for code. */
const helpOf = ({ description = '' }: Schema): string => description.replaceAll('`', '');

const WORDS: Readonly<Record<string, string>> = {
  stx: 'STX',
  ft: 'fungible token',
  nft: 'non-fungible token',
  min: 'minimum',
};

/** Returns the name of a filter or of its field as a title: `Contract identifier` for `contract_identifier`. */
export const titleOf = (name: string): string =>
  name
    .split(/[_.]/)
    .map((word) => WORDS[word] ?? word)
    .join(' ')
    .replace(/^./, (letter) => letter.toUpperCase());

/** The mistake of a value of the wrong form. */
const formMistake = ({ rule }: Schema): string => (rule === undefined ? 'has the wrong form' : `must be ${rule}`);

function mistakeIn(schema: Schema, value: unknown): string | null {
  if (schema.type === 'array') {
    if (!Array.isArray(value) || value.length === 0) return 'must be a list of at least one word';
    return value.map((item) => mistakeIn(schema.items ?? {}, item)).find((problem) => problem !== null) ?? null;
  }
  if (schema.anyOf !== undefined) {
    if (schema.anyOf.some((variant) => mistakeIn(variant, value) === null)) return null;
    return wordsOf(schema) === null ? formMistake(schema) : `must be one of ${wordsOf(schema)?.join(', ')}`;
  }
  if (schema.const !== undefined) return value === schema.const ? null : `must be ${schema.const}`;
  if (schema.type === 'integer') return Number.isInteger(value) ? null : 'must be an integer';
  if (schema.type === 'object') return 'must be an object';
  if (typeof value !== 'string') return 'must be a text';
  if (value.length < (schema.minLength ?? 0)) return 'must not be empty';
  if (value.length > (schema.maxLength ?? Number.POSITIVE_INFINITY))
    return `has more than ${schema.maxLength} characters`;
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)) {
    if (schema.$id === AMOUNT) return 'is not an amount';
    return formMistake(schema);
  }
  return schema.$id === AMOUNT && BigInt(value) > MAX_UINT ? 'is larger than any amount' : null;
}

const STX: TokenUnit = { symbol: 'STX', decimals: 6 };

/** Returns the unit of a filter's amount in the form: STX, or the unit of its token. */
export function amountUnit(filter: FilterValues, unitOf: (asset: string) => TokenUnit): TokenUnit {
  if (filter.type.startsWith('stx_')) return STX;
  const { asset_identifier: asset } = filter;
  const schema = schemaOf(filter.type)?.properties?.asset_identifier ?? {};
  return mistakeIn(schema, asset) === null ? unitOf(asset as string) : { symbol: null, decimals: null };
}

/** A mistake in a draft, at its field. */
export interface Mistake {
  /** Path of the field, such as `filters.events.0.sender`. */
  path: string;
  message: string;
}

/** The fields of the form outside filters, by their paths. */
export const FIELD_TITLES = {
  name: 'Name',
  'action.url': 'URL of the receiver',
  'options.alert_url': 'URL for alerts',
  'options.expire_after_occurrences': 'Expire after matching blocks',
  'options.expire_after_evaluations': 'Expire after evaluated blocks',
} as const;

/** Returns the name of a field in the form: `Filter 2: Sender` for `filters.events.1.sender`. */
export function fieldTitle(path: string): string {
  const [, index, name] = /^filters\.events\.(\d+)\.(.+)$/.exec(path) ?? [];
  if (name !== undefined) return `Filter ${Number(index) + 1}: ${titleOf(name)}`;
  return (FIELD_TITLES as Readonly<Record<string, string>>)[path] ?? path;
}

/** Returns the server's message about a definition with the name of the field in the form in place of its path. */
export const messageInForm = (message: string): string =>
  message.replace(/^Invalid request body: (\S+) /, (_, path: string) => `${fieldTitle(path)} `);

/** @param parent path of the object @param objectName its name in messages */
function memberMistakes(
  { properties = {}, required = [] }: Schema,
  object: Readonly<Record<string, unknown>>,
  parent: string,
  objectName: string,
): Mistake[] {
  const missing = required
    .filter((name) => object[name] === undefined)
    .map((name) => ({ path: `${parent}.${name}`, message: 'is required' }));
  const invalid = Object.entries(object).flatMap(([name, value]) => {
    const [property, path] = [properties[name], `${parent}.${name}`];
    if (property?.properties !== undefined && isObject(value)) return memberMistakes(property, value, path, name);
    const message = property === undefined ? `is not a field of ${objectName}` : mistakeIn(property, value);
    return message === null ? [] : [{ path, message }];
  });
  return [...missing, ...invalid];
}

const isUrl = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text);

/** Returns the mistakes in a draft. The server checks the draft again, more thoroughly. */
export function findMistakes({ name, filters, options: { alert_url: alertUrl }, action }: Draft): Mistake[] {
  const mistakes = filters.events.flatMap((filter, index) => {
    const [schema, path] = [schemaOf(filter.type), `filters.events.${index}`];
    if (schema !== null) return memberMistakes(schema, filter, path, filter.type);
    return [{ path: `${path}.type`, message: `must be one of ${filterTypes.join(', ')}` }];
  });
  if (name.trim() === '') mistakes.unshift({ path: 'name', message: 'must not be empty' });
  if (filters.events.length === 0) mistakes.push({ path: 'filters.events', message: 'needs at least one filter' });
  const wrongUrl = 'must be a URL that begins with http:// or https://';
  if (!isUrl(action.url)) mistakes.push({ path: 'action.url', message: wrongUrl });
  if (typeof alertUrl === 'string' && !isUrl(alertUrl)) mistakes.push({ path: 'options.alert_url', message: wrongUrl });
  return mistakes;
}

/** Names of the members of a definition and its objects. Other objects have a schema. */
const definitionMembers = {
  'the definition': ['name', 'version', 'chain', 'network', 'filters', 'options', 'action'],
  filters: ['events'],
  action: ['type', 'url'],
} as const;

/** Returns the mistake of the first unknown key; null without one. The server would ignore the key or, in filters, refuse it. */
function unknownKey(
  object: Readonly<Record<string, unknown>>,
  objectName: keyof typeof definitionMembers,
): string | null {
  const names: readonly string[] = definitionMembers[objectName];
  const key = Object.keys(object).find((name) => !names.includes(name));
  if (key === undefined) return null;
  const similar = nearestName(key, names);
  const path = objectName === 'the definition' ? key : `${objectName}.${key}`;
  return `${path} is not a field of ${objectName}${similar === null ? '.' : `: did you mean ${similar}?`}`;
}

/** Parses a draft from a user's JSON. @returns the draft, or the mistake */
export function parseDraft(text: string): Draft | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return `Invalid JSON: ${error.message}`;
    throw error;
  }
  if (!isObject(value)) return 'The definition must be an object.';
  const { name, network, filters, options = {}, action } = value;
  if (typeof name !== 'string') return 'name must be a text.';
  if (typeof network !== 'string') return 'network must be mainnet or testnet.';
  if (!isObject(filters) || !Array.isArray(filters.events)) return 'filters.events must be a list.';
  if (!filters.events.every((item) => isObject(item) && typeof item.type === 'string')) {
    return 'Each of filters.events must be an object with a type.';
  }
  if (!isObject(action) || typeof action.url !== 'string') return 'action.url must be a text.';
  if (!isObject(options)) return 'options must be an object.';
  const fixed = [
    ['version', value.version, '1'],
    ['chain', value.chain, 'stacks'],
    ['action.type', action.type, 'http_post'],
  ];
  const wrong = fixed.find(([, member, only]) => member !== undefined && member !== only);
  if (wrong !== undefined) return `${wrong[0]} must be "${wrong[2]}".`;
  const unknown = unknownKey(value, 'the definition') ?? unknownKey(filters, 'filters') ?? unknownKey(action, 'action');
  if (unknown !== null) return unknown;
  return {
    name,
    version: '1',
    chain: 'stacks',
    network,
    filters: { events: filters.events as FilterValues[] },
    options,
    action: { type: 'http_post', url: action.url },
  };
}

/** Returns the value of a field; undefined if it has none. */
export function fieldValue(filter: Readonly<Record<string, unknown>>, name: string): unknown {
  const [object = '', member] = name.split('.');
  const value = filter[object];
  return member === undefined ? value : isObject(value) ? value[member] : undefined;
}

/** Returns a filter with another value of a field. An empty value removes the field, and then an object without fields. */
export function withField(filter: FilterValues, name: string, value: string | readonly string[]): FilterValues {
  const [object = '', member] = name.split('.');
  if (member === undefined) return withMember(filter, name, value.length === 0 ? undefined : value) as FilterValues;
  const previous = filter[object];
  // The only number in an object is the index of an argument.
  const newValue = value.length === 0 ? undefined : member === 'index' ? integerOf(String(value)) : value;
  const changed = withMember(isObject(previous) ? previous : {}, member, newValue);
  return withMember(filter, object, Object.keys(changed).length === 0 ? undefined : changed) as FilterValues;
}

const integerOf = (text: string): number | string => (/^[0-9]{1,9}$/.test(text) ? Number(text) : text);

/** @param value undefined to remove the member */
function withMember(object: Readonly<Record<string, unknown>>, name: string, value: unknown): Record<string, unknown> {
  const { [name]: _, ...rest } = object;
  return value === undefined ? rest : { ...rest, [name]: value };
}

/** Returns a filter of another type, with the values that both types have. */
export function withType(filter: FilterValues, type: string): FilterValues {
  const names = new Set(fieldsOf(type).map(({ name }) => name.split('.')[0]));
  return { ...Object.fromEntries(Object.entries(filter).filter(([name]) => names.has(name))), type };
}
