/** Simulated chains for the benchmarks. The same seed and size make the same chain, and each is made once. */
import { Database } from 'bun:sqlite';
import { once } from 'node:events';
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lazy } from '../src/base/cache.ts';
import { type RecordedEvent, recordingReader, recordingRow } from '../src/chain/recording.ts';
import { openInput } from '../src/commands/data/input.ts';
import { SimulatedChain } from '../src/devnet/chain.ts';
import type { NodeEvent } from '../src/devnet/node-event.ts';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { indexPath } from '../src/store/files/database.ts';
import { MAIN, ROOT, run, script, TREE } from './harness.ts';

const DIRECTORY = join(tmpdir(), 'stackside-bench');
const MICROSECONDS_PER_MILLISECOND = 1000;
export const SEED = 1;
/** With {@link TRANSACTIONS_PER_BLOCK}, about 52,000 transactions on the winning chain. */
export const BLOCKS = 1300;
const TRANSACTIONS_PER_BLOCK = 40;

/** Hashes source files, and the files in directories except queries, which write nothing. */
function codeHash(...paths: readonly string[]): string {
  const sourcesIn = (path: string): string[] =>
    readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.startsWith('queries'))
      .sort()
      .map((name) => join(path, name));
  const files = paths.flatMap((path) => (statSync(path).isDirectory() ? sourcesIn(path) : [path]));
  let hash = 0n;
  for (const file of files) hash = Bun.hash.xxHash64(readFileSync(file), hash);
  return hash.toString(16).slice(0, 8);
}

const source = (name: string): string => join(TREE, 'src', name);

/** Hashes this tree's code that makes recordings: another revision is measured with the same ones. */
const recordersHash = lazy(() => codeHash(join(ROOT, 'src', 'devnet')));

/** Writes the events of a chain as a recording, unless it exists. */
async function recording(name: string, events: () => Iterable<NodeEvent>): Promise<string> {
  mkdirSync(DIRECTORY, { recursive: true });
  const path = join(DIRECTORY, `${name}-${recordersHash()}.tsv`);
  if (existsSync(path)) return path;
  process.stderr.write(`making ${path}, once\n`);
  const output = createWriteStream(`${path}.part`);
  let id = 0;
  for (const { path: eventPath, body, time } of events()) {
    id += 1;
    const row = recordingRow({ id, path: eventPath, text: body, receivedAt: time * MICROSECONDS_PER_MILLISECOND });
    if (!output.write(`${row}\n`)) await once(output, 'drain');
  }
  output.end();
  await once(output, 'finish');
  renameSync(`${path}.part`, path);
  return path;
}

/** Reads the events of a recording. */
export async function* recordedEvents(file: string): AsyncGenerator<RecordedEvent> {
  const recording = recordingReader();
  const decoder = new TextDecoder();
  let rows = 0;
  for await (const line of openInput(file).lines()) {
    const event = recording.read(decoder.decode(line), ++rows);
    if (event !== null) yield event;
  }
}

const ACCOUNTS = 100;

const nameOf = (blocks: number, accounts: number): string =>
  `devnet-${SEED}-${blocks}x${TRANSACTIONS_PER_BLOCK}${accounts === ACCOUNTS ? '' : `-${accounts}`}`;

const chainOf = (blocks: number, accounts: number) => ({
  seed: SEED,
  blocks,
  transactionsPerBlock: TRANSACTIONS_PER_BLOCK,
  accounts,
});

/** A chain with forks, tokens, contracts and a mempool. */
export const devnetRecording = (blocks = BLOCKS, accounts = ACCOUNTS): Promise<string> =>
  recording(nameOf(blocks, accounts), () => devnetEvents(chainOf(blocks, accounts)));

/**
 * Writes a chain as several consecutive recordings.
 * @param ends the height of the last block of each recording
 */
export function devnetRecordings(ends: readonly number[], accounts = ACCOUNTS): Promise<string[]> {
  const last = ends.at(-1) ?? 0;
  const part = (from: number, to: number) =>
    function* (): Generator<NodeEvent> {
      let height = 0;
      for (const event of devnetEvents(chainOf(last, accounts))) {
        if (event.path === '/new_block') height = Math.max(height, JSON.parse(event.body).block_height);
        if (height > to) return;
        if (height > from || from === 0) yield event;
      }
    };
  return Promise.all(
    ends.map((to, n) => {
      const from = ends[n - 1] ?? 0;
      return recording(`${nameOf(last, accounts)}-from-${from}-to-${to}`, part(from, to));
    }),
  );
}

