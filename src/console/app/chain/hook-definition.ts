/** The definition of a chainhook as a form. */
import { isObject } from '../../../base/json.ts';
import { type FilterType, filterSchemas, isFilterType } from '../../../hooks/definition/filter-schemas.ts';

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
  type?: string;
  description?: string;
  pattern?: string;
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
}

export const filterTypes = Object.keys(filterSchemas) as FilterType[];

const schemaOf = (type: string): Schema | null => (isFilterType(type) ? (filterSchemas[type] as Schema) : null);

/** Returns the words that a schema accepts; null if it accepts other values. */
function wordsOf({ anyOf }: Schema): string[] | null {
  const words = anyOf?.map(({ const: word }) => word);
  return words?.every((word) => typeof word === 'string') ? words : null;
}

/** An alias of `receiver`, which the form doesn't offer twice. */
const ALIAS = 'recipient';

/** Returns the fields of a filter, without its type. */
export const fieldsOf = (type: string): FilterField[] =>
  membersOf(schemaOf(type) ?? {}).filter(({ name }) => name !== 'type' && name !== ALIAS);

/** Returns the fields of an object. A field that is an object itself is replaced by its members. */
const membersOf = ({ properties = {}, required = [] }: Schema): FilterField[] =>
  Object.entries(properties).flatMap(([name, schema]): FilterField | FilterField[] => {
    if (schema.properties !== undefined) {
      return membersOf(schema).map((member) => ({ ...member, name: `${name}.${member.name}`, required: false }));
    }
    return {
      name,
      required: required.includes(name),
      // Without the quotation marks for code.
      help: (schema.description ?? '').replaceAll('`', ''),
      choices: wordsOf(schema.items ?? schema),
      isList: schema.type === 'array',
    };
  });

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

/** A mistake in a form, at its field. */
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

/** Returns the mistake that the server found in a definition; null for another message. */
export function mistakeIn(message: string): Mistake | null {
  const [, path, rule] = /^Invalid request body: (\S+) (.*)$/s.exec(message) ?? [];
  return path === undefined || rule === undefined ? null : { path, message: rule };
}

const isFilter = (value: unknown): value is FilterValues => isObject(value) && typeof value.type === 'string';

/** Returns a definition as a draft for the form; null if the form can't show it. */
export function toDraft(definition: unknown): Draft | null {
  if (!isObject(definition)) return null;
  const { name, network, filters, action } = definition;
  const options = definition.options ?? {};
  if (typeof name !== 'string' || typeof network !== 'string' || !isObject(options)) return null;
  if (!isObject(filters) || !Array.isArray(filters.events) || !filters.events.every(isFilter)) return null;
  if (!isObject(action) || typeof action.url !== 'string') return null;
  return {
    name,
    version: '1',
    chain: 'stacks',
    network,
    filters: { events: filters.events },
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
export function withField(filter: FilterValues, name: string, input: string | readonly string[]): FilterValues {
  const [object = '', member] = name.split('.');
  const value = input.length === 0 ? undefined : input;
  if (member === undefined) return withMember(filter, object, value);
  const previous = filter[object];
  // The only number in an object is the index of an argument.
  const newValue = member === 'index' && INTEGER.test(String(value)) ? Number(value) : value;
  const changed = withMember(isObject(previous) ? previous : {}, member, newValue);
  return withMember(filter, object, Object.keys(changed).length === 0 ? undefined : changed);
}

const INTEGER = /^[0-9]{1,9}$/;

/** @param value undefined to remove the member */
function withMember<T extends Record<string, unknown>>(object: T, name: string, value: unknown): T {
  const { [name]: _, ...others } = object;
  return (value === undefined ? others : { ...others, [name]: value }) as T;
}

/** Returns a filter of another type, with the values that both types have. */
export function withType(filter: FilterValues, type: string): FilterValues {
  const names = new Set(fieldsOf(type).map(({ name }) => name.split('.')[0]));
  return { ...Object.fromEntries(Object.entries(filter).filter(([name]) => names.has(name))), type };
}
