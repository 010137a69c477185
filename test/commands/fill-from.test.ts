/** `stackside fill --from --into`: a data directory whose chain begins earlier than that of another. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { EXIT, OperatorError } from '../../src/base/errors.ts';
import { PayloadError } from '../../src/chain/payload-reader.ts';
import { follower, runFillFrom } from '../../src/commands/data/fill-from.ts';
import { entriesAfter } from '../../src/commands/data/import-journal.ts';
import type { JournalSource } from '../../src/commands/data/journal-sources.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { answerRpc, RPC_TOKEN } from '../../src/devnet/rpc.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath, requireIndex } from '../../src/store/files/database.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import { CHAIN_START, type Entry, type Head, nextChain } from '../../src/store/log/entry.ts';
import { NOW, sendCommand } from '../support/data/chance-commands.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, openNew, received } from '../support/data/ingest.ts';
import { type Tables, tables, wholeIndex } from '../support/data/tables.ts';
import { beginnings } from '../support/events/beginning.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { type Lie, rpcOf, served } from '../support/servers/simulated-rpc.ts';

const chain = new SimulatedChain({ seed: 21, accounts: 6, operations: false, mempool: false });
const all: NodeEvent[] = [chain.genesis()];
while (chain.tip.height < 40) {
  const { height, indexBlockHash, parent } = chain.tip;
  let on = height === 0 ? null : indexBlockHash;
  if (height % 7 === 6) {
    // A block that the next one replaces the tip by.
    const rival = chain.mine(parent, { newTenure: true });
    all.push(...rival.events);
    on = rival.indexBlockHash;
  }
  all.push(...chain.mine(on, { newTenure: height % 2 === 0 }).events);
}
/** What comes after a server has been moved to the new data. */
const later = all.splice(
  all.findIndex(({ body }) => (JSON.parse(body) as { block_height?: number }).block_height === 37),
);
const starts = beginnings(all);

/** A data directory that begins at a block, with commands between the events. */
async function begun(events: readonly NodeEvent[], seed: number): Promise<DataDirectory> {
  const directory = dataDirectory();
  using open = openAt(directory.path);
  const prng = new Prng(String(seed));
  for (const event of events) {
    open.ingest.receive(received(event));
    for (let number = prng.below(4); number > 0; number--) await sendCommand(open.ingest, prng);
  }
  return directory;
}

interface Given {
  data: string;
  into: string;
  from: number;
  lie?: Lie;
}

/** Runs the command. @returns what it prints, or its error */
async function run({ data, into, from, lie }: Given): Promise<unknown> {
  using home = dataDirectory();
  const nodeAuthFile = join(home.path, 'node.token');
  writeFileSync(nodeAuthFile, RPC_TOKEN, { mode: 0o600 });
  const settings = {
    data,
    nodeRpc: 'http://node',
    nodeAuthFile,
    ...{ network: null, chainId: null, logLevel: 'error' as const },
    ...{ sendManyMainnet: null, sendManyTestnet: null, archive: null },
  };
  const output = { write: () => true };
  const options = { from, into, rate: 1_000_000 };
  return runFillFrom(settings, rpcOf(served(chain), lie), options, output).catch((error: unknown) => error);
}

/** Notes what an honest node is asked. */
const heard =
  (asked: string[]): Lie =>
  ({ pathname }, answer) => {
    asked.push(pathname);
    return answer;
  };

/** Tables of the chain, without what no node tells of Bitcoin: its blocks' payouts, and the transactions of miners. */
const burnTables = ['burn_blocks', 'burn_rewards', 'burn_slot_holders', 'pox_transactions'];
const chainTables = (directory: string) =>
  Object.fromEntries(
    Object.entries(tables(directory))
      .filter(([name]) => !burnTables.includes(name))
      .map(([name, rows]) => [name, rows.map((row) => row.replace(/miner_tx_id=0x[0-9a-f]+ /, ''))]),
  );

const hookTables = (directory: string): Tables =>
  Object.fromEntries(Object.entries(wholeIndex(directory)).filter(([name]) => name.startsWith('hook')));

/** The tables of chainhooks as a copy has them. @param at of the block below the first one of the copied index */
function copied(from: Tables, { height, hash }: { height: number; hash: string }): Tables {
  const finished = new Set(
    from.hook_deliveries!.filter((row) => / state=[24] /.test(row)).map((row) => /^id=(\d+) /.exec(row)![1]),
  );
  const isCopied = (name: string, row: string): boolean =>
    !finished.has((name === 'hook_deliveries' ? /^id=(\d+) / : /^delivery_id=(\d+) /).exec(row)?.[1]);
  const ofHook = (row: string): string =>
    row.replace(
      new RegExp(`cursor_height=${height} cursor_hash=0x(00)* `),
      `cursor_height=${height} cursor_hash=${hash} `,
    );
  return Object.fromEntries(
    Object.entries(from).map(([name, rows]) => {
      if (/deliveries|bodies|attempts/.test(name)) return [name, rows.filter((row) => isCopied(name, row))];
      return [name, name === 'hooks' ? rows.map(ofHook) : rows];
    }),
  );
}

