/**
 * Nothing is lost or counted twice, whenever the process dies. The test kills it at moments drawn from a seed. In the
 * end its files must equal those of an undisturbed process. STACKSIDE_SEED draws other moments, STACKSIDE_RUNS is their
 * number, and STACKSIDE_BINARY is an executable to kill.
 */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { recordingRow } from '../../src/chain/recording.ts';
import { BATCH_ROWS } from '../../src/commands/data/import.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { journalPath } from '../../src/store/files/database.ts';
import { importFiles } from '../commands/recordings.ts';
import { imagesAtCommits } from '../support/data/crash-image.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openNew, received } from '../support/data/ingest.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { moment } from '../support/time/moment.ts';
import { until } from '../support/time/until.ts';
import { killAndWait, outputOf, stackside } from './crash-process.ts';
import { command, readyLine } from './stackside.ts';

/**
 * Each round starts with an empty directory and kills at least 6 processes: imports with and without a journal, and
 * servers.
 */
const seeds: readonly number[] = Array.from({ length: casesOf(1) }, (_, round) => firstSeed + round);
const KILLS_OF_AN_IMPORT = 2;
const KILLS_OF_A_SERVER = 4;

/** The receipt time of all events, for a process that receives them as fast as they can be sent. */
const RECEIVED_AT = Date.parse('2026-11-21T00:00:00Z') * 1_000;

/** Rows between events that don't change the index: they are cheap, and fill an import's transactions. */
const ROWS_BESIDE = 20;
const extras = ({ time }: NodeEvent, event: number): NodeEvent[] =>
  Array.from({ length: ROWS_BESIDE }, (_, row) => ({
    path: '/stackerdb_chunks',
    body: `{"row":"${event}-${row}"}`,
    time,
  }));

/** Enough rows for several of an import's transactions. */
const chain = { seed: 1, blocks: 80, accounts: 12, transactionsPerBlock: 1, forkEvery: 15 };
const recorded: NodeEvent[] = [...devnetEvents(chain)].flatMap((event, index) => [event, ...extras(event, index)]);
const lines = recorded.map((event, index) => `${recordingRow({ id: index + 1, ...received(event) })}\n`);
let scratch: DataDirectory;
let file: string;
beforeAll(async () => {
  scratch = dataDirectory();
  file = join(scratch.path, 'events.tsv');
  await Bun.write(file, lines.join(''));
});
afterAll(() => scratch[Symbol.dispose]());

const importArguments = (recording: string, directory: string): string[] => [
  ...['import', recording, '--data', directory, '--log-level', 'silent'],
];
const startImport = (directory: string) => stackside(...importArguments(file, directory));

/** Imports in this process. @returns the printed text */
async function importHere(directory: string): Promise<string> {
  const { error, output } = await importFiles(directory, [file]);
  expect(error).toBeNull();
  return output;
}

/**
 * Kills an import from stdin after it received this number of rows of an unfinished recording, and the condition is
 * true.
 */
