/** A newer node sends members and kinds that no release has: its events are accepted all the same. */

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { exactJson } from '../../src/base/json.ts';
import { networkOf } from '../../src/chain/network.ts';
import { blockOf } from '../../src/chain/normalise.ts';
import { isEventPath, mayBeEventPath, parseJson, readPayload } from '../../src/chain/payload-reader.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { transactionId } from '../../src/codec/transaction.ts';
import { sentence } from '../../src/console/app/chain/transaction.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { payloadText } from '../../src/hooks/evaluation/payload.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { payloadMistake } from '../hooks/schemas.ts';
import { openApi } from '../support/api/api.ts';
import { ingestOf, openAt, openNew, received } from '../support/data/ingest.ts';
import { tables, tablesThrough } from '../support/data/tables.ts';
import {
  alice,
  announcement,
  block,
  bob,
  carol,
  receipt,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const network = networkOf(0x8000_0000);
const chain = [...devnetEvents({ seed: 11, blocks: 12, accounts: 8, transactionsPerBlock: 4, forkEvery: 4 })];

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Members that a newer node may add to an object. */
const NEW_MEMBERS = { new_number: 2n ** 70n, new_list: [{}, null, 'x'], new_object: { type: 'x' }, '': '\u2028' };

/** A value with new members in every object. */
function withMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMembers);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    // The interface of a contract is stored as the node sends it.
    name === 'contract_interface' ? member : withMembers(member),
  ]);
  return { ...Object.fromEntries(members), ...NEW_MEMBERS };
}

const edit = (event: NodeEvent, change: (body: unknown) => unknown): NodeEvent => ({
  ...event,
  body: exactJson(change(parseJson(event.body))),
});

test('members that no release has change nothing', () => {
  const [plain, extended] = [chain, chain.map((event) => edit(event, withMembers))].map((events) => {
    using directory = ingestOf(events.map(received));
    using db = new Database(indexPath(directory.path), { readonly: true, safeIntegers: true });
    // Payloads are kept whole.
    return tablesThrough(db, { withoutColumns: ['burn_blocks.payload'] });
  });
  expect(extended).toEqual(plain!);
});

const AUTH = 5;
const HASH_MODE = 6;
/** Offset of the anchor mode in a single-signature transaction; the post-condition mode and count follow. */
const ANCHOR_MODE = 6 + 1 + 20 + 8 + 8 + 1 + 65;
const isOfOneKey = (raw: Uint8Array): boolean => raw[AUTH] === 4 && (raw[HASH_MODE] === 0 || raw[HASH_MODE] === 2);

/** The bytes of a transaction of one key with another byte at a place; of others as they are. */
const withByte = (offset: number, byte: number) => (raw: Uint8Array) => {
  if (isOfOneKey(raw)) raw[offset] = byte;
  return raw;
};

/** Changes that a newer node may make to a transaction in a block. */
const transactionChanges = {
  status: (tx: Json) => ({ ...tx, status: 'abort_by_new_rule' }),
  auth: (tx: Json) => changeRaw(tx, withByte(AUTH, 0x09)),
  hashMode: (tx: Json) => changeRaw(tx, withByte(HASH_MODE, 0x2f)),
  anchorMode: (tx: Json) => changeRaw(tx, withByte(ANCHOR_MODE, 0x09)),
  conditionMode: (tx: Json) => changeRaw(tx, withByte(ANCHOR_MODE + 1, 0x09)),
  conditionForm: (tx: Json) => changeRaw(tx, (raw) => (isOfOneKey(raw) ? withConditionForm(raw) : raw)),
  conditionKind: (tx: Json) => changeRaw(tx, (raw) => (isOfOneKey(raw) ? withCondition(raw) : raw)),
  payload: (tx: Json) => changeRaw(tx, (raw) => (isOfOneKey(raw) ? withPayload(raw) : raw)),
  longer: (tx: Json) => changeRaw(tx, (raw) => (raw.length > 1 ? Uint8Array.of(...raw, 1, 2, 3) : raw)),
} satisfies Record<string, (tx: Json) => Json>;

const changeRaw = (tx: Json, change: (raw: Uint8Array) => Uint8Array): Json => ({
  ...tx,
  raw_tx: toHex(change(fromHex(String(tx.raw_tx)))),
});

