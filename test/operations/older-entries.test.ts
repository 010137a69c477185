/** A server whose journal was trimmed reads what it lacks from the archive, and waits for it with nothing else. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf } from '../../src/archive/archive.ts';
import { segmentName } from '../../src/archive/segment.ts';
import { broughtEntries } from '../../src/commands/data/archived-entries.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { directoryFiles } from '../../src/places/directory.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import { awayIn, withOlder } from '../../src/store/files/older-entries.ts';
import { type DirectHooks, directHooks } from '../hooks/direct.ts';
import { definition } from '../hooks/server.ts';
import { archive } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { until } from '../support/time/until.ts';

const all = [
  ...devnetEvents({ seed: 5, blocks: 40, accounts: 12, transactionsPerBlock: 3, forkEvery: 6, forkDepth: 3 }),
].map(received);
const source = ingestOf(all);
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
/** In the middle of a segment. */
const TRIMMED = segments.at(-2)!.last - 2;

let path = '';
let at = '';
beforeEach(() => {
  path = folder();
  cpSync(source.path, path, { recursive: true });
  const trimming = openJournalTrimming(path);
  trimming.trimTo(TRIMMED);
  trimming.close();
  at = join(folder(), 'archive');
  cpSync(archived, at, { recursive: true });
});

const filters = [{ type: 'coinbase' }, { type: 'stx_event' }, { type: 'contract_call' }];
/** Nobody listens there: deliveries wait, and are looked at in the queue. */
const hook = definition('http://127.0.0.1:9/', filters, { enable_on_registration: false });

/** The deliveries of a hook as another hook would have them. */
const deliveriesOf = (hooks: DirectHooks, uuid: string) =>
  hooks.made(uuid).map(({ id, queue }) => {
    const body = hooks.hooks.store.deliveries.body(id);
    return { queue, body: body?.replaceAll(uuid, 'uuid') };
  });

async function withHooks<T>(
  directory: string,
  location: string | null,
  work: (hooks: DirectHooks) => Promise<T>,
): Promise<T> {
  const older = broughtEntries({ archive: location, data: directory });
  try {
    await using hooks = directHooks({ directory, older });
    return await work(hooks);
  } finally {
    await older?.stop();
  }
}

/** Backfills a hook from the first block on. @returns the state of the backfill and the deliveries */
async function backfilled(hooks: DirectHooks) {
  const uuid = await hooks.register(hook);
  const job = await hooks.trial.backfill('default', uuid, { from: 0, to: undefined, dryRun: false } as never);
  const state = () => hooks.trial.getBackfill('default', uuid, job.id);
  await until(() => ['completed', 'failed'].includes(state().state), 'the backfill ends');
  const { state: end, matched_blocks, matched_transactions } = state();
  return { end, matched_blocks, matched_transactions, deliveries: deliveriesOf(hooks, uuid) };
}

describe('chainhooks', () => {
  test('a backfill makes the same deliveries', async () => {
    const whole = folder();
    cpSync(source.path, whole, { recursive: true });
    const wanted = await withHooks(whole, null, backfilled);
    expect(wanted.end).toBe('completed');
    expect(wanted.deliveries.length).toBeGreaterThan(30);
    expect(await withHooks(path, at, backfilled)).toEqual(wanted);
  });

  test('without an archive, a backfill fails with the block that it lacks', async () => {
    const { end, deliveries } = await withHooks(path, null, backfilled);
    expect([end, deliveries]).toEqual(['failed', []]);
  });

  test('a preview has the same matches', async () => {
    const range = { from_height: 1, to_height: 30 };
    const preview = (hooks: DirectHooks) =>
      Promise.all([
        hooks.trial.preview('default', { events: filters }, null, range),
        hooks.trial.preview('default', { events: filters }, null, { block_height: 2 }),
      ]);
    const whole = folder();
    cpSync(source.path, whole, { recursive: true });
    const wanted = await withHooks(whole, null, preview);
    expect(wanted[0].matched_blocks).toBeGreaterThan(20);
    expect(await withHooks(path, at, preview)).toEqual(wanted);
  });

  test('while the archive is away, a backfill waits for it, and events are taken meanwhile', async () => {
    const away = `${at}.away`;
    await withHooks(path, at, async (hooks) => {
      const uuid = await hooks.register(hook);
      renameSync(at, away);
      const job = await hooks.trial.backfill('default', uuid, { from: 0, to: undefined, dryRun: false } as never);
      const state = () => hooks.trial.getBackfill('default', uuid, job.id).state;
      await until(() => hooks.said.some(({ event }) => event === 'hook_task_failed'), 'it was tried');
      expect(hooks.ingest.receive({ path: '/stackerdb_chunks', text: '{"a":1}', receivedAt: 1 })).toBe('applied');
      expect(state()).toBe('queued');
      renameSync(away, at);
      await until(() => state() === 'completed', 'the backfill goes on');
    });
  });

  test('a rotten segment ends a backfill with its name', async () => {
    const name = segmentName(segments[2]!);
    const bytes = readFileSync(join(at, name));
    writeFileSync(join(at, name), bytes.fill(7, bytes.length >> 1));
    await withHooks(path, at, async (hooks) => {
      expect((await backfilled(hooks)).end).toBe('failed');
      const reason = hooks.said.flatMap((event) => (event.event === 'hook_backfill_failed' ? [`${event.cause}`] : []));
      expect(reason.join()).toContain(`${name} is no sound segment`);
    });
  });

  test('a backfill that is in the journal and not in the index is applied at the start', async () => {
    const before = await withHooks(path, at, async (hooks) => {
      await backfilled(hooks);
      return hooks.directory;
    });
    const wanted = wholeIndex(before);
    // The index of before: it has the events alone, so that the start replays the hook and its backfill.
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(path, `index.db${suffix}`), { force: true });
    cpSync(join(source.path, 'index.db'), join(path, 'index.db'));
    const older = broughtEntries({ archive: at, data: path })!;
    expect(() => openAt(path, { older })).toThrow(expect.objectContaining({ name: 'PassingError' }));
    const opened = await older.bring(() => openAt(path, { older }));
    opened[Symbol.dispose]();
    await older.stop();
    expect(wholeIndex(path)).toEqual(wanted);
  });
});

test('many that need entries at once get them, and what one holds stays until it is done', async () => {
  const older = broughtEntries({ archive: at, data: path })!;
  const journal = openJournalReader(path);
  const whole = withOlder(journal, older);
  const wanted = openJournalReader(source.path);
  try {
    const read = (ids: readonly number[]) => older.bring(() => ids.map((id) => whole.read(id)));
    const lists = Array.from({ length: 8 }, (_, from) =>
      Array.from({ length: 12 }, (_one, step) => 1 + ((from * 3 + step * 9) % TRIMMED)),
    );
    const found = await Promise.all(lists.map(read));
    expect(found).toEqual(lists.map((ids) => ids.map((id) => wanted.read(id))));
    await expect(read([TRIMMED + 1_000_000])).resolves.toEqual([undefined]);
    let thrown: unknown = null;
    try {
      for (const id of Array.from({ length: TRIMMED }, (_, before) => before + 1)) whole.read(id);
    } catch (error) {
      thrown = error;
    }
    expect(awayIn(thrown)).not.toBeNull();
  } finally {
    journal.close();
    wanted.close();
    await older.stop();
  }
});
