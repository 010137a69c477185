import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { systemRandom } from '../../src/base/clock.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { TESTNET_CHAIN_ID } from '../../src/chain/network.ts';
import { PayloadError } from '../../src/chain/payload-reader.ts';
import { preparer } from '../../src/chain/prepared.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath, journalPath, SCHEMA_VERSION } from '../../src/store/files/database.ts';
import { JOURNAL_VERSION } from '../../src/store/files/journal.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { UnknownParentError } from '../../src/store/ingest/known-blocks.ts';
import { lastIdentityIn } from '../../src/store/ingest/log-identity.ts';
import { nextChain } from '../../src/store/log/entry.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import {
  entryOf,
  ingestOf,
  type OpenIngest,
  openAt,
  openNew,
  received,
  simulatedEvents,
} from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { everything, tables, wholeIndex } from '../support/data/tables.ts';
import {
  alice,
  announcement,
  block,
  bob,
  hashOf,
  nodeEvent,
  receipt,
  START,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { changed, jsonOf } from '../support/events/payload-text.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const devnet = (seed: number, blocks = 15): ReceivedEvent[] =>
  simulatedEvents({ seed, blocks, accounts: 15, transactionsPerBlock: 4, forkEvery: 8 });

/** Returns the error that an event throws, after checking that nothing changed. */
function refusal(open: OpenIngest, event: ReceivedEvent): Error {
  const before = everything(open.directory);
  const thrown = thrownBy(() => open.ingest.receive(event));
  expect(everything(open.directory)).toEqual(before);
  expect(thrown).toBeInstanceOf(Error);
  return thrown as Error;
}

const thrownBy = (action: () => unknown): unknown => {
  try {
    action();
  } catch (error) {
    return error;
  }
};

test('every event that is sent again at once changes nothing, in the index and in the journal', () => {
  using open = openNew();
  for (const event of devnet(1, 6)) {
    open.ingest.receive(event);
    const before = everything(open.directory);
    const repeated = { ...event, receivedAt: event.receivedAt + 1 };
    const { path } = event;
    expect({ path, outcome: open.ingest.receive(repeated) }).toEqual({ path, outcome: 'repeated' });
    expect(everything(open.directory)).toEqual(before);
  }
});

test('a repeated block changes nothing however much later it is sent', () => {
  using open = openNew();
  const events = devnet(2);
  for (const event of events) open.ingest.receive(event);
  const before = everything(open.directory);
  for (const event of events.filter(({ path }) => path === '/new_block')) {
    expect(open.ingest.receive(event)).toBe('repeated');
  }
  expect(everything(open.directory)).toEqual(before);
});

test('events applied in batches leave the same files as events applied one by one, with repeats among them', () => {
  const events = devnet(3).flatMap((event, index) => (index % 3 === 0 ? [event, event] : [event]));
  using batches = ingestOf(events);
  using open = openNew();
  for (const event of events) open.ingest.receive(event);
  expect(everything(batches.path)).toEqual(everything(open.directory));
});

test('a transaction that is announced after it was mined is stored and journaled once', () => {
  using open = openNew();
  const mined = transfer(alice, 0, 300);
  open.ingest.receive(block(null, 'one', [mined]).event);
  expect(open.ingest.receive(announcement([mined]))).toBe('applied');
  const before = everything(open.directory);
  expect(open.ingest.receive(announcement([mined]))).toBe('repeated');
  expect(everything(open.directory)).toEqual(before);
});

test('a block with an unknown parent is rejected with the parent and its height, and changes nothing', () => {
  using open = openNew();
  const block1 = block(null, 'one');
  const block2 = block(block1, 'two');
  const block3 = block(block2, 'three');
  open.ingest.receive(block1.event);
  const error = refusal(open, block3.event);
  expect(error).toBeInstanceOf(UnknownParentError);
  expect(error.message).toBe(`DB does not contain a parent block at height 2 with index_hash ${block2.hash}`);
  expect(error).toMatchObject({ missing: { from: 2, to: 2 } });
  open.ingest.receive(block2.event);
  expect(open.ingest.receive(block3.event)).toBe('applied');
});

test("a block is rejected if its height doesn't follow its parent's height", () => {
  using open = openNew();
  const block1 = block(null, 'one');
  open.ingest.receive(block1.event);
  expect(refusal(open, block({ ...block1, height: 5 }, 'six').event)).toBeInstanceOf(UnknownParentError);
});

interface BlockBody {
  events: Record<string, object>[];
  transactions: object[];
  matured_miner_rewards: object[];
}

/** A chain and a block on its tip that has an event of every asset class, and rewards. */
function richBlock(): { before: ReceivedEvent[]; rich: ReceivedEvent } {
  const before: ReceivedEvent[] = [];
  for (const event of devnetEvents({ seed: 5, blocks: 200, accounts: 15, transactionsPerBlock: 6, forkEvery: 0 })) {
    const rich = received(event);
    if (event.path === '/new_block') {
      const body: BlockBody = JSON.parse(event.body);
      const types = new Set(body.events.map(({ type }) => String(type)));
      if (types.size >= 5 && body.matured_miner_rewards.length > 0) return { before, rich };
    }
    before.push(rich);
  }
  throw new Error('no block of the chain is rich enough');
}

const needed = {
  block: [
    ...['block_hash', 'index_block_hash', 'parent_index_block_hash', 'parent_block_hash', 'block_height'],
    ...['burn_block_hash', 'burn_block_height', 'miner_txid', 'parent_microblock', 'parent_microblock_sequence'],
    ...['matured_miner_rewards', 'transactions', 'events'],
  ],
  transaction: ['txid', 'tx_index', 'raw_tx', 'status', 'raw_result'],
  event: ['txid', 'event_index', 'committed', 'type'],
  reward: [
    ...['recipient', 'coinbase_amount', 'tx_fees_anchored', 'tx_fees_streamed_confirmed'],
    ...['tx_fees_streamed_produced', 'from_index_consensus_hash'],
  ],
  /** The optional fields of events: all other fields of every event type are required. */
  optionalInEvent: ['memo', 'contract_identifier of stx_lock_event', 'value'],
};

test('a block that lacks a needed field is refused with its name and changes nothing; it may lack any other', () => {
  const { before, rich } = richBlock();
  using open = openNew();
  for (const event of before) open.ingest.apply(event);
  open.ingest.commit();
  const body: BlockBody = JSON.parse(rich.text);
  const state = everything(open.directory);

  const outcomeWithout = (field: string, remove: (body: BlockBody) => void): string => {
    const text = changed<BlockBody>(rich.text, remove);
    const error = thrownBy(() => open.ingest.apply({ ...rich, text }));
    open.ingest.rollback();
    if (error === undefined) return 'accepted';
    expect(error).toBeInstanceOf(PayloadError);
    return (error as Error).message.includes(field) ? 'refused by name' : (error as Error).message;
  };
  const outcomes = new Map<string, string>();
  const expected = new Map<string, string>();
  const probe = (name: string, field: string, isNeeded: boolean, remove: (body: BlockBody) => void) => {
    outcomes.set(name, outcomeWithout(field, remove));
    expected.set(name, isNeeded ? 'refused by name' : 'accepted');
  };
  type Fields = Record<string, unknown>;
  for (const field of Object.keys(body)) {
    probe(field, field, needed.block.includes(field), (block) => delete (block as unknown as Fields)[field]);
  }
  for (const field of Object.keys(body.transactions[0] ?? {})) {
    const name = `transactions.0.${field}`;
    probe(name, name, needed.transaction.includes(field), (block) => delete (block.transactions[0] as Fields)[field]);
  }
  for (const field of Object.keys(body.matured_miner_rewards[0] ?? {})) {
    const name = `matured_miner_rewards.0.${field}`;
    const isNeeded = needed.reward.includes(field);
    probe(name, name, isNeeded, (block) => delete (block.matured_miner_rewards[0] as Fields)[field]);
  }
  const types = new Set<unknown>();
  for (const [index, event] of body.events.entries()) {
    if (types.has(event.type)) continue;
    types.add(event.type);
    const type = String(event.type);
    for (const field of Object.keys(event)) {
      const name = `events.${index}.${field}`;
      const isNeeded = needed.event.includes(field) || field === type;
      probe(name, name, isNeeded, (block) => delete block.events[index]?.[field]);
    }
    for (const field of Object.keys(event[type] ?? {})) {
      const isOptional = needed.optionalInEvent.some((name) => name === field || name === `${field} of ${type}`);
      const name = `events.${index}.${type}.${field}`;
      probe(name, name, !isOptional, (block) => delete (block.events[index]?.[type] as Fields | undefined)?.[field]);
    }
  }
  expect(Object.fromEntries(outcomes)).toEqual(Object.fromEntries(expected));
  expect(outcomes.size).toBeGreaterThan(60);
  expect(everything(open.directory)).toEqual(state);
  expect(open.ingest.receive(rich)).toBe('applied');
});

test('a block with neither of its times is refused', () => {
  using open = openNew();
  const error = refusal(open, block(null, 'one', [], { block_time: null, burn_block_time: null }).event);
  expect(error).toBeInstanceOf(PayloadError);
  expect(error.message).toBe('Block message has no block_time or burn_block_time');
});

test('a received block with a reward set and no cycle number is refused, but an entry of the log is applied', () => {
  using open = openNew();
  const fields = { cycle_number: null, reward_set: { signers: [] } };
  const { event } = block(null, 'one', [], fields);
  // An import leaves such a block to the writer.
  const { path, text } = block(block(null, 'one'), 'two', [], fields).event;
  expect(preparer(TESTNET_CHAIN_ID)(path, text)).toBeNull();
  const error = refusal(open, event);
  expect(error).toBeInstanceOf(PayloadError);
  expect(error.message).toBe('Cycle number must be present if reward set is present');
  const { id, chain } = open.ingest.position();
  const entry = { ...event, id: id + 1 };
  open.ingest.entries.apply({ entry: { ...entry, chain: nextChain(chain, entry) } }, 'each');
  expect(open.ingest.tipHeight()).toBe(1);
});

test("a body that isn't JSON, or an unknown path, is rejected", () => {
  using open = openNew();
  expect(refusal(open, { path: '/new_block', text: '{"block_height":', receivedAt: 0 })).toBeInstanceOf(PayloadError);
  expect(refusal(open, { path: '/a/new/block', text: '{}', receivedAt: 0 })).toBeInstanceOf(PayloadError);
});

test("a block with a transaction that can't be read is refused with the id of the transaction", () => {
  using open = openNew();
  const good = transfer(alice, 0, 300);
  const cut = { id: hashOf('cut'), raw: transfer(alice, 1, 300).raw.slice(0, -2) };
  const error = refusal(open, block(null, 'one', [good, cut]).event);
  expect(error).toBeInstanceOf(PayloadError);
  expect(error.message).toContain(cut.id);
});

test('an event of a transaction that its block does not hold is refused with the id of the transaction', () => {
  using open = openNew();
  const stray = hashOf('stray');
  const event = nodeEvent(stray, 0, 'stx_mint_event', { recipient: alice.address, amount: '1' });
  const error = refusal(open, block(null, 'one', [transfer(alice, 0, 300)], { events: [event] }).event);
  expect(error.message).toBe(`Unexpected missing tx during event parsing by tx_id ${stray}`);
});

test('unreadable transactions of an announcement are left out, and each is logged', () => {
  using open = openNew();
  const [first, last] = [transfer(alice, 0, 300), transfer(bob, 0, 300)];
  const text = JSON.stringify([first.raw, '0x00', 'not hex', `${last.raw.slice(0, -4)}`, last.raw]);
  expect(open.ingest.receive({ path: '/new_mempool_tx', text, receivedAt: START * 1_000_000 })).toBe('applied');
  expect(tablesOfMempool(open.directory)).toEqual([first.id, last.id].sort());
  expect(open.logged.map(({ event }) => event)).toEqual(Array(3).fill('node_data_unread'));
});

const tablesOfMempool = (directory: string): string[] => {
  using db = new Database(indexPath(directory), { readonly: true });
  const ids = db.query("SELECT '0x' || lower(hex(tx_id)) FROM mempool_transactions ORDER BY 1").values();
  return (ids as [string][]).flat();
};

test('costs up to 2^63 - 1 are stored to the last digit', () => {
  const large = 2n ** 63n - 1n;
  const cost = { runtime: large, read_count: 2n ** 53n + 1n, read_length: 0, write_count: 0, write_length: 0 };
  const transaction = receipt(transfer(alice, 0, 300), 0, { execution_cost: cost });
  using directory = ingestOf([block(null, 'one', [transaction], { anchored_cost: cost }).event]);
  const { blocks, transaction_bodies } = tables(directory.path);
  for (const row of [blocks?.[0], transaction_bodies?.[0]]) {
    expect(row).toContain(`cost_runtime=${large} `);
    expect(row).toContain(`cost_read_count=${2n ** 53n + 1n} `);
  }
});

test('the chain id of the first signed transaction is stored', () => {
  using open = openNew();
  expect(open.ingest.chainId()).toBeNull();
  open.ingest.receive(block(null, 'one', [transfer(alice, 0, 300)]).event);
  expect(open.ingest.chainId()).toBe(0x8000_0000);
  open.ingest.close();
  using reopened = openAt(open.directory);
  expect(reopened.ingest.chainId()).toBe(0x8000_0000);
});

test("data with another chain id can't be opened, and the error has both ids and a remedy", () => {
  using open = openNew({ chainId: 0x8000_0000 });
  open.ingest.close();
  const error = thrownBy(() => openAt(open.directory, { chainId: 1 }));
  expect(error).toBeInstanceOf(OperatorError);
  expect((error as OperatorError).message).toContain('0x80000000');
  expect((error as OperatorError).message).toContain('0x00000001');
  expect((error as OperatorError).remedy).toContain('--data');
  // The failed open released the directory.
  using reopened = openAt(open.directory, { chainId: 0x8000_0000 });
  expect(reopened.ingest.chainId()).toBe(0x8000_0000);
});

test('a block of another chain is refused and changes nothing', () => {
  const [ours, theirs] = (['testnet', 'mainnet'] as const).map(
    (network) => new SimulatedChain({ seed: 6, accounts: 10, network }),
  ) as [SimulatedChain, SimulatedChain];
  using open = openNew();
  for (const event of [ours.genesis(), ...ours.mine(null).events]) open.ingest.receive(received(event));
  const foreign = theirs.mine(null).events.at(-1);
  if (foreign === undefined) throw new Error('a mined block has events');
  const error = refusal(open, received(foreign));
  expect(error).toBeInstanceOf(PayloadError);
  expect(error.message).toContain('to store it, start with --network 0x00000001');
  expect(error.message).toContain('0x80000000');
});

test.each([
  ['an index of a newer schema', indexPath, SCHEMA_VERSION + 1, 'schema', 'stackside rebuild'],
  ['a journal of a newer version', journalPath, JOURNAL_VERSION + 1, 'version', 'Run the newer Stackside'],
])('%s is refused with a remedy', (_, pathOf, version, word, remedy) => {
  using open = openNew();
  open.ingest.close();
  using db = new Database(pathOf(open.directory));
  db.run(`PRAGMA user_version = ${version}`);
  db.close();
  const error = thrownBy(() => openAt(open.directory));
  expect(error).toBeInstanceOf(OperatorError);
  expect((error as OperatorError).message).toContain(`${word} ${version}`);
  expect((error as OperatorError).remedy).toContain(remedy);
});

/** Copies the index without the journal, as a crash between the two commits leaves it. */
function copyIndex(from: string, to: string): void {
  for (const suffix of ['', '-wal']) {
    rmSync(indexPath(to) + suffix, { force: true });
    if (existsSync(indexPath(from) + suffix)) copyFileSync(indexPath(from) + suffix, indexPath(to) + suffix);
  }
  rmSync(`${indexPath(to)}-shm`, { force: true });
}

test('an index that is behind its journal is brought up to it when it is opened, however far', () => {
  const events = devnet(7, 10);
  using whole = ingestOf(events);
  for (const distance of [1, 10, events.length]) {
    using old = dataDirectory();
    using open = openNew();
    for (const [index, event] of events.entries()) {
      if (index === events.length - distance) copyIndex(open.directory, old.path);
      open.ingest.receive(event);
    }
    open.ingest.close();
    copyIndex(old.path, open.directory);
    using reopened = openAt(open.directory);
    const replayed = reopened.logged.map(({ event }) => event).filter((event) => event !== 'unknown_kind');
    expect(replayed).toEqual(['replay_begun', 'journal_replayed']);
    reopened.ingest.close();
    expect(everything(open.directory)).toEqual(everything(whole.path));
  }
});

test('an index that was deleted is made again from the journal, and the log shows how far it is', () => {
  using open = openNew();
  for (const letter of ['a', 'b', 'c']) {
    const text = JSON.stringify(letter.repeat(17_000_000));
    open.ingest.receive({ path: '/of_a_newer_node', text, receivedAt: 1 });
  }
  const events = open.ingest.lastEntry();
  open.ingest.close();
  rmSync(indexPath(open.directory));
  using reopened = openAt(open.directory);
  expect(reopened.logged.filter(({ event }) => event.includes('replay'))).toEqual([
    { event: 'replay_begun', events },
    { event: 'replay_progress', entry: events - 1, of: events },
    { event: 'journal_replayed', events },
  ]);
});

test('a reader continues with its index during a rebuild', () => {
  const events = devnet(8, 10);
  using open = openNew();
  for (const event of events.slice(0, 10)) open.ingest.receive(event);
  using reader = new Database(indexPath(open.directory), { readonly: true });
  reader.run('BEGIN');
  reader.query('SELECT * FROM progress').get();
  for (const event of events.slice(10)) open.ingest.receive(event);
  open.ingest.close();
  const before = everything(open.directory);
  const seen = reader.query('SELECT * FROM blocks').all();
  expect(rebuildIndex({ directory: open.directory }).tipHeight).toBe(10);
  expect(reader.query('SELECT * FROM blocks').all()).toEqual(seen);
  reader.run('COMMIT');
  reader.close();
  const { changes, ...index } = everything(open.directory).index;
  const { changes: _, ...present } = before.index;
  expect(index).toEqual(present);
});

test('an event that was rolled back leaves nothing, and the next event is accepted as if without it', () => {
  const events = devnet(11, 10);
  using whole = ingestOf(events);
  using open = openNew();
  for (const [index, event] of events.entries()) {
    if (index % 5 === 0) {
      for (const next of events.slice(index, index + 3)) open.ingest.apply(next);
      open.ingest.rollback();
    }
    open.ingest.receive(event);
  }
  expect(everything(open.directory)).toEqual(everything(whole.path));
});

/** A block with an unknown parent. */
const nowhere = { hash: hashOf('nowhere'), height: 9, event: { path: '', text: '', receivedAt: 0 } };
const orphanBlock = block(nowhere, 'lost').event;

test('a bad event in a batch rolls back nothing else of the batch', () => {
  const events = devnet(12, 10);
  using whole = ingestOf(events);
  using open = openNew();
  for (const [index, event] of events.entries()) {
    open.ingest.apply(event);
    if (index % 4 === 0) expect(() => open.ingest.apply(orphanBlock)).toThrow(UnknownParentError);
  }
  open.ingest.commit();
  expect(everything(open.directory)).toEqual(everything(whole.path));
});

test('a change that fails leaves the uncommitted entries as they are, with the identity that was drawn for the log', () => {
  const [first] = devnet(13, 4);
  using open = openNew({ random: systemRandom });
  const { entries } = open.ingest;
  entries.apply({ event: first! }, 'end');
  const before = entries.uncommitted();
  expect(before).toHaveLength(entryOf(1));
  expect(() => entries.apply({ event: { ...first!, text: '{' } }, 'end')).toThrow(PayloadError);
  expect(() => entries.apply({ event: orphanBlock }, 'end')).toThrow(UnknownParentError);
  expect(entries.uncommitted()).toEqual(before);
  entries.commit();
  expect([...entries.after(0)]).toEqual(before);
  expect(open.ingest.identity()).toBe(lastIdentityIn(before));
});

test("a first block that is refused doesn't decide the chain, also in a batch", () => {
  const ofMainnet = (transaction: Transaction): Transaction => ({
    ...transaction,
    raw: transaction.raw.replace('0x8080000000', '0x0000000001'),
  });
  const cut = { id: hashOf('cut'), raw: '0x00ff' };
  const foreign = block(null, 'of mainnet', [ofMainnet(transfer(alice, 0, 300)), cut]).event;
  using open = openNew();
  expect(() => open.ingest.apply(foreign)).toThrow(PayloadError);
  expect(open.ingest.chainId()).toBeNull();
  open.ingest.apply(block(null, 'without transactions').event);
  open.ingest.commit();
  expect(wholeIndex(open.directory).progress?.[0]).toContain('chain_id=null');
});

test('attachments are stored once for each content, transaction and block', () => {
  using open = openNew();
  const attachment = {
    attachment_index: 0,
    index_block_hash: hashOf('b'),
    block_height: 1,
    content_hash: `0x${'11'.repeat(20)}`,
    contract_id: 'ST000000000000000000002AMW42H.bns',
    metadata: '0x03',
    tx_id: hashOf('t'),
    content: '0x6162',
  };
  const moved = { ...attachment, index_block_hash: hashOf('c'), block_height: '2' };
  const event = { path: '/attachments/new', text: jsonOf([attachment, moved, attachment]), receivedAt: 0 };
  expect(open.ingest.receive(event)).toBe('applied');
  expect(wholeIndex(open.directory).attachments).toHaveLength(2);
  expect(open.ingest.receive(event)).toBe('repeated');
});

test('the same bytes twice in a row are stored once, also of events that only the journal holds', () => {
  using open = openNew();
  const chunks = { path: '/stackerdb_chunks', text: '{"contract_id":"x","modified_slots":[]}', receivedAt: 1 };
  expect(open.ingest.receive(chunks)).toBe('applied');
  expect(open.ingest.receive({ ...chunks, receivedAt: 2 })).toBe('repeated');
  expect(open.ingest.receive({ ...chunks, text: '{"contract_id":"y","modified_slots":[]}' })).toBe('applied');
  expect(open.ingest.receive(chunks)).toBe('applied');
});

test('a genesis block that comes after block 1 changes nothing, and block 1 can still be reverted', () => {
  using open = openNew();
  const chain = new SimulatedChain({ seed: 9 });
  const genesis = chain.genesis();
  const first = chain.mine(chain.genesisHash);
  const rivals = [chain.mine(chain.genesisHash)];
  rivals.push(chain.mine(rivals[0]?.indexBlockHash ?? ''));
  const take = (events: readonly NodeEvent[]) => {
    for (const event of events) open.ingest.receive(received(event));
  };
  take(first.events);
  const before = tables(open.directory);
  take([genesis]);
  expect(tables(open.directory)).toEqual(before);
  for (const { events } of rivals) take(events);
  expect(open.ingest.tipHeight()).toBe(2);
  expect(problemsIn(open.directory)).toEqual([]);
});

test('an orphaned block has an empty list of transactions, and an unknown block has none', async () => {
  using open = openNew();
  const first = block(null, 'first');
  const orphan = block(first, 'orphan', [transfer(alice, 0, 200)]);
  const rival = block(first, 'rival');
  for (const { event } of [first, orphan, rival, block(rival, 'end')]) open.ingest.receive(event);
  using snapshots = snapshotsOf(open.directory);
  const listBlock = (hash: string) =>
    snapshots.read((read) => read.blocks.transactions({ indexHash: fromHex(hash) }, 'desc', 20, 0, models));
  expect(listBlock(orphan.hash)).toEqual({ items: [], total: 0 });
  expect(listBlock(`0x${'ab'.repeat(32)}`)).toBeUndefined();
});