/** What a directory's hooks are notified of by the blocks that come later: ids of deliveries, which contain the bodies. */
function notified(directory: string): string[] {
  const ids = (): string[] =>
    hookTables(directory).hook_deliveries!.map((row) => / webhook_id="([^"]+)"/.exec(row)![1]!);
  const before = new Set(ids());
  using open = openAt(directory);
  for (const event of later) open.ingest.receive(received(event));
  open.ingest.close();
  return ids()
    .filter((id) => !before.has(id))
    .sort();
}

test('the new data equals that of a server which began there, has the chainhooks of the old, and notifies of the same', async () => {
  const seen = new Seen({ hooks: 5, waiting: 5, notified: 5, finished: 2 });
  await assertProperty(
    fc.asyncProperty(fc.nat(), fc.nat(99), fc.nat(99), async (seed, first, second) => {
      // Rivals of block 1 are on no network a Nakamoto block.
      const one = 1 + Math.floor((first / 100) * (starts.length - 2));
      const [low, high] = [starts[one]!, starts[one + 1 + Math.floor((second / 100) * (starts.length - one - 1))]!];
      using data = await begun(high.events, seed);
      using home = dataDirectory();
      const into = join(home.path, 'new');
      const printed = await run({ data: data.path, into, from: low.height });
      // Without the example of a reward, several tenures may explain the first one on a chain whose rewards mature early.
      if (String(printed).includes('which tenure its reward is of') && tables(data.path).miner_rewards!.length === 0)
        return;
      expect(printed).toBeString();
      using whole = ingestOf(low.events.map(received));
      expect(chainTables(into)).toEqual(chainTables(whole.path));
      const [old, fresh] = [hookTables(data.path), hookTables(into)];
      const { parent_index_block_hash: hash } = JSON.parse(high.events[0]!.body);
      expect(fresh).toEqual(copied(old, { height: high.height - 1, hash }));
      expect(checkDirectory(into, { deep: silentMachine }).flatMap(({ problems }) => problems)).toEqual([]);
      const ids = notified(into);
      expect(ids).toEqual(notified(data.path));
      expect(existsSync(join(into, 'fill'))).toBe(false);
      seen.add('hooks', fresh.hooks!.length);
      seen.add('waiting', fresh.hook_deliveries!.length);
      seen.add('finished', old.hook_deliveries!.length - fresh.hook_deliveries!.length);
      seen.add('notified', ids.length);
    }),
    { cases: 3, seen },
  );
});

const [low, high] = [starts.find(({ height }) => height === 24)!, starts.find(({ height }) => height === 33)!];

test('a fill that a node breaks off, or that finds a server on the old data, goes on where it was', async () => {
  using data = await begun(high.events, 1);
  using home = dataDirectory();
  const into = join(home.path, 'new');
  const given = { data: data.path, into, from: low.height };
  const hash = chain
    .ancestors(chain.tip)
    .find(({ height }) => height === 28)!
    .indexBlockHash.slice(2);
  const asked: string[] = [];
  const without: Lie = (url, answer) => {
    asked.push(url.pathname);
    return url.pathname.endsWith(`/replay/${hash}`) ? new Response('', { status: 404 }) : answer;
  };
  expect(await run({ ...given, lie: without })).toMatchObject({
    message: expect.stringContaining("Block 28 can't be filled"),
  });
  const marker = readFileSync(join(into, 'fill', 'fill.json'));
  expect(() => requireIndex(into)).toThrow('A fill from an earlier block into');
  expect(await run({ ...given, from: 20 })).toMatchObject({
    message: expect.stringContaining('A fill from another block'),
  });
  const server = openAt(data.path);
  asked.length = 0;
  expect(await run({ ...given, lie: heard(asked) })).toMatchObject({
    exitCode: EXIT.operator,
    message: expect.stringContaining(`A server still writes to ${data.path}`),
  });
  expect(asked.filter((path) => path.includes('/replay/')).length).toBe(5);
  // What the server accepts meanwhile comes, too.
  for (const event of later) server.ingest.receive(received(event));
  server.ingest.close();
  expect(await run(given)).toContain('and copied');
  using whole = ingestOf([...low.events, ...later].map(received));
  expect(chainTables(into)).toEqual(chainTables(whole.path));
  expect(await run(given)).toMatchObject({ message: expect.stringContaining('holds data already') });
  // As if it had been killed between the two files.
  mkdirSync(join(into, 'fill'));
  writeFileSync(join(into, 'fill', 'fill.json'), marker);
  renameSync(indexPath(into), indexPath(join(into, 'fill')));
  expect(await run(given)).toContain('start the server');
  expect(chainTables(into)).toEqual(chainTables(whole.path));
});

