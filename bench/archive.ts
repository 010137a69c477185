/**
 * The archive: what a base sends when a chain has grown by one per cent, a restore from a base and from entry 1 beside an import of
 * the same chain, and how long events take while a server archives them and makes bases.
 */
import { cpSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Archiver } from '../src/archive/archiver.ts';
import { partName } from '../src/archive/base.ts';
import { type MadeBase, makeBase } from '../src/archive/base-writer.ts';
import { systemClock } from '../src/base/clock.ts';
import { readAdminKey } from '../src/hooks/access/keys.ts';
import { directoryFiles } from '../src/storage/directory.ts';
import type { ObjectStore } from '../src/storage/object-store.ts';
import { snapshotForBase } from '../src/store/base/snapshot.ts';
import { growingTables } from '../src/store/check/tables.ts';
import { dataStateOf } from '../src/store/files/data-state.ts';
import { openJournalReader } from '../src/store/files/journal.ts';
import { directoryStatus } from '../src/store/files/status.ts';
import { devnetRecordings, SEED } from './dataset.ts';
import { type Finished, MAIN, ROOT, run, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions, type Table } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    transactions: { type: 'string', default: '200000' },
    /** Blocks that are posted in each round. */
    blocks: { type: 'string', default: '60' },
    /** Milliseconds between two events. */
    pause: { type: 'string', default: '10' },
  },
});
const repeat = Number(values.repeat);
const TRANSACTIONS_PER_BLOCK = 40;
const TRANSACTIONS_PER_ACCOUNT = 5000;
const GROWTH = 1.01;
const MEGABYTE = 1e6;
/** Milliseconds between two requests for a base. */
const ASK_MS = 500;

const blocks = Math.ceil(Number(values.transactions) / TRANSACTIONS_PER_BLOCK);
const grown = Math.ceil(GROWTH * blocks);
const accounts = Math.max(100, Math.ceil(Number(values.transactions) / TRANSACTIONS_PER_ACCOUNT));
const [first = '', more = '', posted = ''] = await devnetRecordings(
  [blocks, grown, grown + Number(values.blocks)],
  accounts,
);

const program = (...args: string[]): Promise<Finished> => run(script(MAIN, ...args));
const importInto = (data: string, ...files: string[]): Promise<Finished> =>
  program('import', ...files, '--data', data, '--log-level', 'error');

/** Archives what a directory has, and makes a base. */
async function archived(directory: string, store: ObjectStore): Promise<MadeBase> {
  const journal = openJournalReader(directory);
  using snapshot = snapshotForBase(directory, false);
  const { signal } = new AbortController();
  try {
    const { state } = snapshot;
    if (state === null) throw new Error('there is nothing to archive');
    const archiver = new Archiver({ store, journal, clock: systemClock, signer: null, archived: () => {} });
    const { identity } = dataStateOf(directory);
    if (identity === null) throw new Error('there is nothing to archive');
    await archiver.round({ chainId: state.chainId, identity, host: 'bench', epoch: null, base: null }, signal);
    const options = { store, snapshot, journal, program: 'bench', clock: systemClock, report: () => {}, signal };
    const base = await makeBase(options, state);
    if (base === null) throw new Error('the archive has the base');
    return base;
  } finally {
    journal.close();
  }
}

type Size = { bytes: number; parts: number };

/** The parts of a base by what their tables do. @param known names of parts that are not counted */
function sizesOf({ manifest }: MadeBase, archive: string, known: ReadonlySet<string>) {
  const sizes = { growing: { bytes: 0, parts: 0 }, others: { bytes: 0, parts: 0 } };
  for (const { name, parts } of manifest.tables) {
    const size: Size = Object.hasOwn(growingTables, name) ? sizes.growing : sizes.others;
    for (const part of parts.map(({ sha256 }) => partName(sha256))) {
      if (known.has(part)) continue;
      size.bytes += statSync(join(archive, part)).size;
      size.parts += 1;
    }
  }
  return sizes;
}

function basesTable(archive: string, before: MadeBase, after: MadeBase): Table {
  const whole = sizesOf(after, archive, new Set());
  const known = new Set(before.manifest.tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256))));
  const sent = sizesOf(after, archive, known);
  const row = (name: string, all: Size, some: Size): Cell[] => [
    name,
    figure([all.bytes / MEGABYTE], 1),
    figure([all.parts]),
    figure([some.bytes / MEGABYTE], 2),
    figure([some.parts]),
    figure([(100 * some.bytes) / all.bytes], 1, '%'),
  ];
  const sum = ({ growing, others }: typeof whole): Size => ({
    bytes: growing.bytes + others.bytes,
    parts: growing.parts + others.parts,
  });
  return {
    head: ['tables', 'base, MB', 'parts', 'sent after 1 % more, MB', 'parts', 'of the base'],
    rows: [
      row('that only grow', whole.growing, sent.growing),
      row('others', whole.others, sent.others),
      row('all', sum(whole), sum(sent)),
    ],
  };
}

interface Restores {
  imported: Finished;
  replayed: Finished;
  restored: Finished;
}

