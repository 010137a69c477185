/** Hosts whose journals were trimmed, and which have the log's archive. */
import { afterAll, beforeEach, expect, test } from 'bun:test';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf } from '../../src/archive/archive.ts';
import { segmentName } from '../../src/archive/segment.ts';
import { VERIFY_INTERVAL_MS, verifying } from '../../src/cluster/verifying.ts';
import { type BroughtEntries, broughtEntries } from '../../src/commands/data/archived-entries.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readDefinition } from '../../src/hooks/definition/definition.ts';
import { directoryFiles } from '../../src/places/directory.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import type { Entry } from '../../src/store/log/entry.ts';
import { definition } from '../hooks/server.ts';
import { archive } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { openHost } from './open-host.ts';

const events = [
  ...devnetEvents({ seed: 12, blocks: 20, accounts: 6, transactionsPerBlock: 2, forkEvery: 5, forkDepth: 2 }),
].map(received);
const source = ingestOf(events);
const made: DataDirectory[] = [source];
afterAll(() => {
  for (const directory of made) directory[Symbol.dispose]();
});
const folder = (): string => {
  const directory = dataDirectory();
  made.push(directory);
  return directory.path;
};
const archived = join(folder(), 'archive');
await archive(source.path, directoryFiles(archived));
const { segments } = await contentsOf(directoryFiles(archived));
const TRIMMED = segments.at(-2)!.last - 2;
const entries: Entry[] = (() => {
  const journal = openJournalReader(source.path);
  const all = [...journal.entriesAfter(0)];
  journal.close();
  return all;
})();

let path = '';
let at = '';
let log = new MemoryLog();
beforeEach(() => {
  path = folder();
  cpSync(source.path, path, { recursive: true });
  const trimming = openJournalTrimming(path);
  trimming.trimTo(TRIMMED);
  trimming.close();
  at = join(folder(), 'archive');
  cpSync(archived, at, { recursive: true });
  log = new MemoryLog();
  log.entries = [...entries];
});

/** Opens the host with the trimmed journal. */
async function withTrimmed(
  work: (host: ReturnType<typeof openHost>, older: BroughtEntries) => Promise<void>,
): Promise<void> {
  const older = broughtEntries({ archive: at, data: path })!;
  try {
    await using host = openHost(log.client(), path, undefined, null, undefined, older);
    await work(host, older);
  } finally {
    await older.stop();
  }
}

const HOOK = '00000000-0000-4000-8000-000000000001';
const JOB = '00000000-0000-4000-8000-000000000002';

/** Backfills a new hook from the first block on, by a host with a whole journal. */
async function backfillElsewhere(): Promise<string> {
  const whole = folder();
  cpSync(source.path, whole, { recursive: true });
  await using other = openHost(log.client(), whole);
  await other.follow(log.head.id);
  await until(() => other.host.state().lagSeconds === 0, 'it is level');
  const given = readDefinition(definition('http://127.0.0.1:9/', [{ type: 'coinbase' }, { type: 'stx_event' }]), null);
  await other.hooks.run('hook.register', { uuid: HOOK, consumer: 'default', definition: given, most: null });
  const [{ id }] = [other.ingest.hooks.records.find(HOOK, 'default')!];
  const task = { of: 'backfill', backfill: 1, most: 1_000 } as const;
  await other.hooks.run('backfill.start', { hook: id, job: JOB, from: 1, to: 20, dryRun: false, most: 10 });
  while (!(await other.hooks.runBatches('hook.advance', task)));
  expect(other.ingest.hooks.backfills.find(JOB, id)?.state).toBe('completed');
  return whole;
}

const hooksOf = (directory: string) =>
  Object.fromEntries(Object.entries(wholeIndex(directory)).filter(([name]) => name.startsWith('hook')));

test('a host follows a backfill of another host over blocks that its journal no longer has', async () => {
  const whole = await backfillElsewhere();
  await withTrimmed((host) => host.follow(log.head.id));
  expect(hooksOf(path)).toEqual(hooksOf(whole));
  expect(hooksOf(path).hook_deliveries!.length).toBeGreaterThan(10);
});

test('while the archive is away, it waits, and goes on once the archive is there', async () => {
  const whole = await backfillElsewhere();
  renameSync(at, `${at}.away`);
  await withTrimmed(async (host) => {
    host.host.start();
    await until(() => host.said.some(({ event }) => event === 'log_unavailable'), 'it says so');
    expect(host.ended).toEqual([]);
    renameSync(`${at}.away`, at);
    await until(() => host.position() === log.head.id, 'it goes on');
  });
  expect(hooksOf(path)).toEqual(hooksOf(whole));
});

test('a log that lost entries gets back what no journal has, by the archive', async () => {
  for (const left of [0, 3, TRIMMED - 1]) {
    log.entries = entries.slice(0, left);
    await withTrimmed(async (host) => {
      host.host.start();
      await until(() => log.entries.length === entries.length || host.ended.length > 0, 'the log is healed');
      expect(host.ended).toEqual([]);
    });
    expect(log.entries).toEqual(entries);
  }
});

test('a log of another history is not taken for one that lost entries', async () => {
  const [last] = entries.slice(4, 5);
  log.entries = [...entries.slice(0, 4), { ...last!, chain: new Uint8Array(32).fill(1) }];
  await withTrimmed(async (host) => {
    host.host.start();
    await until(() => host.said.some(({ event }) => event === 'log_unsound') || host.ended.length > 0, 'it is seen');
  });
  expect(log.entries.length).toBe(5);
});

test('an archive with a gap ends a host that needs what is missing, by name', async () => {
  log.entries = entries.slice(0, 3);
  rmSync(join(at, segmentName(segments[2]!)));
  await withTrimmed(async (host) => {
    host.host.start();
    await until(() => host.ended.length > 0, 'it ends');
    expect(host.ended[0]!.message).toContain(`which come before ${segmentName(segments[3]!)}`);
  });
  expect(log.entries.length).toBe(3);
});

test('a hole of the log is filled from the archive', async () => {
  await withTrimmed(async (host, older) => {
    await host.follow(entries.length);
    const clock = heldClock([VERIFY_INTERVAL_MS]);
    const holed = log.client();
    let isHole = true;
    const given: Entry[] = [];
    const verification = verifying({
      log: {
        ...holed,
        read: async (after, count, bytes) =>
          (await holed.read(after, count, bytes)).filter(({ id }) => !(isHole && (id === 5 || id === 6))),
        async append(list) {
          given.push(...list);
          isHole = false;
          return 'appended';
        },
      },
      missing: async () => [{ first: 5, last: 6 }],
      entries: host.ingest.entries,
      bring: older.bring,
      isHeld: () => true,
      clock,
      say: () => {},
    });
    clock.pass(VERIFY_INTERVAL_MS);
    await until(() => verification.state().filled > 0, 'the hole is filled');
    expect(given).toEqual(entries.slice(4, 6));
    await verification.stop();
  });
});
