/** Finds the differences of two JSON values, by path. */
import { isObject } from '../../base/json.ts';

export interface Difference {
  /** The place with `[*]` for indexes and for keys that are data, such as `results[*].tx_id`; empty for the whole value. */
  path: string;
  /** The exact place, such as `results[3].tx_id`. */
  location: string;
  /** The values; undefined for the one that lacks the place. */
  ours: unknown;
  theirs: unknown;
  /** Whether both lists have the items, but in another order; the values are then the first items that differ. */
  isOrder: boolean;
}

/** Maximum number of differences for one pair of values. */
const MAX_DIFFERENCES = 200;

/** A key that an answer always has; others are data, such as ids of transactions. */
const OWN_KEY = /^[a-z][a-z0-9_]*$/i;
const MAX_OWN_KEY = 40;

/** Fields that identify an item in both lists. */
const IDENTITIES: readonly (readonly string[])[] = [
  ['tx_id'],
  ['tx', 'tx_id'],
  ['transaction', 'tx_id'],
  ['index_block_hash'],
  ['hash'],
  ['asset_identifier'],
  ['token'],
  ['principal'],
  ['address'],
];

/** Maximum relative difference of fractions that counts as rounding. */
const ROUNDING = 1e-9;

type ValuePlace = Pick<Difference, 'path' | 'location'>;

type JsonObject = Readonly<Record<string, unknown>>;

const areEqualNumbers = (ours: number, theirs: number): boolean =>
  ours === theirs ||
  (!(Number.isInteger(ours) && Number.isInteger(theirs)) &&
    Math.abs(ours - theirs) <= ROUNDING * Math.max(Math.abs(ours), Math.abs(theirs)));

function keyPlace({ path, location }: ValuePlace, key: string): ValuePlace {
  const isOwn = OWN_KEY.test(key) && key.length <= MAX_OWN_KEY;
  const dot = path === '' ? '' : '.';
  return isOwn
    ? { path: `${path}${dot}${key}`, location: `${location}${dot}${key}` }
    : { path: `${path}[*]`, location: `${location}[${JSON.stringify(key)}]` };
}

const itemPlace = ({ path, location }: ValuePlace, index: number): ValuePlace => ({
  path: `${path}[*]`,
  location: `${location}[${index}]`,
});

/** Returns the value at a path of names in a JSON value; undefined if there is none. */
export const fieldOf = (value: unknown, ...names: readonly string[]): unknown =>
  names.reduce<unknown>((within, name) => Object(within)[name], value);

/** Returns the indexes of items by the value of one field; null unless each item has a different value. */
function identitiesBy(items: readonly unknown[], field: readonly string[]): Map<string, number> | null {
  const indexes = new Map<string, number>();
  for (const [index, value] of items.entries()) {
    const identity = fieldOf(value, ...field);
    if (typeof identity !== 'string' || indexes.has(identity)) return null;
    indexes.set(identity, index);
  }
  return indexes;
}

type IndexesByIdentity = NonNullable<ReturnType<typeof indexesByIdentity>>;

/** The indexes of two lists' items by identity; null if no field distinguishes the items of both lists. */
function indexesByIdentity(ours: readonly unknown[], theirs: readonly unknown[]) {
  for (const field of IDENTITIES) {
    const [here, there] = [identitiesBy(ours, field), identitiesBy(theirs, field)];
    if (here !== null && there !== null) return { here, there };
  }
  return null;
}

const areEqual = (ours: unknown, theirs: unknown): boolean => differencesOf(ours, theirs, 1).length === 0;

/**
 * Compares two values. Keys of objects have no order. Items of lists are compared by their identity, so that an additional
 * item is a single difference. Items without an identity are compared by index.
 */
export function differencesOf(ours: unknown, theirs: unknown, limit: number = MAX_DIFFERENCES): Difference[] {
  const differences: Difference[] = [];
  const add = (place: ValuePlace, here: unknown, there: unknown, isOrder = false): void => {
    if (differences.length < limit) differences.push({ ...place, ours: here, theirs: there, isOrder });
  };

  function compare(place: ValuePlace, here: unknown, there: unknown): void {
    if (differences.length >= limit || here === there) return;
    if (Array.isArray(here) && Array.isArray(there)) compareLists(place, here, there);
    else if (isObject(here) && isObject(there)) compareObjects(place, here, there);
    else if (typeof here !== 'number' || typeof there !== 'number' || !areEqualNumbers(here, there)) {
      add(place, here, there);
    }
  }

  function compareObjects(place: ValuePlace, here: JsonObject, there: JsonObject): void {
    for (const key of new Set([...Object.keys(here), ...Object.keys(there)])) {
      const [ours, theirs] = [here, there].map((value) => (Object.hasOwn(value, key) ? value[key] : undefined));
      compare(keyPlace(place, key), ours, theirs);
    }
  }

  function compareLists(place: ValuePlace, here: readonly unknown[], there: readonly unknown[]): void {
    const indexes = indexesByIdentity(here, there);
    if (indexes === null) compareByIndex(place, here, there);
    else compareIdentified(place, here, there, indexes);
  }

  function compareIdentified(
    place: ValuePlace,
    here: readonly unknown[],
    there: readonly unknown[],
    indexes: IndexesByIdentity,
  ): void {
    /** The items of both, as pairs of their indexes, in our order. */
    const common: [ours: number, theirs: number][] = [];
    for (const [identity, index] of indexes.here) {
      const other = indexes.there.get(identity);
      if (other === undefined) add(itemPlace(place, index), here[index], undefined);
      else {
        common.push([index, other]);
        compare(itemPlace(place, index), here[index], there[other]);
      }
    }
    for (const [identity, index] of indexes.there) {
      if (!indexes.here.has(identity)) add(itemPlace(place, index), undefined, there[index]);
    }
    const inTheirOrder = common.toSorted(([, a], [, b]) => a - b);
    const moved = common.findIndex((pair, turn) => pair !== inTheirOrder[turn]);
    const [[index], [, other]] = [common[moved] ?? [0], inTheirOrder[moved] ?? [0, 0]];
    if (moved >= 0) add(itemPlace(place, index), here[index], there[other], true);
  }

  /** The common start and end of both lists are omitted, so that one more row is one difference. */
  function compareByIndex(place: ValuePlace, here: readonly unknown[], there: readonly unknown[]): void {
    const shorter = Math.min(here.length, there.length);
    let start = 0;
    let end = 0;
    if (here.length !== there.length) {
      while (start < shorter && areEqual(here[start], there[start])) start++;
      while (end < shorter - start && areEqual(here.at(-1 - end), there.at(-1 - end))) end++;
    }
    const stopIndex = Math.max(here.length, there.length) - end;
    for (let index = start; index < stopIndex; index++) {
      const [isHere, isThere] = [index < here.length - end, index < there.length - end];
      if (isHere && isThere) compare(itemPlace(place, index), here[index], there[index]);
      else add(itemPlace(place, index), isHere ? here[index] : undefined, isThere ? there[index] : undefined);
    }
  }

  compare({ path: '', location: '' }, ours, theirs);
  return differences;
}