/** One condition of a new kind in place of all. */
const withCondition = (raw: Uint8Array): Uint8Array =>
  Uint8Array.of(...raw.subarray(0, ANCHOR_MODE + 2), 0, 0, 0, 1, 0x7b, ...raw.subarray(ANCHOR_MODE + 6));

/** A new mode of conditions, which have another form. */
const withConditionForm = (raw: Uint8Array): Uint8Array =>
  Uint8Array.of(...raw.subarray(0, ANCHOR_MODE + 1), 0x09, 0xff, 0xff, 0xff, 0xff, 1, 2);

/** A payload of a new kind behind no conditions. */
const withPayload = (raw: Uint8Array): Uint8Array =>
  Uint8Array.of(...raw.subarray(0, ANCHOR_MODE + 2), 0, 0, 0, 0, 0x66, 1, 2, 3);

const newEvent = (txid: unknown) => ({
  txid,
  committed: true,
  type: 'stx_melt_event',
  stx_melt_event: { amount: 2n ** 90n, sender: 'x' },
});

const parsedEvent = (txid: unknown) => parseJson(exactJson({ ...newEvent(txid), event_index: 0 }));

/** Changes a block as a newer node may. @param choose draws a number below its argument */
function withKinds(body: unknown, choose: (below: number) => number): unknown {
  if (!isObject(body) || !Array.isArray(body.transactions) || !Array.isArray(body.events)) return body;
  const changes = Object.values(transactionChanges);
  const transactions = (body.transactions as Json[]).map((tx) => changes[choose(2 * changes.length)]?.(tx) ?? tx);
  const events = (body.events as Json[]).flatMap((event) =>
    choose(5) === 0 ? [event, { ...newEvent(event.txid), event_index: event.event_index }] : [event],
  );
  return { ...body, transactions, events };
}

test('kinds that no release has are kept, and everything else of the chain is as it would be', async () => {
  const seen = new Seen({ types: 3, kinds: 3, statuses: 3 });
  using plain = ingestOf(chain.map(received));
  const theirs = tables(plain.path);
  await assertProperty(
    fc.asyncProperty(fc.infiniteStream(fc.nat()), async (draws) => {
      const choose = (below: number): number => (draws.next().value ?? 0) % below;
      // A block is announced the same whenever it is announced.
      const bodies = new Map<string, string>();
      const events = chain.map((event) => {
        if (event.path !== '/new_block') return event;
        if (!bodies.has(event.body)) bodies.set(event.body, edit(event, (body) => withKinds(body, choose)).body);
        return { ...event, body: bodies.get(event.body)! };
      });
      using directory = ingestOf(events.map(received));
      expect(problemsIn(directory.path, { deep: silentMachine })).toEqual([]);
      using db = new Database(indexPath(directory.path), { readonly: true });
      const row = db
        .query<Record<string, number>, []>(
          `SELECT (SELECT count(*) FROM transactions WHERE type = 30) AS types,
                    (SELECT count(*) FROM events WHERE kind = 0) AS kinds,
                    (SELECT count(*) FROM transactions WHERE status = -4) AS statuses`,
        )
        .get()!;
      for (const [name, count] of Object.entries(row)) seen.add(name, count);
      const ours = tables(directory.path);
      const idsOf = ({ transactions = [] }: typeof ours) =>
        transactions.map((row) => /tx_id=\S+/.exec(row)?.[0]).sort();
      expect(idsOf(ours)).toEqual(idsOf(theirs));
      expect(ours.blocks?.length).toBe(theirs.blocks!.length);
      for (const table of [
        ...['burn_rewards', 'burn_slot_holders', 'pox_transactions', 'anchor_burn_blocks', 'miner_rewards'],
      ] as const) {
        expect(ours[table]).toEqual(theirs[table]!);
      }
      await everythingIsServed(directory.path, events);
    }),
    { seen, cases: 1 },
  );
});

