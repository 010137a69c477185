/**
 * Nothing is lost and nothing counted twice, whenever the process dies: it is killed at moments drawn from a seed, and in
 * the end its files must hold what those of a process hold that nobody disturbed. STACKSIDE_CRASH_SEED draws others.
 */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { sleep } from 'bun';
import { recordingRow } from '../../src/chain/recording.ts';
import { runImport } from '../../src/commands/import.ts';
import { readSettings } from '../../src/config.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { checkDirectory } from '../../src/store/check.ts';
import { imagesAtCommits } from '../support/crash-image.ts';
import { type DataDirectory, dataDirectory } from '../support/data-directory.ts';
import { ingestOf, openNew, received } from '../support/ingest.ts';
import { everything, journalRows, wholeIndex } from '../support/tables.ts';
import { finished, killed, readyLine, stackside } from './crash-process.ts';

const seed = process.env.STACKSIDE_CRASH_SEED ?? '1';
const KILLS_OF_IMPORTS = 12;
const KILLS_OF_SERVERS = 20;
/** Far more than a run takes. */
const timeout = 600_000;

const now = (): number => Date.now() * 1_000;
const problems = (directory: string) => checkDirectory(directory).filter((result) => result.problems.length > 0);

/** Enough rows for several of an import's transactions, which are of 500. */
const recorded: NodeEvent[] = [
  ...devnetEvents({ seed: 1, blocks: 450, accounts: 12, transactionsPerBlock: 1, forkEvery: 15 }),
];
let scratch: DataDirectory;
let file: string;
beforeAll(async () => {
  scratch = dataDirectory();
  file = join(scratch.path, 'events.tsv');
  const rows = recorded.map((event, index) => `${recordingRow({ id: index + 1, ...received(event) })}\n`);
  await Bun.write(file, rows.join(''));
});
afterAll(() => scratch[Symbol.dispose]());

const startImport = (directory: string, journal: boolean, recording = file) =>
  stackside('import', recording, '--data', directory, '--log-level', 'silent', ...(journal ? [] : ['--no-journal']));

/** Milliseconds an import takes. */
async function timeOf(recording: string): Promise<number> {
  using directory = dataDirectory();
  const start = performance.now();
  await finished(startImport(directory.path, true, recording));
  return performance.now() - start;
}

test(
  'an import that is killed again and again, and started again each time, ends as one that never was',
  async () => {
    const empty = join(scratch.path, 'empty.tsv');
    await Bun.write(empty, '');
    const [startup, whole] = [await timeOf(empty), await timeOf(file)];
    const prng = new Prng(`crash/import/${seed}`);
    const expected = [true, false].map((journal) => {
      using directory = ingestOf(recorded.map(received), { journal });
      return everything(directory.path);
    });
    const kills = { atStart: 0, withJournal: 0, withoutJournal: 0 };
    const atWork = (journal: boolean): 'withJournal' | 'withoutJournal' => (journal ? 'withJournal' : 'withoutJournal');
    const enough = (journal: boolean): boolean => kills[atWork(journal)] >= KILLS_OF_IMPORTS / 2;
    for (let journal = true; !enough(journal); journal = !enough(true)) {
      using directory = dataDirectory();
      // The machine may be busier than when it was timed: each process is let live a little longer than the one before.
      for (let patience = 1.2; ; patience += 0.05) {
        const child = startImport(directory.path, journal);
        const delay = startup * 0.7 + (prng.u32() / 2 ** 32) * (whole * patience - startup * 0.7);
        const ended = await Promise.race([child.exited.then(() => true), sleep(delay).then(() => false)]);
        if (!ended && (await killed(child))) kills[delay < startup ? 'atStart' : atWork(journal)] += 1;
        else {
          await finished(child);
          break;
        }
      }
      const found = everything(directory.path);
      const wanted = expected[journal ? 0 : 1]!;
      // How far the recording was read stands in the journal, and without one in the index; the other run read none.
      const { imports, ...index } = found.index;
      const { imports: none, ...indexWanted } = wanted.index;
      expect([imports?.length, none?.length]).toEqual([journal ? 0 : 1, 0]);
      expect(index).toEqual(indexWanted);
      expect(found.journal).toEqual(wanted.journal);
      expect(problems(directory.path)).toEqual([]);
      expect(await finished(startImport(directory.path, journal))).toContain(' 0 applied, 0 known already, 0 bad');
    }
    process.stderr.write(`imports killed (seed ${seed}): ${JSON.stringify(kills)}\n`);
    expect(kills.withJournal + kills.withoutJournal).toBeGreaterThanOrEqual(KILLS_OF_IMPORTS);
  },
  timeout,
);

