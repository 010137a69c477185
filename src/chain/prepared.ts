/**
 * Prepares events ahead of the writer: everything that depends only on the event, not on the index. The code is pure,
 * so other threads can run it. The writer handles the events that it skips.
 */
import type { Block } from './block.ts';
import type { Effect } from './effect.ts';
import { effectsOf } from './effects.ts';
import { networkOf } from './network.ts';
import { type AnnouncedTransactions, announcedTransactions, blockOf, chainIdOf } from './normalise.ts';
import { type ParsedBlock, PayloadError, readReceived } from './payload-reader.ts';

/** A prepared event that replaces the payload for the writer. */
export type PreparedPayload =
  | {
      kind: 'prepared_block';
      /** Chain id that was used to read the block. */
      chainId: number;
      block: Block;
      effects: Effect[];
    }
  | ({ kind: 'prepared_mempool' } & AnnouncedTransactions);

/** Prepares an event with a path and a text. Returns null if the writer must handle it. */
export type Prepare = (path: string, text: string) => PreparedPayload | null;

/**
 * Reports whether the block can be prepared. The writer handles blocks that block 0 completes, and blocks with events
 * that are parsed one by one.
 */
const isWhole = ({ block_height, events }: ParsedBlock): boolean => block_height > 1 && Array.isArray(events);

/**
 * Makes a function that prepares events. It returns null for an event that the writer must handle: a cheap kind, or an
 * unreadable event, for which the writer throws the error.
 * @param knownChainId the chain id of the data; null if it is unknown: then the chain id of the first signed transaction is
 * used
 */
export function preparer(knownChainId: number | null): Prepare {
  let chainId = knownChainId;

  function prepared(path: string, text: string): PreparedPayload | null {
    const payload = readReceived(path, text);
    if (payload.kind === 'mempool') {
      return { kind: 'prepared_mempool', ...announcedTransactions(payload.rawTransactions) };
    }
    if (payload.kind !== 'block') return null;
    const detected = chainId === null ? chainIdOf(payload.block) : null;
    if (detected?.certain) chainId = detected.chainId;
    if (chainId === null || !isWhole(payload.block)) return null;
    const block = blockOf(payload.block, networkOf(chainId));
    return { kind: 'prepared_block', chainId, block, effects: [...effectsOf(block)] };
  }

  return (path, text) => {
    if (path !== '/new_block' && path !== '/new_mempool_tx') return null;
    try {
      return prepared(path, text);
    } catch (error) {
      if (error instanceof PayloadError) return null;
      throw error;
    }
  };
}
