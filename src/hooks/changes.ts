/**
 * Reads the blocks that the chain applied and rolled back, from any place in the log. Blocks are matched by the filters of
 * chainhooks and have the texts of deliveries. The changes are a function of the log, so the same change always follows a
 * place: pages, streams and waiting requests read the same sequence.
 *
 * Each change is read from a separate snapshot, so that a slow reader doesn't hold a snapshot between two changes. Readers of
 * the same place share cached blocks and texts.
 */
import { lruCache } from '../base/cache.ts';
import type { Block } from '../chain/block.ts';
import type { IndexKey } from '../store/hooks/candidates.ts';
import type { BlockChange, ChangePosition } from '../store/model/block.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { ReadNow, Snapshots } from '../store/read/snapshots.ts';
import type { Options } from './definition/definition.ts';
import { declarations } from './evaluation/operations.ts';
import { blockText } from './evaluation/payload.ts';
import { type Condition, type FindMatches, indexKeysOf, matchesOf, ownTransactions } from './matching/matching.ts';

export const MAX_CHANGES_PER_CALL = 1_000;
/** Bounds of the caches: transactions and events of blocks, and characters of texts. */
const CACHED_EVENTS = 50_000;
const CACHED_CHARACTERS = 8_000_000;

/** The parts of the changes that a reader requests. */
export interface ChangeFilter {
  /** Finds the matches in a block; null for all its transactions. */
  readonly findMatches: FindMatches | null;
  /** Keys of the blocks that may match; null if any block may match. */
  readonly keys: readonly IndexKey[] | null;
  readonly options: Options;
  readonly transactions: boolean;
  /** Identifies the filter in caches. */
  readonly key: string;
}

/** Makes a filter. @param conditions null to match all blocks @param transactions whether the transactions are included */
export function changeFilter(
  conditions: readonly Condition[] | null,
  options: Options,
  transactions: boolean,
  filters: string,
): ChangeFilter {
  return {
    findMatches: conditions === null ? null : matchesOf(conditions),
    keys: conditions === null ? null : indexKeysOf(conditions),
    options,
    transactions,
    key: JSON.stringify([options, transactions, filters]),
  };
}

/** Changes that were read, or passed without a match. */
export interface ChangeBatch {
  /** Position after the changes that were read. */
  place: ChangePosition;
  /** Number of changes that were read. */
  passed: number;
  /** The last change that was read, if it matches. */
  change: { kind: BlockChange['change']; blockText: string } | null;
}

const sizeOf = ({ transactions }: Block): number =>
  transactions.reduce((sum, { events }) => sum + 1 + events.length, 1);

export type Changes = ReturnType<typeof chainChanges>;

/** Reads the changes of the chain. */
export function chainChanges(snapshots: Pick<Snapshots, 'read'>) {
  const blocks = lruCache<string, Block>(CACHED_EVENTS);
  /** Texts of changes by requested parts, kind and block; empty if the block doesn't match. */
  const texts = lruCache<string, string>(CACHED_CHARACTERS);

  function loadBlock(read: Reader, hash: Uint8Array): Block {
    const name = hash.toHex();
    const cached = blocks.get(name);
    if (cached !== undefined) return cached;
    const block = read.steps.block(hash);
    blocks.set(name, block, sizeOf(block));
    return block;
  }

  /** Returns the text of a change; empty if the block doesn't match. */
  function loadText(read: Reader, { change, hash }: BlockChange, filter: ChangeFilter): string {
    const { findMatches, options } = filter;
    const key = `${filter.key}/${change}/${hash.toHex()}`;
    const cached = texts.get(key);
    if (cached !== undefined) return cached;
    const block = loadBlock(read, hash);
    const matching = findMatches === null ? [...ownTransactions(block).keys()] : findMatches(block);
    let text = '';
    if (matching !== undefined) {
      const { forkHeight, hashes } = read.steps.branchOf(hash);
      const branch = () => hashes.toReversed().map((ancestor) => loadBlock(read, ancestor));
      const findFunction = declarations(read.hooks.candidates, forkHeight, branch);
      const txIndexes = filter.transactions ? matching : [];
      text = blockText({ block, txIndexes, findFunction }, options, change === 'apply');
    }
    texts.set(key, text, key.length + text.length);
    return text;
  }

  function walk(read: Reader, from: ChangePosition, filter: ChangeFilter, limit: number): ChangeBatch | null {
    // The place may be from another host of the cluster that is further ahead.
    if (from.step > read.steps.tipHeight()) return null;
    let [place, passed] = [from, 0];
    if (filter.keys !== null) {
      const height = read.steps.heightAt(place);
      const candidate = read.hooks.candidates.next(filter.keys, height + 1) ?? Number.POSITIVE_INFINITY;
      place = read.steps.pass(place, Math.min(candidate - 1, height + limit));
      passed = read.steps.heightAt(place) - height;
      if (passed === limit) return { place, passed, change: null };
    }
    const change = read.steps.next(place);
    if (change === null) return passed === 0 ? null : { place, passed, change: null };
    const text = loadText(read, change, filter);
    const matched = text === '' ? null : { kind: change.change, blockText: text };
    return { place: change.place, passed: passed + 1, change: matched };
  }

  return {
    /**
     * Reads the changes after a place, up to the next one that matches.
     * @param limit maximum number of changes that are passed
     * @returns null at the end of the log, and for a place after it
     * @throws UnreadableCursorError
     */
    next: (from: ChangePosition, filter: ChangeFilter, limit = MAX_CHANGES_PER_CALL): ChangeBatch | null =>
      snapshots.read((read) => walk(read, from, filter, limit)),

    find: <T>(look: (steps: Reader['steps']) => ReadNow<T>): T => snapshots.read((read) => look(read.steps)),
  };
}
