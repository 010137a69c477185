/** Imports into a directory with events. The recording must start with the journal's entries, one by one. */
import { afterAll, expect, test } from 'bun:test';
import type { OperatorError } from '../../src/base/errors.ts';
import { recordingRow } from '../../src/chain/recording.ts';
import type { ImportOptions } from '../../src/commands/data/import.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { COMMAND_PATH } from '../../src/store/ingest/commands.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { withholdEntries } from '../support/data/copy.ts';
import { copyOf, type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received, simulatedEvents } from '../support/data/ingest.ts';
import { everything, tables } from '../support/data/tables.ts';
import { beginnings } from '../support/events/beginning.ts';
import { type ImportResult, importFiles, type Row, rowsOf, writeRecording } from './recordings.ts';

const events = simulatedEvents({ seed: 4, blocks: 18, accounts: 8, transactionsPerBlock: 2, forkEvery: 6 });
const HALF = events.length >> 1;
/** A directory with the first half of the events. */
const half = ingestOf(events.slice(0, HALF));
afterAll(() => half[Symbol.dispose]());

const importFilesWith = (data: string, files: readonly string[], how: Partial<ImportOptions> = {}) =>
  importFiles(data, files, { aheadFrom: 0, threads: 0, ...how });

/** Imports events as a recording. */
const importRows = (data: string, rows: readonly Row[], how: Partial<ImportOptions> = {}): Promise<ImportResult> =>
  importFilesWith(data, [writeRecording(data, rows)], how);

/** Requires that an import fails with two lines, and writes nothing. */
async function expectRefused(
  { path }: DataDirectory,
  rows: readonly Row[],
  problem: RegExp,
  how: Partial<ImportOptions> = {},
): Promise<void> {
  const before = everything(path);
  const { error } = await importRows(path, rows, how);
  expect(error?.message).toMatch(problem);
  expect(error?.message).toContain(`does not begin with the log in ${path}: `);
  expect(error?.remedy).toBe('Give a new directory with --data, and import the recording into it.');
  expect(everything(path)).toEqual(before);
}

const whole = ingestOf(events);
const expected = { ...everything(whole.path), tables: tables(whole.path) };
whole[Symbol.dispose]();

function expectWhole({ path }: DataDirectory): void {
  expect(everything(path).journal).toEqual(expected.journal);
  expect(tables(path)).toEqual(expected.tables);
}

test.each([
  [1, 0],
  [HALF, 0],
  [HALF, 2],
  [events.length, 0],
])(
  'a journal with the first %i events of a recording continues with the rest, read by %i threads',
  async (length, threads) => {
    using directory = ingestOf(events.slice(0, length));
    const { error, output } = await importRows(directory.path, events, { threads });
    expect(error).toBeNull();
    expect(output).toContain(` ${events.length} rows, ${events.length - length} applied, ${length} repeated, 0 bad; `);
    expectWhole(directory);
    // The import recorded its progress.
    expect((await importRows(directory.path, events)).output).toContain(' 0 applied, 0 repeated, ');
  },
);

const otherText = (event: ReceivedEvent): ReceivedEvent => ({ ...event, text: `${event.text} ` });
const last = HALF - 1;

test.each<[string, number, Row[], threads?: number]>([
  ['has another text in its first row', 1, events.with(0, otherText(events[0]!))],
  ['has another path in its first row', 1, events.with(0, { ...events[0]!, path: '/another_path' })],
  ['has another text in the middle', 31, events.with(30, otherText(events[30]!))],
  ['has another text in the middle, read by a thread,', 31, events.with(30, otherText(events[30]!)), 1],
  ['has another text in the last row that is in the log', HALF, events.with(last, otherText(events[last]!))],
  ['lacks an early event', 3, events.toSpliced(2, 1)],
  ['lacks the last event of the log', HALF, events.toSpliced(last, 1)],
  ['has an event that the log lacks', 11, events.toSpliced(10, 0, otherText(events[30]!))],
  ['has two events in another order', 21, events.with(20, events[21]!).with(21, events[20]!)],
])('a recording that %s is refused before anything is written', async (_, row, rows, threads = 0) => {
  using directory = copyOf(half);
  const problem = new RegExp(`: row ${row} differs from entry ${row + 1} \\(/\\w+\\)\\.$`);
  await expectRefused(directory, rows, problem, { threads });
});

