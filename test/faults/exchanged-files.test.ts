/**
 * A data directory whose two files were swapped, lost or replaced by copies of other times: a pair of files is opened if
 * and only if the journal has the history of the index. Refused files are unchanged, and each remedy that the error names
 * leads to the tables of the chain.
 */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync, writeFileSync } from 'node:fs';
import { OperatorError } from '../../src/base/errors.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { journalRows, type Tables, tables, wholeIndex } from '../support/data/tables.ts';
import { casesOf } from '../support/property.ts';

const chainOf = (seed: number): ReceivedEvent[] =>
  simulatedEvents({ seed, blocks: 5, accounts: 4, transactionsPerBlock: 1, forkEvery: 3 });

const chain = chainOf(6);
const quarter = (number: number): number => Math.floor((chain.length * number) / 4);
/** An event that only the journal holds, and that only one of two histories has. */
const aside: ReceivedEvent = { path: '/stackerdb_chunks', text: '{"modified_slots":[]}', receivedAt: 1 };
/** A history that equals the chain's for one half, and then differs, with the same blocks. */
const other = [...chain.slice(0, quarter(2)), aside, ...chain.slice(quarter(2))];
const foreign = chainOf(7);

interface Copy {
  /** The events in the file. */
  events: readonly ReceivedEvent[];
  /** All events of its node. */
  chain: readonly ReceivedEvent[];
}
const NOTHING: Copy = { events: [], chain };

const copies: Readonly<Record<string, Copy>> = {
  missing: NOTHING,
  /** A file without bytes. */
  empty: NOTHING,
  'a quarter': { events: chain.slice(0, quarter(1)), chain },
  half: { events: chain.slice(0, quarter(2)), chain },
  whole: { events: chain, chain },
  'another from the half on': { events: other.slice(0, quarter(3)), chain },
  'another whole': { events: other, chain },
  'of another chain': { events: foreign, chain: foreign },
};
const { keep } = keepToEnd();
const directories = new Map(Object.entries(copies).map(([name, { events }]) => [name, keep(ingestOf(events))]));

/** A pair of files, by the names of their originals. */
interface Pair {
  index: string;
  journal: string;
}
const pairs: Pair[] = Object.keys(copies).flatMap((index) =>
  Object.keys(copies).map((journal) => ({ index, journal })),
);

const beginsWith = (events: readonly ReceivedEvent[], beginning: readonly ReceivedEvent[]): boolean =>
  Bun.deepEquals(events.slice(0, beginning.length), beginning);

/** Returns the kind of a pair, and the expected outcome. */
function truthOf({ index, journal }: Pair) {
  const [inIndex, inJournal] = [copies[index]!, copies[journal]!];
  const belongs = beginsWith(inJournal.events, inIndex.events);
  const { chain: ofIndex } = inIndex.events.length > 0 ? inIndex : inJournal;
  return { inIndex, inJournal, belongs, ahead: inJournal.events.length - inIndex.events.length, chain: ofIndex };
}

const tablesOf = new Map<readonly ReceivedEvent[], Tables>();
function expectedTables(events: readonly ReceivedEvent[]): Tables {
  const cached = tablesOf.get(events);
  if (cached !== undefined) return cached;
  using directory = ingestOf(events);
  const result = tables(directory.path);
  tablesOf.set(events, result);
  return result;
}

function put(copy: string, path: (directory: string) => string, directory: string): void {
  if (copy === 'missing') return;
  if (copy === 'empty') writeFileSync(path(directory), '');
  else copyFileSync(path(directories.get(copy)!), path(directory));
}

/** Adds the statistics that ANALYZE of an older program recorded. */
function addStatistics(directory: string): void {
  using db = new Database(indexPath(directory));
  db.run('ANALYZE');
}
function hasStatistics(directory: string): boolean {
  using db = new Database(indexPath(directory), { readonly: true });
  return db.query("SELECT 1 FROM sqlite_schema WHERE name GLOB 'sqlite_stat*'").get() !== null;
}

function directoryOf({ index, journal }: Pair): DataDirectory {
  const directory = dataDirectory();
  put(index, indexPath, directory.path);
  put(journal, journalPath, directory.path);
  if (index !== 'missing' && index !== 'empty') addStatistics(directory.path);
  return directory;
}

/** Returns the content of the files; nothing for a file without events. */
function heldIn(directory: string, pair: Pair) {
  const { inIndex, inJournal } = truthOf(pair);
  return {
    index: inIndex === NOTHING ? null : wholeIndex(directory),
    journal: inJournal === NOTHING ? null : journalRows(directory),
  };
}

/** Runs an action on a directory. @returns the error if it was refused; null if it succeeded */
function refusalOf(action: () => void): OperatorError | null {
  try {
    action();
    return null;
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
}

/**
 * Opens a directory, and receives all events of a node that isn't aware of the loss.
 * @returns the error if an event was rejected: a fork deeper than the loss
 */
function resume(directory: string, events: readonly ReceivedEvent[]): OperatorError | null {
  using open = openAt(directory);
  const tooDeep = refusalOf(() => {
    for (const event of events) open.ingest.apply(event);
  });
  if (tooDeep === null) open.ingest.commit();
  return tooDeep;
}

/** Requires that the files are complete and the tables match the chain. */
function expectWhole(
  pair: Pair,
  directory: string,
  events: readonly ReceivedEvent[],
  { deep }: { deep: boolean },
): void {
  const problems = checkDirectory(directory, deep ? { deep: silentMachine } : {}).flatMap((result) => result.problems);
  expect({ pair, problems, statistics: hasStatistics(directory) }).toEqual({ pair, problems: [], statistics: false });
  expect({ pair, tables: tables(directory) }).toEqual({ pair, tables: expectedTables(events) });
}

/** Returns a number of random pairs; all pairs if there are fewer. */
function samplePairs(name: string, count: number): Pair[] {
  const prng = new Prng(`exchanged-files/${name}`);
  const rest = [...pairs];
  const sample: Pair[] = [];
  while (rest.length > 0 && sample.length < casesOf(count)) sample.push(...rest.splice(prng.below(rest.length), 1));
  return sample;
}

test('files are opened only if the journal has the history of the index', () => {
  for (const pair of samplePairs('open', 12)) {
    const { belongs, chain } = truthOf(pair);
    using directory = directoryOf(pair);
    const before = heldIn(directory.path, pair);
    const refusal = refusalOf(() => expect(resume(directory.path, chain)).toBeNull());
    expect({ pair, opened: refusal === null }).toEqual({ pair, opened: belongs });
    if (refusal === null) expectWhole(pair, directory.path, chain, { deep: true });
    else expect({ pair, files: heldIn(directory.path, pair) }).toEqual({ pair, files: before });
  }
});

test('a rebuild repairs refused files', () => {
  for (const pair of samplePairs('ways out', 6)) {
    const { belongs, inJournal } = truthOf(pair);
    // Without the journal's entries, there is nothing to make an index from.
    if (belongs || inJournal === NOTHING) continue;
    using directory = directoryOf(pair);
    expect({ pair, refused: refusalOf(() => void rebuild(directory.path)) !== null }).toEqual({ pair, refused: true });
    rebuild(directory.path, { force: true });
    expect(resume(directory.path, inJournal.chain)).toBeNull();
    expectWhole(pair, directory.path, inJournal.chain, { deep: true });
  }
});
