/** The later events of a chain with forks, as a node posts them to an observer that was added late. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import type { Ingest } from '../../../src/store/ingest/ingest.ts';
import { UnknownParentError } from '../../../src/store/ingest/known-blocks.ts';
import { received } from '../data/ingest.ts';

/**
 * Cuts the beginning off a chain.
 * @returns the remaining events, and a function that applies an event to an index after the blocks of a gap before it
 */
export function fromAnywhere(events: readonly NodeEvent[], choice: number) {
  const read = ({ body }: NodeEvent) => JSON.parse(body);
  const blocks = events.filter(({ path }) => path === '/new_block');
  const byHash = new Map(blocks.map((event) => [read(event).index_block_hash, event]));

  function give({ receive }: Pick<Ingest, 'receive'>, event: NodeEvent): void {
    const gap = [event];
    for (let next = gap.at(-1); next !== undefined; next = gap.at(-1)) {
      try {
        receive(received(next));
        gap.pop();
      } catch (error) {
        if (!(error instanceof UnknownParentError)) throw error;
        gap.push(byHash.get(read(next).parent_index_block_hash)!);
      }
    }
  }
  return { stream: events.slice(choice % events.length), give };
}

/** The hashes of the canonical blocks, lowest first; without block 0. */
export function canonicalHashes({ history }: Pick<Ingest, 'history'>): string[] {
  const hashes: string[] = [];
  for (let height = history.bottom() + 1; height <= history.tip().height; height++) {
    const hash = history.hashAt(height);
    if (hash !== undefined) hashes.push(`0x${hash.toHex()}`);
  }
  return hashes;
}