test('a node that sends another block than the one below the beginning is not believed', async () => {
  using data = await begun(high.events, 1);
  using home = dataDirectory();
  const [tip, ...older] = [...chain.ancestors(chain.tip)];
  const below = older.find(({ height }) => height === low.height - 1)!.indexBlockHash;
  const lie: Lie = (url, answer) =>
    url.pathname === `/v3/blocks/${below.slice(2)}`
      ? answerRpc(served(chain), new Request(`http://node/v3/blocks/${tip!.indexBlockHash.slice(2)}`))
      : answer;
  const error = await run({ data: data.path, into: join(home.path, 'new'), from: low.height, lie });
  expect(error).toMatchObject({ message: expect.stringContaining('the node does not tell the block below it') });
});

test('a command is applied once, also where the reading broke off behind it', async () => {
  using open = openNew();
  const args = { currency: 'stx', address: 'ST1', ip: '127.0.0.1' };
  const gift = JSON.stringify({ uuid: 'a gift', type: 'faucet.add', args });
  let last: Head = { id: 0, chain: CHAIN_START };
  const entry = (path: string, text: string): Entry => {
    const made = { id: last.id + 1, receivedAt: NOW, path, text };
    last = { id: made.id, chain: nextChain(last.chain, made) };
    return { ...made, ...last };
  };
  const command = entry('/stackside/command', gift);
  const before = last;
  const follow = async (next: Entry): Promise<void> => {
    const all = [command, next];
    const source = {
      chainAt: async (id: number) => all[id - 1]!.chain,
      after: async (id: number) => ({ last: all.length, entries: all.slice(id) }),
    } as unknown as JournalSource;
    await follower(open.ingest, source, () => false).follow(() => {});
  };
  await expect(follow(entry('/new_block', '{}'))).rejects.toThrow(PayloadError);
  last = before;
  await follow(entry('/stackerdb_chunks', '{}'));
  open.ingest.close();
  expect(wholeIndex(open.directory).faucet_requests).toHaveLength(1);
});

test('a journal that ends before its last event is damaged, and is not read on and on', async () => {
  const source = { location: 'there', after: async () => ({ last: 5, entries: [] }) } as unknown as JournalSource;
  const read = async () => {
    for await (const _ of entriesAfter(source, 3)) throw new Error('there is nothing to read');
  };
  await expect(read()).rejects.toThrow('Entry 4 of the journal of there is damaged');
});

test('the keys that the server made come with the chainhooks, for this user alone', async () => {
  using data = await begun(high.events, 1);
  using home = dataDirectory();
  const into = join(home.path, 'new');
  writeFileSync(join(data.path, 'secrets.key'), `${'ab'.repeat(32)}\n`, { mode: 0o600 });
  expect(await run({ data: data.path, into, from: low.height })).toBeString();
  expect(readFileSync(join(into, 'secrets.key'), 'utf8')).toBe(`${'ab'.repeat(32)}\n`);
  expect(statSync(join(into, 'secrets.key')).mode & 0o777).toBe(0o600);
  expect(existsSync(join(into, 'admin.key'))).toBe(false);
});

test('data with nothing earlier, a later height, a trimmed journal, and a place that is taken are refused before a request', async () => {
  using data = await begun(high.events, 1);
  using home = dataDirectory();
  using whole = ingestOf(all.slice(0, 4).map(received));
  const into = join(home.path, 'new');
  const given = { data: data.path, into, from: low.height };
  const asked: string[] = [];
  const refused = async (change: Partial<Given>): Promise<string> => {
    const error = await run({ ...given, ...change, lie: heard(asked) });
    expect(error).toBeInstanceOf(OperatorError);
    return (error as OperatorError).message;
  };
  expect(await refused({ data: whole.path })).toContain('has the chain from its beginning');
  expect(await refused({ from: high.height })).toContain(
    `begins at block ${high.height}, and --from names ${high.height}`,
  );
  expect(await refused({ into: data.path })).toContain('which is in the data directory');
  expect(await refused({ into: join(data.path, 'new') })).toContain('which is in the data directory');
  expect(await refused({ into: whole.path })).toContain('holds data already');
  expect(await refused({ data: join(home.path, 'none') })).toContain('There is no index');
  const trimming = openJournalTrimming(data.path);
  trimming.trimTo(2);
  trimming.close();
  expect(await refused({})).toContain('lacks event 1');
  expect(asked).toEqual([]);
  expect(existsSync(into)).toBe(false);
});
