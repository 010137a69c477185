import { Database } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BATCH_ROWS } from '../../src/commands/data/import.ts';
import { dataStateOf } from '../../src/store/files/status.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openAt, simulatedEvents } from '../support/data/ingest.ts';
import { everything, tables } from '../support/data/tables.ts';
import { importFiles, writeRecording } from './recordings.ts';

const devnet = (seed: number): ReceivedEvent[] =>
  simulatedEvents({ seed, blocks: 8, accounts: 10, transactionsPerBlock: 2, forkEvery: 0 });

/** Imports events as a recording. */
const importEvents = (directory: string, events: readonly ReceivedEvent[], how: { skipBad?: boolean } = {}) =>
  importFiles(directory, [writeRecording(directory, events)], how);

const events = devnet(1);

test('rejects a recording of a chain other than --network with a problem and a remedy, and stores nothing', async () => {
  using directory = dataDirectory();
  // The import also rolls back the rows before the recording's first block, however many there are.
  const [blocks, others] = [
    events.filter(({ path }) => path === '/new_block'),
    events.filter(({ path }) => path === '/new_burn_block'),
  ];
  const many = Array.from({ length: BATCH_ROWS }, () => others[0]!);
  const file = writeRecording(directory.path, [...many, ...others, ...blocks.slice(1)], 'theirs.tsv');
  const { error } = await importFiles(directory.path, [file], { network: 'mainnet' });
  expect(error?.message).toMatch(
    /^The recording .*theirs\.tsv belongs to another chain than --network: in row \d+, [^;]*$/,
  );
  expect(error?.remedy).toContain('--network');
  expect(everything(directory.path).journal).toEqual([]);
  // The directory isn't bound to the wrong chain.
  await importEvents(directory.path, events);
  expect(dataStateOf(directory.path).chainId).toBe(0x8000_0000);
});

test("a recording that continues with another chain of the same chain id is rejected at that chain's first block", async () => {
  using directory = dataDirectory();
  const { error } = await importEvents(directory.path, [...events, ...devnet(2)]);
  expect(error?.message).toContain(
    `recording.tsv belongs to another chain: in row ${events.length + 1}, index_block_hash is 0x`,
  );
});

test('another chain after the chain of --network does not blame --network', async () => {
  const both = [...events, ...devnet(2)];
  using one = dataDirectory();
  using two = dataDirectory();
  for (const [directory, recordings] of [
    [one.path, [both]],
    [two.path, [events, both]],
  ] as const) {
    const files = recordings.map((rows, index) => writeRecording(directory, rows, `${index}.tsv`));
    const { error } = await importFiles(directory, files, { network: 'testnet' });
    expect(error?.message).toContain('belongs to another chain: in row ');
    expect(error?.remedy).toBe('Give each chain its own --data directory.');
  }
});

test('a recording of another chain does not release empty data from the chain of its server', async () => {
  using directory = dataDirectory();
  {
    using open = openAt(directory.path);
    open.ingest.holdTo(1);
  }
  for (let run = 0; run < 2; run++) {
    expect((await importEvents(directory.path, events)).error?.message).toContain('belongs to another chain: ');
    expect(dataStateOf(directory.path).chainId).toBe(1);
  }
});

test('the remedy for a file that is no recording names the formats, and for a later row how to continue', async () => {
  using directory = dataDirectory();
  const archive = join(directory.path, 'recording.zip');
  writeFileSync(archive, 'PK\x03\x04 and more of it');
  const { error } = await importFiles(directory.path, [archive]);
  expect(error?.message).toStartWith(`Row 1 of ${archive} can't be imported: a row has four columns`);
  expect(error?.remedy).toStartWith('Give a recording as TSV, plain or compressed with gzip or zstd.');
  const later = await importEvents(directory.path, events.with(1, { ...events[1]!, text: '{' }));
  expect(later.error?.message).toContain('Row 2 of ');
  expect(later.error?.remedy).toStartWith('The rows before it are in the index. Correct the row');
});

test('a skipped row does not undo the rows before it', async () => {
  const block = events.findLast(({ path }) => path === '/new_block')!;
  const orphan: ReceivedEvent = {
    ...block,
    text: JSON.stringify({
      ...JSON.parse(block.text),
      index_block_hash: `0x${'ab'.repeat(32)}`,
      parent_index_block_hash: `0x${'cd'.repeat(32)}`,
    }),
  };
  using plain = dataDirectory();
  expect((await importEvents(plain.path, events)).error).toBeNull();
  for (const place of [1, events.indexOf(block) - 3, events.length]) {
    using directory = dataDirectory();
    const { error } = await importEvents(directory.path, events.toSpliced(place, 0, orphan), { skipBad: true });
    expect(error).toBeNull();
    expect(everything(directory.path).journal).toEqual(everything(plain.path).journal);
    expect(tables(directory.path)).toEqual(tables(plain.path));
  }
});

test('a signal stops an import immediately while it creates indexes', async () => {
  using directory = dataDirectory();
  const { run } = Database.prototype;
  const handlers = (): number => process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');
  const [before, during] = [handlers(), new Set<number>()];
  using _ = spyOn(Database.prototype, 'run').mockImplementation(function (
    this: Database,
    ...args: [string, ...never[]]
  ) {
    if (args[0].startsWith('CREATE INDEX')) during.add(handlers());
    return run.apply(this, args);
  } as typeof run);
  expect((await importEvents(directory.path, events.slice(0, 3))).error).toBeNull();
  expect(during).toEqual(new Set([before]));
});