test('a recording that ends before the journal does is rejected', async () => {
  using directory = copyOf(half);
  await expectRefused(directory, events.slice(0, last), new RegExp(`: it ends before entry ${HALF + 1} `));
  await expectRefused(directory, events.slice(0, 1), /: it ends before entry 3 /);
});

test('an interrupted import continues, but not if the journal received other events since', async () => {
  using directory = dataDirectory();
  // Rows that an import skips: repeated events, events that the journal doesn't store, and bad rows.
  const first = [...events.slice(0, 20), events[3]!, events[12]!, { ...events[0]!, path: '/mined_block' }, 'no row'];
  const rows = [...first, ...events.slice(20)];
  expect((await importRows(directory.path, rows.slice(0, HALF), { skipBad: true })).error).toBeNull();
  expect((await importRows(directory.path, rows, { skipBad: true })).error).toBeNull();
  expectWhole(directory);

  using another = dataDirectory();
  await importRows(another.path, rows.slice(0, HALF), { skipBad: true });
  {
    using open = openAt(another.path);
    open.ingest.receive(events[HALF]!);
  }
  // The complete import stays valid, so importing the same rows again succeeds.
  const repeated = await importRows(another.path, rows.slice(0, HALF), { skipBad: true });
  expect([repeated.error, repeated.output.includes(' 0 applied, ')]).toEqual([null, true]);
  await expectRefused(another, rows, new RegExp(`: row ${HALF + 1} differs from entry \\d+ `), { skipBad: true });
});

test('repeated rows, and events that no journal stores, are left out of the comparison', async () => {
  using directory = copyOf(half);
  const noise = [events[9]!, events[9]!, { ...events[0]!, path: '/mined_nakamoto_block' }, ''];
  expect((await importRows(directory.path, [...events.slice(0, 10), ...noise, ...events.slice(10)])).error).toBeNull();
  expectWhole(directory);
  await expectRefused(directory, [events[9]!, ...events], /: row 1 differs from entry 2 /);
});

test('a bad row stops an import during the comparison, and --skip-bad counts the row', async () => {
  using directory = copyOf(half);
  const before = everything(directory.path);
  const rows = events.toSpliced(5, 0, { ...events[0]!, path: '/new_block', text: '{}' });
  const { error } = await importRows(directory.path, rows);
  expect(error?.message).toContain('Row 6 of ');
  expect(everything(directory.path)).toEqual(before);
  const { output } = await importRows(directory.path, rows, { skipBad: true });
  expect(output).toContain(' 1 bad; ');
  expectWhole(directory);
});

test('recordings given together are parts of one recording', async () => {
  using directory = copyOf(half);
  const cuts = [0, 12, HALF + 7, events.length];
  const files = cuts.slice(1).map((end, part) => {
    const rows = events
      .slice(cuts[part], end)
      .map((event, index) => recordingRow({ id: cuts[part]! + index + 1, ...event }));
    return writeRecording(directory.path, rows, `part-${part}.tsv`);
  });
  expect((await importFilesWith(directory.path, files.slice(0, 1))).error?.message).toContain(
    'part-0.tsv does not begin with',
  );
  expect((await importFilesWith(directory.path, files)).error).toBeNull();
  expectWhole(directory);
  expect((await importFilesWith(directory.path, files)).output).not.toMatch(/ [1-9]\d* applied/);
});

test('a recording out of order is rejected before anything changes', async () => {
  using directory = copyOf(half);
  const lines = rowsOf(events);
  const { error } = await importRows(directory.path, lines.toReversed());
  expect((error as OperatorError).message).toContain('not in the order of their ids');
  expect((await importRows(directory.path, lines)).error).toBeNull();
  expectWhole(directory);
});

test('a partial history continues with the recording exported from it, without commands and withheld entries', async () => {
  const straight = [...devnetEvents({ seed: 3, blocks: 12, accounts: 10, transactionsPerBlock: 2, forkEvery: 0 })];
  const partial = beginnings(straight)
    .find(({ height }) => height === 5)!
    .events.map(received);
  using recorded = ingestOf(partial);
  for (const isWithheld of [false, true]) {
    using directory = ingestOf(partial.slice(0, partial.length - 4));
    if (isWithheld) withholdEntries(directory.path, COMMAND_PATH);
    expect((await importRows(directory.path, partial)).error).toBeNull();
    expect(tables(directory.path)).toEqual(tables(recorded.path));
    await expectRefused(directory, straight.map(received), /: row \d+ differs from entry \d+ /);
  }
});
