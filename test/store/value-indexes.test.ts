/**
 * Logs and calls by their decoded values: every list equals a filter over all decoded values, whatever forks the
 * chain had and however far the index was built, and the index depends only on the chain.
 */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { type ClarityValue, decodeArguments, decodeClarity } from '../../src/codec/clarity.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { payloadOf } from '../../src/codec/transaction.ts';
import { conditionOf } from '../../src/codec/value-condition.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { openToRead } from '../../src/store/files/connection.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { IngestOptions } from '../../src/store/ingest/ingest.ts';
import { type LocalWrite, startValueIndexing, type ValueIndexEvent } from '../../src/store/ingest/value-indexes.ts';
import type { HeightSpan } from '../../src/store/model/block.ts';
import type { FieldFilter, ValueIndex, ValueIndexChoice } from '../../src/store/model/contract.ts';
import type { Cursor, ListOrder, Page } from '../../src/store/model/page.ts';
import { VALUE_SEARCH_LIMITS } from '../../src/store/queries/contracts/value-search.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { TooMuchWorkError } from '../../src/store/rows/statement.ts';
import { copyOf } from '../support/data/data-directory.ts';
import { ingestOf, type OpenIngest, openAt, openNew, received } from '../support/data/ingest.ts';
import { readerIn } from '../support/data/memory-index.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { tables } from '../support/data/tables.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { alice, block, deployment, type MadeBlock, printEvent, receipt } from '../support/events/handmade.ts';
import { winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { batchOf, leaves } from './decoded-values.ts';
import { walkItems } from './walk.ts';

const BOOT = 'ST000000000000000000002AMW42H';
const logsOf = (contract: string, scope = ''): ValueIndexChoice => ({ subject: 'logs', contract, scope });
const callsOf = (contract: string, scope = ''): ValueIndexChoice => ({ subject: 'calls', contract, scope });
/** Value indexes for prints of a simulated chain's boot contracts, and for calls of two of them. */
const choices = [
  logsOf(`${BOOT}.pox-5`),
  logsOf(`${BOOT}.pox-4`, 'data'),
  logsOf(`${BOOT}.bns`),
  callsOf(`${BOOT}.pox-5`),
  callsOf(`${BOOT}.bns`, 'name-preorder'),
];

/** Builds the requested indexes. @returns the number of batches */
function buildAll(open: OpenIngest): number {
  let batches = 0;
  while (batchOf(open) !== null) batches += 1;
  return batches;
}

const field = (path: string, ...texts: string[]): FieldFilter => ({
  path,
  named: `field.${path}`,
  conditions: texts.map(conditionOf),
});
const ALL: HeightSpan = { from: null, to: null };

/** A log or a call, as the plain filter sees it. */
interface Plain {
  subject: 'logs' | 'calls';
  contract: string;
  position: number;
  eventIndex: number;
  value: Uint8Array;
  functionName: string;
  status: number;
  args: Uint8Array;
}

/** All logs and calls of contracts, newest first. */
function allOf(db: Database): Plain[] {
  return db
    .query<Plain, []>(
      `SELECT 'logs' AS subject, p.address AS contract, e.position, e.event_index AS eventIndex, e.value
         FROM events e JOIN principals p ON p.id = e.contract_id WHERE e.kind = 1
       UNION ALL
       SELECT 'calls', p.address, t.position, 0, NULL FROM transactions t JOIN principals p ON p.id = t.contract_id
        WHERE t.type = 2 ORDER BY 3 DESC, 4 DESC`,
    )
    .all()
    .map((plain) => {
      if (plain.subject === 'logs') return plain;
      const row = db
        .query<{ functionName: string; status: number; args: Uint8Array | null; raw: Uint8Array }, [number]>(
          `SELECT t.function_name AS functionName, t.status, b.function_args AS args, b.raw
             FROM transactions t JOIN transaction_bodies b USING (position) WHERE position = ?1`,
        )
        .get(plain.position)!;
      return { ...plain, ...row, args: row.args ?? payloadOf(row.raw, 'contract_call').functionArgs };
    });
}

/** Returns the value at a path of nested tuples. */
function valueAt(value: ClarityValue, names: readonly string[]): ClarityValue | undefined {
  if (value.type === 'some' || value.type === 'ok' || value.type === 'err') return valueAt(value.value, names);
  const [first, ...rest] = names;
  if (first === undefined) return value.type === 'tuple' ? undefined : value;
  const entry = value.type === 'tuple' ? value.value.get(first) : undefined;
  return entry === undefined ? undefined : valueAt(entry, rest);
}

function decodedAt(row: Plain, path: string): ClarityValue | undefined {
  const names = path === '' ? [] : path.split('.');
  if (row.subject === 'logs') {
    const value = decodeClarity(row.value);
    return value.ok ? valueAt(value.value, names) : undefined;
  }
  const [name, place, ...rest] = names;
  const spans = decodeArguments(row.args);
  const span = spans.ok && name === row.functionName ? spans.value[Number(place)] : undefined;
  const value = span === undefined ? undefined : decodeClarity(span);
  return value?.ok === true ? valueAt(value.value, rest) : undefined;
}

/** A condition as text, and as a predicate on values that doesn't use the grammar. */
interface DrawnCondition {
  path: string;
  text: string;
  holds: (value: ClarityValue) => boolean;
}

/** Conditions that a value meets, and some that it may not. */
function conditionsOn(path: string, value: ClarityValue): DrawnCondition[] {
  const hex = toHex(value.bytes);
  const equal: DrawnCondition = { path, text: hex, holds: (value) => toHex(value.bytes) === hex };
  if (value.type !== 'int' && value.type !== 'uint') return [equal];
  const limit = value.value;
  const compare = (text: string, holds: (integer: bigint) => boolean): DrawnCondition => ({
    path,
    text,
    holds: (value) => (value.type === 'int' || value.type === 'uint') && holds(value.value),
  });
  return [
    equal,
    compare(`${limit}`, (integer) => integer === limit),
    compare(`gte:${limit}`, (integer) => integer >= limit),
    compare(`lt:${limit}`, (integer) => integer < limit),
    compare(`between:0,${limit < 0n ? 0n : limit}`, (integer) => integer >= 0n && integer <= (limit < 0n ? 0n : limit)),
  ];
}

function leavesOf(row: Plain): [string, ClarityValue][] {
  if (row.subject === 'logs') {
    const value = decodeClarity(row.value);
    return value.ok ? [...leaves(value.value)] : [];
  }
  const spans = decodeArguments(row.args);
  return (spans.ok ? spans.value : []).flatMap((span, place) => {
    const value = decodeClarity(span);
    return value.ok ? [...leaves(value.value, [row.functionName, String(place)])] : [];
  });
}

interface FoundItem {
  height: number;
  eventIndex?: number;
}

/** Searches logs or calls. */
function search(
  read: Reader,
  subject: Pick<Plain, 'subject' | 'contract'>,
  fields: FieldFilter[],
  heights: HeightSpan,
  order: ListOrder = 'desc',
) {
  const functionName = fields[0]?.path.split('.')[0] ?? null;
  return (limit: number, cursor: Cursor | null): Promise<Page<FoundItem, number | null>> =>
    subject.subject === 'logs'
      ? read.contracts.searchLogs(subject.contract, { topic: null, order, heights, fields }, limit, cursor)
      : read.contracts.searchCalls(
          subject.contract,
          { functionName, statuses: null, order, heights, fields },
          limit,
          cursor,
        );
}

const PLACES = 2 ** 20;
const toListed = (row: Plain) =>
  row.subject === 'logs'
    ? { height: Math.floor(row.position / PLACES), eventIndex: row.eventIndex, value: row.value }
    : { height: Math.floor(row.position / PLACES), functionArgs: row.args };

/** Limits that select each way to find a list. */
const ways = [
  VALUE_SEARCH_LIMITS,
  { ...VALUE_SEARCH_LIMITS, few: 0 },
  { ...VALUE_SEARCH_LIMITS, few: 0, quick: 1 },
  { ...VALUE_SEARCH_LIMITS, few: 2, quick: 0, sorted: 2 },
  { ...VALUE_SEARCH_LIMITS, few: 1, unindexed: 0 },
];

/** Compares lists by drawn conditions with a filter over everything. @param draw a number below its parameter */
async function compareLists(db: Database, draw: (below: number) => number, lists: number): Promise<number> {
  const rows = allOf(db).filter(({ subject, contract }) =>
    choices.some((choice) => choice.subject === subject && choice.contract === contract),
  );
  let compared = 0;
  for (let n = 0; n < lists && rows.length > 0; n++) {
    const model = rows[draw(rows.length)]!;
    const fieldsOfModel = leavesOf(model);
    if (fieldsOfModel.length === 0) continue;
    const conditions = Array.from({ length: 1 + draw(2) }, () => {
      const conditions = conditionsOn(...fieldsOfModel[draw(fieldsOfModel.length)]!);
      return conditions[draw(conditions.length)]!;
    });
    const height = Math.floor(model.position / PLACES);
    const heights = [ALL, { from: height, to: null }, { from: null, to: height - 1 }][draw(3)]!;
    const byPath = Map.groupBy(conditions, ({ path }) => path);
    const fields = [...byPath].map(([path, conditions]) => field(path, ...conditions.map(({ text }) => text)));
    const expected = rows
      .filter((row) => row.subject === model.subject && row.contract === model.contract)
      .filter(({ position }) => position >= (heights.from ?? 0) * PLACES)
      .filter(({ position }) => heights.to === null || position < (heights.to + 1) * PLACES)
      .filter((row) =>
        conditions.every(({ path, holds }) => {
          const value = decodedAt(row, path);
          return value !== undefined && holds(value);
        }),
      )
      .map(toListed);
    const read = readerIn(db, { values: ways[draw(ways.length)]! });
    try {
      const order = draw(2) === 0 ? 'desc' : 'asc';
      expect(await walkItems(search(read, model, fields, heights, order), 1 + draw(4))).toMatchObject(
        order === 'desc' ? expected : expected.toReversed(),
      );
      expect(await walkItems(search(read, model, fields, heights), 50)).toHaveLength(expected.length);
      compared += expected.length;
    } catch (error) {
      // Only the last way rejects fields without an index.
      if (!(error instanceof TooMuchWorkError)) throw error;
    }
  }
  return compared;
}

const eventsOf = (seed: number): NodeEvent[] => [
  ...devnetEvents({ seed, blocks: 28, accounts: 8, transactionsPerBlock: 3, staking: 100, forkEvery: 4, forkDepth: 5 }),
];

test('lists by decoded values equal a filter over all of them, with blocks, forks and batches in any order', async () => {
  const seen = new Seen({ lists: 1 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.infiniteStream(fc.nat(1_000)), async (generated, numbers) => {
      const { events } = grown(generated);
      const draw = (below: number): number => (numbers.next().value ?? 0) % below;
      const start = draw(events.length + 1);
      using directory = ingestOf(events.slice(0, start).map(received));
      using open = openAt(directory.path, { valueIndexes: choices, valueIndexRows: 3 });
      for (const event of events.slice(start)) {
        if (draw(2) === 0) batchOf(open);
        open.ingest.receive(received(event));
      }
      using db = openToRead(indexPath(directory.path));
      seen.add('lists', await compareLists(db, draw, 4));
      buildAll(open);
      seen.add('lists', await compareLists(db, draw, 4));
      // The index depends only on the winning chain, not on the time of its request.
      using straight = openNew({ valueIndexes: choices });
      for (const event of winningChain(events)) straight.ingest.receive(received(event));
      buildAll(straight);
      expect(tables(directory.path).value_index_entries).toEqual(tables(straight.directory).value_index_entries!);
      expect(problemsIn(directory.path)).toEqual([]);
    }),
    { seen, cases: 1 },
  );
});

describe('of a chain', () => {
  const events = eventsOf(12);
  const pox = `${BOOT}.pox-5`;
  /** More than a block has, and less than the chain. */
  const FEW = 5;
  let open: OpenIngest;
  let db: Database;
  let read: Reader;
  /** Topic of the newest log. */
  let topic: string;

  beforeAll(() => {
    open = openNew({ valueIndexes: [], valueIndexRows: 7 });
    for (const event of events) open.ingest.apply(received(event));
    open.ingest.commit();
    db = openToRead(indexPath(open.directory));
    read = readerIn(db, { values: { ...VALUE_SEARCH_LIMITS, unindexed: FEW } });
    const logs = allOf(db).filter((row) => row.subject === 'logs' && row.contract === pox);
    const newest = decodedAt(logs[0]!, 'topic');
    topic = newest?.type === 'string-ascii' ? newest.value : '';
  });
  afterAll(() => {
    db.close();
    open[Symbol.dispose]();
  });

  const entries = () => tables(open.directory).value_index_entries ?? [];
  const searchBy = (path: string, ...texts: string[]) =>
    search(read, logsOf(pox), [field(path, ...texts)], ALL)(20, null);
  /** Opens the directory again, as another process would. */
  function reopen(options: Partial<IngestOptions>): void {
    open.ingest.close();
    Object.assign(open, openAt(open.directory, { valueIndexRows: 7, ...options }));
  }

  test('a search without an index is refused and names the setting, unless it reads few rows', async () => {
    await expect(searchBy('topic', topic)).rejects.toThrow(
      `field.topic is not indexed, and there are more than ${FEW} logs of ${pox} between these heights; give a narrower ` +
        `range by from_height and to_height, or have the operator start the server with --log-index ${pox}:topic`,
    );
    const calls = search(read, callsOf(pox), [field('stake.0', 'gte:1')], ALL);
    await expect(calls(20, null)).rejects.toThrow(`start the server with --call-index ${pox}:stake`);
    const [newest] = allOf(db).filter(({ subject, contract }) => subject === 'logs' && contract === pox);
    const height = Math.floor(newest!.position / PLACES);
    const items = await search(read, logsOf(pox), [field('topic', 'no such')], { from: height, to: null })(20, null);
    expect(items.items).toEqual([]);
  });

  test('an index under construction answers for its blocks, continues after a stop, and is then complete', async () => {
    reopen({ valueIndexes: [logsOf(pox, 'topic')] });
    await expect(searchBy('topic', topic)).rejects.toThrow(
      /is being made and has the blocks from height \d+ on; give from_height=/,
    );
    expect(entries()).toEqual([]);
    expect(batchOf(open)).toMatchObject({ ended: false });
    const before = entries();
    expect(before.length).toBeGreaterThan(0);
    // A batch whose transaction fails leaves nothing: neither entries nor its progress.
    const failure = new Error('the process ends here');
    const ended = open.ingest.local(() => {
      open.ingest.valueIndexes.batch();
      throw failure;
    });
    await expect(ended).rejects.toThrow(failure);
    expect(entries()).toEqual(before);
    reopen({ valueIndexes: [logsOf(pox, 'topic')] });
    const [partial] = open.ingest.valueIndexes.all();
    const height = Math.floor(partial!.from.position / PLACES) + 1;
    const some = await search(read, logsOf(pox), [field('topic', topic)], { from: height, to: null })(50, null);
    expect(buildAll(open)).toBeGreaterThan(1);
    const whole = await search(read, logsOf(pox), [field('topic', topic)], { from: height, to: null })(50, null);
    expect(whole.items).toEqual(some.items);
    const logs = allOf(db).filter((row) => row.subject === 'logs' && row.contract === pox);
    const stakes = logs.filter((row) => decodedAt(row, 'topic')?.bytes.toHex() === clarity.ascii(topic).toHex());
    expect(stakes.length).toBeGreaterThan(0);
    expect(await walkItems(search(read, logsOf(pox), [field('topic', topic)], ALL), 3)).toHaveLength(stakes.length);
    // Another field is in no index.
    await expect(searchBy('bond-index', '0')).rejects.toThrow(TooMuchWorkError);
    const both = [field('topic', topic), field('bond-index', '0')];
    await expect(search(read, logsOf(pox), both, ALL)(20, null)).rejects.toThrow('field.bond-index is not indexed');
    expect((await searchBy('topic', topic, 'eq:no such')).items).toEqual([]);
  });

  test('a rebuild leaves the indexes out, and the next start makes them again', () => {
    const before = entries();
    open.ingest.close();
    rebuildIndex({ directory: open.directory });
    reopen({});
    expect(open.ingest.valueIndexes.all()).toEqual([]);
    reopen({ valueIndexes: [logsOf(pox, 'topic')] });
    buildAll(open);
    expect(open.ingest.valueIndexes.all()).toMatchObject([{ wanted: true, from: { position: 0, eventIndex: 0 } }]);
    expect(entries()).toEqual(before);
    expect(problemsIn(open.directory, { deep: silentMachine })).toEqual([]);
    db.close();
    db = openToRead(indexPath(open.directory));
    read = readerIn(db, { values: { ...VALUE_SEARCH_LIMITS, unindexed: FEW } });
  });

  test('a check finds an entry that is changed, one that is missing and one too many', () => {
    const problems = (statement: string): string[] => {
      open.ingest.close();
      using directory = copyOf({ path: open.directory });
      {
        using copy = new Database(indexPath(directory.path));
        copy.run(statement);
      }
      reopen({});
      return problemsIn(directory.path);
    };
    const first = '(index_id, path, value, position, event_index) IN (SELECT * FROM value_index_entries LIMIT 1)';
    expect(problems(`UPDATE value_index_entries SET value = 'sother' WHERE ${first}`)).toHaveLength(1);
    expect(problems(`DELETE FROM value_index_entries WHERE ${first}`)).toHaveLength(2);
    expect(problems("INSERT INTO value_index_entries VALUES (1, 'topic', 'sx', 3, 0)")).toHaveLength(1);
    expect(problems("INSERT INTO value_index_entries VALUES (77, 'topic', 'sx', 3, 0)")).toHaveLength(1);
  });

  test('an index that is no longer configured is removed, and starts again if it is configured again', async () => {
    const before = entries();
    reopen({ valueIndexes: [] });
    await expect(searchBy('topic', topic)).rejects.toThrow(/is not indexed/);
    expect(batchOf(open)).toMatchObject({ ended: false, index: { wanted: false } });
    reopen({ valueIndexes: [logsOf(pox, 'topic')] });
    expect(open.ingest.valueIndexes.all().map(({ wanted }) => wanted)).toEqual([false, true]);
    buildAll(open);
    const withoutId = (rows: readonly string[]) => rows.map((row) => row.replace(/^index_id=\d+ /, '')).sort();
    expect(withoutId(entries())).toEqual(withoutId(before));
    expect(open.ingest.valueIndexes.all()).toHaveLength(1);
    reopen({ valueIndexes: [] });
    buildAll(open);
    expect(entries()).toEqual([]);
    expect(open.ingest.valueIndexes.all()).toEqual([]);
  });
});

const PRINTER = `${alice.address}.printer`;

/** Returns a block in which a contract prints values. */
function minePrints(parent: MadeBlock | null, label: string, values: readonly Uint8Array[]): MadeBlock {
  const transaction = deployment(alice, 0, 180, 'printer');
  const events = values.map((value, index) => printEvent(transaction.id, index, PRINTER, value));
  return block(parent, label, [receipt(transaction, 0)], { events });
}

test("a contract that doesn't exist yet is indexed from its first log, with any printed value", async () => {
  const nest = (depth: number): Uint8Array => (depth === 0 ? clarity.uint(1) : clarity.tuple({ a: nest(depth - 1) }));
  const twice = Uint8Array.of(
    ...[0x0c, 0, 0, 0, 2],
    ...[3, 0x61, 0x2e, 0x62, ...clarity.uint(1)],
    ...[1, 0x61, ...clarity.tuple({ b: clarity.uint(2) })],
  );
  const printed = [
    clarity.buffer(new Uint8Array(100_000)),
    nest(60),
    clarity.tuple(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`f${n}`, clarity.uint(n)]))),
    clarity.tuple({ ['n'.repeat(128)]: clarity.tuple({ ['m'.repeat(128)]: clarity.int(-7) }) }),
    Uint8Array.of(0xff),
    new Uint8Array(0),
    twice,
    clarity.ok(clarity.tuple({ amount: clarity.some(clarity.uint(2n ** 128n - 1n)), zero: clarity.ascii('a\0b') })),
  ];
  const first = block(null, 'empty');
  const second = minePrints(first, 'printing', printed);
  const [rival, longer] = [block(first, 'rival'), block(block(first, 'rival'), 'longer')];
  using open = openNew({ valueIndexes: [logsOf(PRINTER), callsOf(PRINTER)] });
  open.ingest.receive(first.event);
  expect(buildAll(open)).toBe(2);
  open.ingest.receive(second.event);
  using db = openToRead(indexPath(open.directory));
  const read = readerIn(db, { values: { ...VALUE_SEARCH_LIMITS, unindexed: 0 } });
  const find = async (path: string, text: string) =>
    (await search(read, logsOf(PRINTER), [field(path, text)], ALL)(50, null)).items.map(({ eventIndex }) => eventIndex);
  open.ingest.publish();
  expect(await find('', toHex(printed[0]!))).toEqual([0]);
  expect(await find('', toHex(clarity.buffer(new Uint8Array(99_999))))).toEqual([]);
  expect(await find(Array.from({ length: 60 }, () => 'a').join('.'), '1')).toEqual([1]);
  expect(await find('f1', 'u1')).toEqual([2]);
  expect(await find(`${'n'.repeat(128)}.${'m'.repeat(128)}`, 'lt:0')).toEqual([3]);
  expect(await find('a.b', 'gte:0')).toEqual([6]);
  expect(await find('amount', `gte:${2n ** 127n}`)).toEqual([7]);
  expect(await find('zero', 'a\0b')).toEqual([7]);
  expect(await find('zero', 'a')).toEqual([]);
  for (const path of ['amoun', 'amount.x', 'n', '__proto__', "'; DROP TABLE blocks; --", '*', '%']) {
    expect(await find(path, 'gte:0')).toEqual([]);
  }
  expect(problemsIn(open.directory)).toEqual([]);
  open.ingest.receive(rival.event);
  open.ingest.receive(longer.event);
  open.ingest.publish();
  expect(tables(open.directory).value_index_entries).toEqual([]);
  expect(await find('amount', 'gte:0')).toEqual([]);
});

