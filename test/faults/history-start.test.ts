/**
 * SQLite calls fail while an index that starts at a block receives blocks, forks and the node's answers about accounts: files and
 * memory end as in an undisturbed run, and each account that a block touched was looked up or waits for it.
 */
import { expect, test } from 'bun:test';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { ingestOf } from '../support/data/ingest.ts';
import { applyWithAnswers } from '../support/events/answered.ts';
import { beginnings } from '../support/events/beginning.ts';
import { grown } from '../support/events/forked-chain.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { rain, runOnCopy, waysToCommit } from './disturbed-run.ts';
import { never } from './fault-store.ts';

const grow = { mine: 'back' as const, blocks: 0, tenure: 'new' as const, transactions: 4 };
const fork = { ...grow, blocks: 2 };
const overtake = { mine: 'overtake' as const, end: 1, tenure: 'same' as const, transactions: 3 };
const { chain, events } = grown({ seed: 11, steps: [grow, grow, grow, grow, grow, fork, overtake, grow, fork, grow] });
const stream: ReceivedEvent[] = [];
const first = beginnings(events).find(({ height }) => height === 3)!;
const open = await applyWithAnswers(
  first.events,
  chain,
  (number) => number % 3 > 0,
  (event) => void stream.push(event),
);
open[Symbol.dispose]();

test.each(waysToCommit)('calls that fail change nothing in the end; commits %s', (committed) => {
  using from = ingestOf(stream.slice(0, 3));
  const rest = stream.slice(3);
  const undisturbed = runOnCopy(from, { committed, events: rest, plan: never });
  expect(undisturbed.logged).toContain('block_reverted');
  expect(undisturbed.files.index.starting_accounts!.length).toBeGreaterThan(10);
  for (let seed = firstSeed; seed < firstSeed + casesOf(1); seed++) {
    const plan = rain(`begun/${committed}/${seed}`);
    const { files, failed } = runOnCopy(from, { committed, events: rest, plan });
    expect({ seed, failed }).not.toEqual({ seed, failed: 0 });
    expect({ seed, files }).toEqual({ seed, files: undisturbed.files });
  }
});