async function killAfter(rows: number, directory: string, holds = () => true): Promise<void> {
  const child = Bun.spawn([...command, ...importArguments('-', directory)], {
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  child.stdin.write(lines.slice(0, rows).join(''));
  await child.stdin.flush();
  await until(holds, 'the step after which the import is killed');
  child.kill('SIGKILL');
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
}

/** Number of durable journal entries after an import, however it ended. */
function storedEntries(directory: string): number {
  const path = journalPath(directory);
  if (!existsSync(path)) return 0;
  using db = new Database(path, { readonly: true });
  db.run('PRAGMA busy_timeout = 5000');
  if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'events'").get() === null) return 0;
  return db.query<{ count: number }, []>('SELECT count(*) AS count FROM events').get()?.count ?? 0;
}

/** Contents of a directory, except the random log identity and the chain values that depend on it. */
const withoutIdentity = (directory: string) => ({
  index: wholeIndex(directory, ['progress.journal_chain', 'progress.log_identity']),
  journal: journalRows(directory).slice(1),
});

test.each(seeds)(
  'an import that is killed again and again, and started again each time, ends as one that never was: seed %d',
  async (seed) => {
    const prng = new Prng(`crash/import/${seed}`);
    using undisturbed = ingestOf(recorded.map(received));
    using directory = dataDirectory();
    // The second run must leave batches on disk for the next run to continue from. For the other runs, that depends on
    // the size of the pipe.
    const hasBatch = () => storedEntries(directory.path) > 0;
    const counts: number[] = [];
    for (let kill = 0; kill < KILLS_OF_AN_IMPORT; kill++) {
      if (kill === 1) await killAfter(prng.between(BATCH_ROWS + 1, lines.length), directory.path, hasBatch);
      else await killAfter(prng.below(lines.length), directory.path);
      counts.push(storedEntries(directory.path));
    }
    await outputOf(startImport(directory.path));
    expect(withoutIdentity(directory.path)).toEqual(withoutIdentity(undisturbed.path));
    expect(problemsIn(directory.path)).toEqual([]);
    expect(await outputOf(startImport(directory.path))).toContain(' 0 applied, 0 repeated, 0 bad');
    process.stderr.write(`imports killed (seed ${seed}): ${counts.length}, which left: ${counts.join(', ')}\n`);
  },
);

test('an import that is killed before, between or after the commits of any batch continues where it was', async () => {
  using expected = ingestOf(recorded.map(received));
  const state = withoutIdentity(expected.path);
  const repeatedRows = recorded.length - state.journal.length;
  using directory = dataDirectory();
  const images = await imagesAtCommits(directory.path, () => importHere(directory.path));
  expect(images.length).toBeGreaterThanOrEqual(8);
  for (const [place, image] of images.entries()) {
    using crashed = image;
    const output = await importHere(crashed.path);
    expect({ place, files: withoutIdentity(crashed.path) }).toEqual({ place, files: state });
    // The import reads no stored row again: it skips only rows that occur twice in the recording.
    expect(Number(/(\d+) repeated/.exec(output)?.[1])).toBeLessThanOrEqual(repeatedRows);
  }
});

/**
 * A receiving process takes `received_at` and the mempool's version from the clock, so they differ between runs.
 * Positions of chainhooks exist only after a server ran.
 */
const differing = [
  ...['mempool_transactions.received_at', 'mined_receipts.received_at', 'pending_principals.received_at'],
  ...['progress.journal_chain', 'progress.log_identity', 'progress.mempool_version'],
  ...['evaluated', 'cursor_height', 'cursor_hash', 'evaluated_at'].map((column) => `progress.hooks_${column}`),
];
const withoutClock = (directory: string) => ({
  index: wholeIndex(directory, differing),
  journal: journalRows(directory)
    .slice(1)
    .map(({ id, path, text }) => ({ id, path, text })),
});

/** Number of killed servers by their work. */
interface Kills {
  unanswered: number;
  answered: number;
  atStart: number;
}

/** Starts a server. Some starts are killed before the server is ready, while it updates its index from the journal. */
async function startServer(directory: string, prng: Prng, kills: Kills) {
  for (;;) {
    const child = stackside(
      ...['serve', '--data', directory, '--log-level', 'silent'],
      ...['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'],
    );
    const early = prng.chance(0.2) ? moment(prng.between(60, 250)).then(() => null) : undefined;
    const ready = await (early === undefined ? readyLine(child) : Promise.race([readyLine(child), early]));
    if (ready !== null) return { child, url: ready.events };
    if (!(await killAndWait(child))) throw new Error(`the server ended: ${await new Response(child.stderr).text()}`);
    kills.atStart += 1;
  }
}

/** An event whose second half never arrives. */
const cut = ({ path, body }: NodeEvent) => ({
  path,
  body: new ReadableStream({ start: (stream) => stream.enqueue(body.slice(0, body.length / 2)) }),
});

/** Posts an event like a node. @returns false if the connection ended without an answer */
async function post(url: string, { path, body }: { path: string; body: string | ReadableStream }): Promise<boolean> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(new URL(path, url), { method: 'POST', body });
    text = await response.text();
  } catch {
    return false;
  }
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return true;
}

/** Posts each event until a server accepts it. Servers are killed while they receive some of the events. */
async function postToKilled(events: readonly NodeEvent[], directory: string, seed: number): Promise<Kills> {
  const prng = new Prng(`crash/serve/${seed}`);
  const toKill = new Set<number>();
  while (toKill.size < KILLS_OF_A_SERVER) toKill.add(prng.below(events.length));
  const kills: Kills = { unanswered: 0, answered: 0, atStart: 0 };
  let server = await startServer(directory, prng, kills);
  for (const [index, event] of events.entries()) {
    if (toKill.has(index)) {
      // Every third request never sends its whole event. The others get as far as the machine's speed allows.
      const isCut = (kills.unanswered + kills.answered) % 3 === 0;
      const answer = post(server.url, isCut ? cut(event) : event);
      await moment(prng.between(0, 4));
      expect(await killAndWait(server.child)).toBe(true);
      const answered = await answer;
      kills[answered ? 'answered' : 'unanswered'] += 1;
      server = await startServer(directory, prng, kills);
      if (answered) continue;
    }
    expect(await post(server.url, event)).toBe(true);
  }
  server.child.kill('SIGTERM');
  expect(await server.child.exited).toBe(0);
  return kills;
}

test.each(seeds)('a server that is killed during events ends like one that never was: seed %d', async (seed) => {
  const options = { seed: seed + 1, blocks: 40, accounts: 12, transactionsPerBlock: 4, forkEvery: 8 };
  const events = [...devnetEvents(options)];
  using directory = dataDirectory();
  const kills = await postToKilled(events, directory.path, seed);
  using undisturbed = openNew();
  for (const { path, body } of events) undisturbed.ingest.receive({ path, text: body, receivedAt: RECEIVED_AT });
  undisturbed.ingest.close();
  expect(withoutClock(directory.path)).toEqual(withoutClock(undisturbed.directory));
  expect(problemsIn(directory.path)).toEqual([]);
  process.stderr.write(`servers killed (seed ${seed}): ${JSON.stringify(kills)}\n`);
  expect(kills.unanswered + kills.answered).toBe(KILLS_OF_A_SERVER);
  expect(kills.unanswered).toBeGreaterThanOrEqual(KILLS_OF_A_SERVER / 3);
});