/** Returns blocks in which a contract prints each block's height. */
function heightsPrinted(labels: readonly string[], parent: MadeBlock | null): MadeBlock[] {
  const blocks: MadeBlock[] = [];
  for (const label of labels) {
    const below = blocks.at(-1) ?? parent;
    blocks.push(minePrints(below, label, [clarity.tuple({ at: clarity.uint((below?.height ?? 0) + 1) })]));
  }
  return blocks;
}

test('a fork below an unfinished index changes its rows, and leaves the rest to the batches', () => {
  const old = heightsPrinted(['1', '2', '3', '4', '5'], null);
  const young = heightsPrinted(["3'", "4'", "5'", "6'"], old[1]!);
  using open = openNew({ valueIndexes: [] });
  for (const { event } of old) open.ingest.receive(event);
  open.ingest.close();
  Object.assign(open, openAt(open.directory, { valueIndexes: [logsOf(PRINTER)], valueIndexRows: 1 }));
  const heights = () =>
    (tables(open.directory).value_index_entries ?? []).map((row) => /value="nA(\d)"/.exec(row)?.[1]);
  expect([batchOf(open)?.ended, batchOf(open)?.ended]).toEqual([false, false]);
  expect(heights()).toEqual(['4', '5']);
  for (const { event } of young) open.ingest.receive(event);
  open.ingest.publish();
  expect(heights()).toEqual(['4', '5', '6']);
  expect(problemsIn(open.directory)).toEqual([]);
  buildAll(open);
  expect(heights()).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(problemsIn(open.directory)).toEqual([]);
});

