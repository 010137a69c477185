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
    const items = (index: number | undefined, other: number | undefined): void =>
      compare(
        `${path}[*]`,
        `${location}[${index ?? other}]`,
        index === undefined ? undefined : here[index],
        other === undefined ? undefined : there[other],
      );
    for (const field of IDENTITIES) {
      const [ourIndexes, theirIndexes] = [indexesBy(here, field), indexesBy(there, field)];
      if (ourIndexes === null || theirIndexes === null) continue;
      for (const [identity, index] of ourIndexes) items(index, theirIndexes.get(identity));
      for (const [identity, index] of theirIndexes) if (!ourIndexes.has(identity)) items(undefined, index);
      const common = [...ourIndexes.keys()].filter((identity) => theirIndexes.has(identity));
      const inTheirOrder = [...theirIndexes.keys()].filter((identity) => ourIndexes.has(identity));
      const moved = common.findIndex((identity, turn) => identity !== inTheirOrder[turn]);
      if (moved >= 0) {
        const [index, other] = [ourIndexes.get(common[moved]!)!, theirIndexes.get(inTheirOrder[moved]!)!];
        add(`${path}[*]`, `${location}[${index}]`, here[index], there[other], true);
      }
      return;
    }
    // The common start and end of both lists are omitted, so that one more row is one difference.
    const shorter = Math.min(here.length, there.length);
    let [start, end] = [0, 0];
    if (here.length !== there.length) {
      while (start < shorter && Bun.deepEquals(here[start], there[start])) start++;
      while (end < shorter - start && Bun.deepEquals(here.at(-1 - end), there.at(-1 - end))) end++;
    }
    for (let index = start; index < Math.max(here.length, there.length) - end; index++) {
      items(index < here.length - end ? index : undefined, index < there.length - end ? index : undefined);
    }
  }

  compare('', '', ours, theirs);
  return differences;
}
