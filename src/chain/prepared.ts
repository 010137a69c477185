/**
 * Events prepared ahead of the writer: all that follows from an event alone, whatever the index has. It is pure, so that other
 * threads can do it; what they leave out, the writer does.
 */
import type { Block } from './block.ts';
import type { Effect } from './effect.ts';
import { effectsOf } from './effects.ts';
import { networkOf } from './network.ts';
import { type AnnouncedTransactions, announcedTransactions, blockOf, chainIdOf } from './normalise.ts';
import { PayloadError, type ReadBlock, readPayload } from './payload-reader.ts';

/** What the writer needs of an event, in place of its payload. */
export type PreparedPayload =
  | {
      kind: 'prepared_block';
      /** The chain that it was read for. */
      chainId: number;
      block: Block;
      effects: Effect[];
    }
  | ({ kind: 'prepared_mempool' } & AnnouncedTransactions);

/** Prepares an event of a path and a text; null for one that is left to the writer. */
export type Prepare = (path: string, text: string) => PreparedPayload | null;

/** Blocks that are completed by block 0 are left to the writer, and so are those whose events are parsed one by one. */
const isWhole = ({ block_height, events }: ReadBlock): boolean => block_height > 1 && Array.isArray(events);

/**
 * Makes a function that prepares events. It returns null for an event that is left to the writer: one of a kind that is cheap,
 * or one that can't be read, of which the writer says why.
 * @param known the chain id of the data; null while it is unknown, then that of the first signed transaction is used
 */
export function preparer(known: number | null): Prepare {
  let chainId = known;

  function prepared(path: string, text: string): PreparedPayload | null {
    const payload = readPayload(path, text);
    if (payload.kind === 'mempool') {
      return { kind: 'prepared_mempool', ...announcedTransactions(payload.rawTransactions) };
    }
    if (payload.kind !== 'block') return null;
    const found = chainId === null ? chainIdOf(payload.block) : null;
    if (found?.certain) chainId = found.chainId;
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