/** Every transaction and its events by every route that shows them, as deliveries and in the words of the console. */
async function everythingIsServed(directory: string, events: readonly NodeEvent[]): Promise<void> {
  // Bodies are held against their schemas.
  using api = openApi(directory);
  const ask = async (path: string) => {
    const response = await api.get(path);
    const text = await response.text();
    expect({ path, status: response.status, text: response.ok ? '' : text }).toEqual({ path, status: 200, text: '' });
    return JSON.parse(text);
  };
  using db = new Database(indexPath(directory), { readonly: true });
  const ids = db.query<{ id: string; sender: string }, []>(
    `SELECT '0x' || lower(hex(t.tx_id)) AS id, p.address AS sender FROM transactions t JOIN principals p ON p.id = t.sender_id
      WHERE t.type = 30 OR t.status = -4 OR t.position IN (SELECT position FROM events WHERE kind = 0)`,
  );
  for (const { id, sender } of ids.all()) {
    const v1 = await ask(`/extended/v1/tx/${id}`);
    expect(sentence(v1).length).toBeGreaterThan(1);
    await ask(`/extended/v3/transactions/${id}?include=function_args,source_code,post_conditions,result`);
    await ask(`/extended/v3/transactions/${id}/events?limit=50`);
    await ask(`/extended/v1/search/${id}?include_metadata=true`);
    await ask(`/extended/v1/tx/events?tx_id=${id}`);
    await ask(`/extended/v1/address/${sender}/transactions_with_transfers?limit=20`);
    await ask(`/extended/v2/addresses/${sender}/transactions`);
    await ask(`/extended/v3/principals/${sender}/transactions`);
    await ask(`/stackside/v1/principals/${sender}/history`);
  }
  for (const list of ['v1/tx?limit=50', 'v3/transactions?limit=50', 'v1/tx?type=unknown'])
    await ask(`/extended/${list}`);
  const hook = { uuid: '00000000-0000-4000-8000-000000000000', name: 'all' };
  for (const { path, body } of events) {
    if (path !== '/new_block') continue;
    const payload = readPayload(path, body);
    if (payload.kind !== 'block') continue;
    const decoded = blockOf(payload.block, network);
    const txIndexes = [...decoded.transactions.keys()];
    const matched = { block: decoded, txIndexes, findFunction: () => undefined };
    const textWith = (options: object) =>
      payloadText({ ...hook, options } as Parameters<typeof payloadText>[0], network, {
        apply: [matched],
        rollback: [],
      });
    expect(JSON.parse(textWith({ include_post_conditions: true })).event.apply).toHaveLength(1);
    // Except for the new word, published clients can parse the delivery.
    const text = textWith({ decode_clarity_values: true, include_raw_transactions: true });
    const knownText = text
      .replaceAll('"type":"unknown"', '"type":"coinbase"')
      .replaceAll('"status":"unknown"', '"status":"success"');
    expect(payloadMistake(JSON.parse(knownText))).toBeNull();
  }
}

describe('an event by a path that no release posts to', () => {
  test('is kept in the journal, counted, and logged once', () => {
    using open = openNew();
    for (const id of [1, 2]) {
      const event = { path: '/new_thing', text: `{"id":${id}}`, receivedAt: id };
      expect(open.ingest.receive(event)).toBe('applied');
    }
    expect(open.logged).toEqual([{ event: 'unknown_kind', what: 'path', reason: '/new_thing' }]);
    expect(open.ingest.unknownCounts).toEqual({ transaction: 0, event: 0, status: 0, path: 2 });
    const { directory } = open;
    open.ingest.close();
    using reopened = openAt(directory);
    expect(reopened.ingest.receive({ path: '/new_thing', text: '{"id":3}', receivedAt: 3 })).toBe('applied');
  });

  test('is accepted if the path looks like the path of a node', () => {
    for (const path of ['/new_thing', '/new/thing', '/new_block']) expect(mayBeEventPath(path)).toBe(true);
    const invalidPaths = ['/', '/new_thing/', '/a/b/c', '/../x', '/X', '/x.php', '//x', '/stackside/command'];
    for (const path of [...invalidPaths, '/stackside/v1'])
      expect({ path, may: mayBeEventPath(path) }).toEqual({ path, may: false });
    expect(isEventPath('/new_thing')).toBe(false);
  });
});