test('a page continues from its cursor even if a fork removed the items around it', async () => {
  const old = heightsPrinted(['1', '2', '3', '4', '5'], null);
  const young = heightsPrinted(["4'", "5'", "6'"], old[2]!);
  using open = openNew({ valueIndexes: [logsOf(PRINTER)] });
  buildAll(open);
  for (const { event } of old) open.ingest.receive(event);
  using db = openToRead(indexPath(open.directory));
  const read = readerIn(db, { values: { ...VALUE_SEARCH_LIMITS, unindexed: 0 } });
  for (const condition of ['gte:1', 'lte:100']) {
    const page = search(read, logsOf(PRINTER), [field('at', condition)], ALL);
    const heights = ({ items }: Page<FoundItem, number | null>) => items.map(({ height }) => height);
    const first = await page(2, null);
    for (const { event } of young) open.ingest.receive(event);
    expect(heights(first)).toEqual(condition === 'gte:1' ? [5, 4] : [6, 5]);
    expect(heights(await page(2, first.next))).toEqual(condition === 'gte:1' ? [3, 2] : [4, 3]);
    expect(heights(await page(9, null))).toEqual([6, 5, 4, 3, 2, 1]);
    const second = await page(2, first.next);
    expect(heights(await page(5, second.previous))).toEqual(condition === 'gte:1' ? [6, 5, 4] : [6, 5]);
  }
});