test(
  'an import that dies before, between or after the commits of any of its batches goes on where it was',
  async () => {
    using expected = ingestOf(recorded.map(received));
    const wanted = everything(expected.path);
    const repeatedRows = recorded.length - wanted.journal.length;
    using directory = dataDirectory();
    const settings = readSettings({ data: directory.path, logLevel: 'silent' }, {});
    const write = spyOn(process.stdout, 'write').mockImplementation(() => true);
    const images = await imagesAtCommits(directory.path, () =>
      runImport(settings, [file], { skipBad: false, restart: false }),
    );
    write.mockRestore();
    expect(images.length).toBeGreaterThanOrEqual(8);
    for (const [place, image] of images.entries()) {
      using crashed = image;
      const said = await finished(startImport(crashed.path, true));
      expect({ place, files: everything(crashed.path) }).toEqual({ place, files: wanted });
      // Of what it had, nothing is taken once more: whatever it knows already stands twice in the recording.
      expect(Number(/(\d+) known already/.exec(said)?.[1])).toBeLessThanOrEqual(repeatedRows);
    }
  },
  timeout,
);

/**
 * Of a process that receives, `received_at` and the mempool's version are the clock's, so they differ from run to run.
 * Where chainhooks stand is known only where somebody serves.
 */
const differing = [
  ...['mempool_transactions.received_at', 'pending_principals.received_at'],
  ...['progress.journal_chain', 'progress.mempool_version'],
  ...['evaluated', 'cursor_height', 'cursor_hash', 'evaluated_at'].map((column) => `hook_progress.${column}`),
];
const withoutClock = (directory: string) => ({
  index: wholeIndex(directory, differing),
  journal: journalRows(directory).map(({ id, path, text }) => ({ id, path, text })),
});

test(
  'a server that is killed while events come, and is sent again what it did not answer, ends as one that never was',
  async () => {
    const events = [...devnetEvents({ seed: 2, blocks: 90, accounts: 12, transactionsPerBlock: 4, forkEvery: 8 })];
    const prng = new Prng(`crash/serve/${seed}`);
    const toKill = new Set<number>();
    while (toKill.size < KILLS_OF_SERVERS) toKill.add(prng.below(events.length));
    using directory = dataDirectory();
    const kills = { unanswered: 0, answered: 0, atStart: 0 };

    const start = async () => {
      for (;;) {
        const child = stackside(
          ...['serve', '--data', directory.path, '--log-level', 'silent'],
          ...['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'],
        );
        // Now and then it doesn't live to say that it is ready: while it brings its index up to its journal.
        const early = prng.chance(0.2) ? sleep(prng.between(60, 250)).then(() => null) : undefined;
        const ready = await (early === undefined ? readyLine(child) : Promise.race([readyLine(child), early]));
        if (ready !== null) return { child, url: ready.events };
        if (!(await killed(child))) throw new Error(`the server ended: ${await new Response(child.stderr).text()}`);
        kills.atStart += 1;
      }
    };
    const post = async (url: string, { path, body }: NodeEvent): Promise<boolean> => {
      try {
        const response = await fetch(new URL(path, url), { method: 'POST', body });
        if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
        await response.text();
        return true;
      } catch (error) {
        if (error instanceof Error && error.message.startsWith('status')) throw error;
        return false;
      }
    };

    let server = await start();
    for (const [index, event] of events.entries()) {
      if (toKill.has(index)) {
        const answer = post(server.url, event);
        await sleep(prng.between(0, 4));
        expect(await killed(server.child)).toBe(true);
        const answered = await answer;
        kills[answered ? 'answered' : 'unanswered'] += 1;
        server = await start();
        if (answered) continue;
      }
      expect(await post(server.url, event)).toBe(true);
    }
    server.child.kill('SIGTERM');
    expect(await server.child.exited).toBe(0);

    using undisturbed = openNew();
    for (const { path, body } of events) undisturbed.ingest.receive({ path, text: body, receivedAt: now() });
    undisturbed.ingest.close();
    expect(withoutClock(directory.path)).toEqual(withoutClock(undisturbed.directory));
    expect(problems(directory.path)).toEqual([]);
    process.stderr.write(`servers killed (seed ${seed}): ${JSON.stringify(kills)}\n`);
    expect(kills.unanswered + kills.answered).toBe(KILLS_OF_SERVERS);
    expect(kills.unanswered).toBeGreaterThan(5);
  },
  timeout,
);