const GENESIS_MINTS = 340_000;

/** A genesis block of mainnet's size: 80 MB with one mint per account. Block 1 makes it visible. */
export const genesisRecording = (): Promise<string> =>
  recording(`genesis-${SEED}-${GENESIS_MINTS}`, function* () {
    const chain = new SimulatedChain({ seed: SEED, mempool: false });
    const genesis = chain.genesis();
    const body = JSON.parse(genesis.body) as { events: Record<string, unknown>[] };
    const mint = body.events.find(({ type }) => type === 'stx_mint_event');
    for (let index = body.events.length; index < GENESIS_MINTS; index++) {
      const recipient = `ST${index.toString(32).toUpperCase().padStart(39, '0')}`;
      body.events.push({
        ...mint,
        event_index: index,
        stx_mint_event: { amount: String(1_000_000 + index), recipient },
      });
    }
    yield { ...genesis, body: JSON.stringify(body) };
    yield* chain.mine(null).events;
  });

/** Pending transactions at the end of a chain: the ones that it would announce next. */
export const waitingRecording = (count: number, blocks = BLOCKS, accounts = ACCOUNTS): Promise<string> =>
  recording(`${nameOf(blocks, accounts)}-waiting-${count}`, function* () {
    let [height, remaining] = [0, count];
    for (const event of devnetEvents(chainOf(Number.POSITIVE_INFINITY, accounts))) {
      if (event.path === '/new_block') height = Math.max(height, JSON.parse(event.body).block_height);
      if (event.path !== '/new_mempool_tx' || height < blocks) continue;
      const announced = (JSON.parse(event.body) as string[]).slice(0, remaining);
      yield { ...event, body: JSON.stringify(announced) };
      remaining -= announced.length;
      if (remaining === 0) return;
    }
  });

/** Imports recordings into a data directory. */
export async function importInto(directory: string, ...files: string[]): Promise<void> {
  await run(script(MAIN, 'import', ...files, '--data', directory, '--log-level', 'error'));
}

/**
 * Gives all events of the busiest non-fungible token to its busiest instance, because instances of the simulated chain change
 * hands only a few times. Owners don't change.
 */
function lengthenHistory(directory: string): void {
  const db = new Database(indexPath(directory), { readwrite: true });
  const { asset } = db
    .query<{ asset: number }, []>(
      'SELECT asset_id AS asset FROM nft_instances GROUP BY asset_id ORDER BY sum(events) DESC LIMIT 1',
    )
    .get()!;
  const { value } = db
    .query<{ value: Uint8Array }, [number]>(
      'SELECT value FROM nft_instances WHERE asset_id = ? ORDER BY events DESC LIMIT 1',
    )
    .get(asset)!;
  const { changes } = db.run('UPDATE events SET value = ? WHERE asset_id = ? AND kind >= 9', [value, asset]);
  db.run('UPDATE nft_instances SET events = ? WHERE asset_id = ? AND value = ?', [changes, asset, value]);
  db.close();
}

/** Accounts of a long chain: few enough that their lists grow, and enough for their transactions. */
const TRANSACTIONS_PER_ACCOUNT = 5000;
/** The share of a long chain's transactions that are pending. */
const SHARE_WAITING = 0.1;

/** Hashes the code that makes the index. */
const makersHash = (): string =>
  codeHash(import.meta.path, join(TREE, 'schema.sql'), ...['devnet', 'chain', 'codec', 'store'].map(source));

/**
 * Imports a chain of about `size` transactions, once. A tenth of them are pending, and one token has a long history
 * ({@link lengthenHistory}).
 */
export async function devnetIndex(size: number): Promise<string> {
  const accounts = Math.max(ACCOUNTS, Math.ceil(size / TRANSACTIONS_PER_ACCOUNT));
  const blocks = Math.ceil(size / TRANSACTIONS_PER_BLOCK);
  const path = join(DIRECTORY, `index-${SEED}-${blocks}x${TRANSACTIONS_PER_BLOCK}-${accounts}-${makersHash()}`);
  if (existsSync(path)) return path;
  const files = [
    await devnetRecording(blocks, accounts),
    await waitingRecording(Math.round(size * SHARE_WAITING), blocks, accounts),
  ];
  process.stderr.write(`making ${path}, once\n`);
  rmSync(`${path}.part`, { recursive: true, force: true });
  await importInto(`${path}.part`, ...files);
  lengthenHistory(`${path}.part`);
  renameSync(`${path}.part`, path);
  return path;
}
