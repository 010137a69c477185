import { Database } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { recordingRow } from '../../src/chain/recording.ts';
import { BATCH_ROWS, runImport } from '../../src/commands/data/import.ts';
import { readSettings } from '../../src/settings/config.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { SAME_IDENTITY, simulatedEvents } from '../support/data/ingest.ts';
import { everything, tables } from '../support/data/tables.ts';

const devnet = (seed: number): ReceivedEvent[] =>
  simulatedEvents({ seed, blocks: 8, accounts: 10, transactionsPerBlock: 2, forkEvery: 0 });

const options = { skipBad: false, restart: false };
const settingsFor = (data: string) => readSettings({ data, logLevel: 'silent' }, {});

function writeEvents(directory: string, name: string, events: readonly ReceivedEvent[]): string {
  const file = join(directory, name);
  writeFileSync(file, events.map((event, index) => `${recordingRow({ id: index + 1, ...event })}\n`).join(''));
  return file;
}

/** Imports events as a recording of that name. */
async function importAs(
  directory: string,
  name: string,
  events: readonly ReceivedEvent[],
  how = options,
): Promise<void> {
  const file = writeEvents(directory, name, events);
  await runImport(settingsFor(directory), [file], { random: SAME_IDENTITY, ...how });
}

const events = devnet(1);

/** Imports, and returns the error. */
const errorOf = (importing: Promise<void>): Promise<unknown> =>
  importing.then(
    () => null,
    (error: unknown) => error,
  );

test('rejects a recording of a chain other than --network with a problem and a remedy, and stores nothing', async () => {
  using directory = dataDirectory();
  // The import also rolls back the rows before the recording's first block, however many there are.
  const [blocks, others] = [
    events.filter(({ path }) => path === '/new_block'),
    events.filter(({ path }) => path === '/new_burn_block'),
  ];
  const many = Array.from({ length: BATCH_ROWS }, () => others[0]!);
  const file = writeEvents(directory.path, 'theirs.tsv', [...many, ...others, ...blocks.slice(1)]);
  const settings = readSettings({ data: directory.path, logLevel: 'silent', network: 'mainnet' }, {});
  const refused = await errorOf(runImport(settings, [file], options));
  expect(refused).toBeInstanceOf(OperatorError);
  const { message, remedy } = refused as OperatorError;
  expect(message).toMatch(/^The recording .*theirs\.tsv belongs to another chain: in row \d+, /);
  expect(remedy).toContain('--data');
  expect(everything(directory.path).journal).toEqual([]);
});

test("a recording that continues with another chain of the same chain id is rejected at that chain's first block", async () => {
  using directory = dataDirectory();
  const refused = await errorOf(importAs(directory.path, 'both.tsv', [...events, ...devnet(2)]));
  expect((refused as OperatorError).message).toContain(
    `both.tsv belongs to another chain: in row ${events.length + 1}, index_block_hash is 0x`,
  );
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
  await importAs(plain.path, 'recording.tsv', events);
  for (const place of [1, events.indexOf(block) - 3, events.length]) {
    using directory = dataDirectory();
    await importAs(directory.path, 'recording.tsv', events.toSpliced(place, 0, orphan), { ...options, skipBad: true });
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
  await importAs(directory.path, 'recording.tsv', events.slice(0, 3));
  expect(during).toEqual(new Set([before]));
});