describe('the task that builds indexes while events arrive', () => {
  const RETRY_MS = 1_000;
  const index = (wanted: boolean): ValueIndex => ({
    id: 1,
    subject: 'logs',
    contract: 'SP000000000000000000002Q6VF78.pool',
    scope: 'amount',
    wanted,
    from: { position: 0, eventIndex: 0 },
  });

  /** Starts a task with the given batches. @param fails errors to throw, by the number of the write */
  function startTask(batches: { wanted: boolean; ended: boolean }[], fails: Record<number, Error> = {}) {
    const clock = heldClock([RETRY_MS]);
    const logged: ValueIndexEvent[] = [];
    let [batchesDone, writes] = [0, 0];
    const write: LocalWrite = async (change) => {
      const doneBefore = batchesDone;
      const error = fails[writes++];
      const result = change();
      if (error === undefined) return result;
      // A rolled-back transaction has no effect.
      batchesDone = doneBefore;
      throw error;
    };
    const indexing = startValueIndexing({
      write,
      batch() {
        const next = batches[batchesDone];
        if (next === undefined) return null;
        batchesDone += 1;
        return { index: index(next.wanted), ended: next.ended };
      },
      clock,
      log: (event) => logged.push(event),
    });
    return { clock, said: logged, stop: () => indexing.stop(), made: () => batchesDone };
  }

  const named = { of: 'logs', contract: 'SP000000000000000000002Q6VF78.pool', field: 'amount' } as const;
  const complete = { event: 'value_index_changed', state: 'complete', ...named } as const;
  const removed = { event: 'value_index_changed', state: 'removed', ...named } as const;

  test('batches are applied until none remains, and finished indexes are reported', async () => {
    const task = startTask([
      { wanted: false, ended: true },
      { wanted: true, ended: false },
      { wanted: true, ended: true },
    ]);
    await until(() => task.said.length === 2);
    expect(task.said).toEqual([removed, complete]);
    await task.stop();
  });

  test('if the database is unavailable, nothing is reported, and the work continues a second later', async () => {
    const unavailable = new StoreUnavailableError('full', 'the disk is full');
    const task = startTask([{ wanted: true, ended: true }], { 0: unavailable, 1: unavailable });
    for (const _ of [1, 2]) {
      await until(() => task.clock.waiting(RETRY_MS) === 1);
      expect(task.said).toEqual([]);
      task.clock.pass(RETRY_MS);
    }
    await until(() => task.said.length === 1);
    expect(task.said).toEqual([complete]);
    await task.stop();
  });

  test('a bug ends the work and is reported; a stop ends the waiting', async () => {
    const bug = new Error('a bug');
    const task = startTask([{ wanted: true, ended: true }], { 0: bug });
    await until(() => task.said.length === 1);
    expect(task.said).toEqual([{ event: 'unexpected_error', part: 'value_index', cause: bug }]);
    await task.stop();
    const waiting = startTask([{ wanted: true, ended: true }], {
      0: new StoreUnavailableError('full', 'the disk is full'),
    });
    await until(() => waiting.clock.waiting(RETRY_MS) === 1);
    await waiting.stop();
    expect(waiting.clock.waiting(RETRY_MS)).toBe(0);
  });
});