/** An import, and restores with a base and without. @param turn whichever comes first meets another state of the machine */
async function restores(directory: string, archive: string, turn: number): Promise<Restores> {
  const data = join(directory, 'restored');
  const works: Record<keyof Restores, () => Promise<Finished>> = {
    imported: () => importInto(data, first, more),
    replayed: () => program('restore', archive, '--data', data, '--base', 'none'),
    restored: () => program('restore', archive, '--data', data),
  };
  const names = Object.keys(works) as (keyof Restores)[];
  const done: Partial<Restores> = {};
  for (let n = 0; n < names.length; n++) {
    const name = names[(n + turn) % names.length]!;
    done[name] = await works[name]();
    rmSync(data, { recursive: true });
  }
  return done as Restores;
}

interface Posted {
  medianMs: number;
  p99Ms: number;
  mostMs: number;
  events: number;
  bases: number;
}

/** Posts events to a server. @param archive is continued, and gets bases all the while; null for none */
async function post(data: string, archive: string | null): Promise<Posted> {
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0', '--node-rpc', 'http://127.0.0.1:1'];
  const archiving = archive === null ? [] : ['--archive', archive];
  const server = await startServer(
    script(MAIN, 'serve', '--data', data, ...ports, ...archiving, '--log-level', 'error'),
  );
  let isPosting = true;
  const asking = (async () => {
    while (isPosting && archive !== null) {
      const headers = { 'x-api-key': readAdminKey(data) ?? '' };
      await fetch(`${server.url}/stackside/v1/archive/base`, { method: 'POST', headers });
      await Bun.sleep(ASK_MS);
    }
  })();
  const poster = script(join(ROOT, 'bench', 'parts', 'post-recording.ts'), posted, server.events, values.pause);
  const times: Posted = JSON.parse((await run(poster)).stdout);
  isPosting = false;
  await asking;
  await server.stop();
  const bases = archive === null ? 0 : readdirSync(archive).filter((name) => name.startsWith('base-')).length;
  return { ...times, bases };
}

/** Events with an archive and without, from the same state. */
async function postings(directory: string, archive: string, withFirst: boolean) {
  const at = (name: string): string => join(directory, name);
  const fresh = (isArchived: boolean): Promise<Posted> => {
    for (const name of ['served', 'served-archive']) rmSync(at(name), { recursive: true, force: true });
    cpSync(at('data'), at('served'), { recursive: true });
    if (!isArchived) return post(at('served'), null);
    // It has no base, so that the first one sends everything.
    const isOfBase = (path: string): boolean => /\/(base|part)-[^/]*$/.test(path);
    cpSync(archive, at('served-archive'), { recursive: true, filter: (path) => !isOfBase(path) });
    return post(at('served'), at('served-archive'));
  };
  const earlier = withFirst ? await fresh(true) : null;
  const without = await fresh(false);
  return { archived: earlier ?? (await fresh(true)), without };
}

await withDirectory(async (directory) => {
  const at = (name: string): string => join(directory, name);
  const [data, archive] = [at('data'), at('archive')];
  const store = directoryFiles(archive);
  await importInto(data, first);
  const { transactions } = directoryStatus(data);
  const before = await archived(data, store);
  await importInto(data, more);
  const after = await archived(data, store);
  const bases = basesTable(archive, before, after);
  const rounds: Restores[] = [];
  for (let n = 0; n < repeat; n++) rounds.push(await restores(directory, archive, n));
  const posts: Awaited<ReturnType<typeof postings>>[] = [];
  for (let n = 0; n < repeat; n++) posts.push(await postings(directory, archive, n % 2 === 0));

  const restoreRow = (name: string, of: keyof Restores): Cell[] => [
    name,
    figure(
      rounds.map((one) => one[of].seconds),
      1,
    ),
    figure(
      rounds.map((one) => one[of].cpuSeconds),
      1,
    ),
    figure(
      rounds.map((one) => one[of].seconds / one.imported.seconds),
      2,
    ),
    figure(rounds.map((one) => one[of].peakMemory / MEGABYTE)),
  ];
  const postRow = (name: string, of: 'archived' | 'without'): Cell[] => [
    name,
    figure(
      posts.map((one) => one[of].medianMs),
      2,
    ),
    figure(
      posts.map((one) => one[of].p99Ms),
      2,
    ),
    figure(
      posts.map((one) => one[of].mostMs),
      1,
    ),
    figure(
      posts.map((one) => one[of].p99Ms / one.without.p99Ms),
      2,
    ),
    figure(posts.map((one) => one[of].bases)),
  ];
  publish(
    [
      {
        title: 'The archive',
        notes: [
          `simulated chain of seed ${SEED}, ${transactions.toLocaleString('en-US')} transactions, and 1 % more; an archive in a directory of the same disk`,
          `${repeat} rounds, in turn: median (least to greatest); ratios are of the same round`,
          `events: ${posts[0]?.without.events.toLocaleString('en-US')} in a round, ${values.pause} ms between two; bases are asked for all the while, the first of which sends everything`,
        ],
        tables: [
          bases,
          {
            head: ['work', 's', 'processor s', 'of the import', 'peak, MB'],
            rows: [
              restoreRow('import of the recording', 'imported'),
              restoreRow('restore from entry 1', 'replayed'),
              restoreRow('restore from a base', 'restored'),
            ],
          },
          {
            head: ['events', 'median, ms', '99 %, ms', 'longest, ms', '99 %, of without', 'bases'],
            rows: [postRow('without an archive', 'without'), postRow('with an archive', 'archived')],
          },
        ],
      },
    ],
    { pinned: false },
  );
});
