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
const OWN_KEY = /^[a-z]\w{0,39}$/i;
/** Fields that identify an item in both lists. */
const IDENTITIES = ['tx_id', 'tx.tx_id', 'transaction.tx_id', 'index_block_hash', 'hash', 'asset_identifier', 'token']
  .concat('principal', 'address')
  .map((path) => path.split('.'));
/** Maximum relative difference of fractions that counts as rounding. */
const ROUNDING = 1e-9;

const areEqualNumbers = (ours: number, theirs: number): boolean =>
  !(Number.isInteger(ours) && Number.isInteger(theirs)) &&
  Math.abs(ours - theirs) <= ROUNDING * Math.max(Math.abs(ours), Math.abs(theirs));

/** Returns the value at a path of names in a JSON value; undefined if there is none. */
export const fieldOf = (value: unknown, ...names: readonly string[]): unknown =>
  names.reduce<unknown>((within, name) => Object(within)[name], value);

/** Returns the indexes of items by the value of one field; null unless each item has a different value. */
function indexesBy(items: readonly unknown[], field: readonly string[]): Map<string, number> | null {
  const identities = items.map((item) => fieldOf(item, ...field)).filter((value) => typeof value === 'string');
  const indexes = new Map(identities.map((identity, index) => [identity, index]));
  return indexes.size === items.length ? indexes : null;
}

/** The indexes of an item in both lists; null in a list that lacks the item. */
type Pair = readonly [ours: number | null, theirs: number | null];

/** Pairs the items of two lists by the first field that identifies them in both; null if there is no such field. */
function pairsByIdentity(ours: readonly unknown[], theirs: readonly unknown[]): Pair[] | null {
  for (const field of IDENTITIES) {
    const [ourIndexes, theirIndexes] = [indexesBy(ours, field), indexesBy(theirs, field)];
    if (ourIndexes === null || theirIndexes === null) continue;
    const onlyTheirs = [...theirIndexes].filter(([identity]) => !ourIndexes.has(identity));
    return [
      ...[...ourIndexes].map(([identity, index]): Pair => [index, theirIndexes.get(identity) ?? null]),
      ...onlyTheirs.map(([, index]): Pair => [null, index]),
    ];
  }
  return null;
}

/**
 * Pairs the items of two lists by their indexes. Leaves out the common start and end of lists with different lengths, so that
 * one more row is one difference.
 */
function pairsByIndex(ours: readonly unknown[], theirs: readonly unknown[]): Pair[] {
  const shorter = Math.min(ours.length, theirs.length);
  let [start, end] = [0, 0];
  if (ours.length !== theirs.length) {
    while (start < shorter && Bun.deepEquals(ours[start], theirs[start])) start++;
    while (end < shorter - start && Bun.deepEquals(ours.at(-1 - end), theirs.at(-1 - end))) end++;
  }
  const pairs: Pair[] = [];
  for (let index = start; index < Math.max(ours.length, theirs.length) - end; index++) {
    pairs.push([index < ours.length - end ? index : null, index < theirs.length - end ? index : null]);
  }
  return pairs;
}

/**
 * Compares two values. Keys of objects have no order. Items of lists are compared by their identity, so that an additional
 * item is a single difference. Items without an identity are compared by index.
 */
export function differencesOf(ours: unknown, theirs: unknown): Difference[] {
  const differences: Difference[] = [];

  function compare(path: string, location: string, here: unknown, there: unknown): void {
    if (here === there) return;
    if (Array.isArray(here) && Array.isArray(there)) compareLists(path, location, here, there);
    else if (isObject(here) && isObject(there)) {
      for (const key of new Set([...Object.keys(here), ...Object.keys(there)])) {
        const values = [here, there].map((value) => (Object.hasOwn(value, key) ? value[key] : undefined));
        const name = path === '' ? key : `.${key}`;
        if (OWN_KEY.test(key)) compare(path + name, location + name, values[0], values[1]);
        else compare(`${path}[*]`, `${location}[${JSON.stringify(key)}]`, values[0], values[1]);
      }
    } else if (typeof here !== 'number' || typeof there !== 'number' || !areEqualNumbers(here, there)) {
      add(path, location, here, there);
    }
  }

  function add(path: string, location: string, ours: unknown, theirs: unknown, isOrder = false): void {
    if (differences.length < MAX_DIFFERENCES) differences.push({ path, location, ours, theirs, isOrder });
  }

  function compareLists(path: string, location: string, here: readonly unknown[], there: readonly unknown[]): void {
    const pairs = pairsByIdentity(here, there) ?? pairsByIndex(here, there);
    for (const [index, other] of pairs) {
      const item = index === null ? undefined : here[index];
      const otherItem = other === null ? undefined : there[other];
      compare(`${path}[*]`, `${location}[${index ?? other}]`, item, otherItem);
    }
    const common = pairs.filter((pair): pair is [number, number] => !pair.includes(null));
    const theirOrder = common.map(([, other]) => other).sort((a, b) => a - b);
    const moved = common.findIndex(([, other], turn) => other !== theirOrder[turn]);
    if (moved === -1) return;
    const [index] = common[moved]!;
    add(`${path}[*]`, `${location}[${index}]`, here[index], there[theirOrder[moved]!], true);
  }

  compare('', '', ours, theirs);
  return differences;
}