test('parts of an unknown kind are counted, and logged once for each kind', () => {
  using open = openNew();
  const { payload, status, hashMode } = transactionChanges;
  const sent = [0, 1, 2].map((nonce) => transfer(alice, nonce, 200));
  const receipts = [payload, status, hashMode].map((change, index) => change(receipt(sent[index]!, index)));
  open.ingest.receive(block(null, 'newer', receipts, { events: [parsedEvent(sent[2]!.id)] }).event);
  const logged = open.logged.filter(({ event }) => event === 'unknown_kind');
  expect<unknown>(logged).toEqual([
    {
      event: 'unknown_kind',
      what: 'transaction',
      reason: expect.stringContaining('a payload type (0x00 to 0x08), found 0x66'),
    },
    { event: 'unknown_kind', what: 'status', reason: 'abort_by_new_rule' },
    { event: 'unknown_kind', what: 'transaction', reason: expect.stringContaining('a hash mode') },
    { event: 'unknown_kind', what: 'event', reason: 'stx_melt_event' },
  ]);
  expect(open.ingest.unknownCounts).toEqual({ transaction: 2, event: 1, status: 1, path: 0 });
});

test('an event of a new kind is among all events of its transaction, and no Clarity value of the views', async () => {
  using open = openNew({ views: true });
  const transaction = transfer(alice, 0, 200);
  const events = [parsedEvent(transaction.id)];
  open.ingest.receive(block(null, 'newer', [receipt(transaction, 0)], { events }).event);
  using api = openApi(open.directory);
  const kindsOf = async (type: string) => {
    const answer = await api.get(`/extended/v1/tx/events?tx_id=${transaction.id}${type}`);
    return ((await answer.json()) as { events: Json[] }).events.map(({ event_type }) => event_type);
  };
  expect(await kindsOf('')).toEqual(['unknown']);
  expect(await kindsOf('&type=stx_asset')).toEqual([]);
  using db = new Database(indexPath(open.directory), { readonly: true });
  expect(db.query('SELECT type, value, memo FROM v1_events').all()).toEqual([
    { type: 'unknown', value: null, memo: null },
  ]);
});

test('logs only a few of many new kinds, shortened, and also the kinds of other parts', () => {
  using open = openNew();
  const statuses = Array.from({ length: 200 }, (_, index) => `${index} ${'x'.repeat(5_000)}`);
  const transactions = statuses.map((status, index) => receipt(transfer(alice, index, 200), index, { status }));
  const events = [parsedEvent(transactions[0]!.txid)];
  open.ingest.receive(block(null, 'newer', transactions, { events }).event);
  const logged = open.logged.filter(({ event }) => event === 'unknown_kind');
  expect(logged.length).toBeLessThan(50);
  expect(Math.max(...logged.map((entry) => JSON.stringify(entry).length))).toBeLessThan(1_000);
  expect<unknown>(logged).toContainEqual({ event: 'unknown_kind', what: 'event', reason: 'stx_melt_event' });
  expect(open.ingest.unknownCounts).toMatchObject({ status: 200, event: 1 });
});

test('a transaction of a new kind waits, and every route of the mempool has it', async () => {
  using open = openNew();
  const withRaw = ({ raw }: Transaction, change: (raw: Uint8Array) => Uint8Array): Transaction => {
    const bytes = change(fromHex(raw));
    return { id: toHex(transactionId(bytes)), raw: toHex(bytes) };
  };
  const waiting = [
    withRaw(transfer(alice, 0, 200), withPayload),
    withRaw(transfer(bob, 0, 300), withCondition),
    withRaw(transfer(carol, 0, 400), withConditionForm),
  ];
  open.ingest.receive(block(null, 'one').event);
  expect(open.ingest.receive(announcement(waiting))).toBe('applied');
  using api = openApi(open.directory);
  const lists = ['v1/tx/mempool', 'v1/tx/mempool/stats', 'v2/mempool/fees', 'v3/mempool/transactions'];
  const paths = waiting.flatMap(({ id }) => [
    `v1/tx/${id}`,
    `v3/transactions/${id}?include=post_conditions`,
    `v1/search/${id}`,
  ]);
  for (const path of [...lists, ...paths, `v1/address/${alice.address}/mempool`]) {
    const response = await api.get(`/extended/${path}`);
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    await response.text();
  }
  const { results } = (await (await api.get('/extended/v3/mempool/transactions')).json()) as { results: Json[] };
  expect(results.map(({ type, status }) => `${type} ${status}`)).toEqual(Array(3).fill('unknown pending'));
  const condition = `/extended/v1/tx/${waiting[1]!.id}`;
  expect(await (await api.get(condition)).json()).toMatchObject({ post_conditions: [{ type: 'unknown' }] });
});
