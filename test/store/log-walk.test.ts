/**
 * Logs of several contracts: every list equals a filter over all logs of the chain, whatever forks the chain had, and
 * whichever way its pages are read.
 */
import type { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ClarityValue, decodeClarity } from '../../src/codec/clarity.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { conditionOf } from '../../src/codec/value-condition.ts';
import { type Connection, openToRead } from '../../src/store/files/connection.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { FieldFilter, LoggingContracts, LogsFilter, ValueIndexChoice } from '../../src/store/model/contract.ts';
import type { Cursor, Page } from '../../src/store/model/page.ts';
import { LOG_WALK_LIMITS, type LogWalkLimits } from '../../src/store/queries/contracts/log-walk.ts';
import { ingestOf, type OpenIngest, openAt, openNew, received } from '../support/data/ingest.ts';
import { readerIn } from '../support/data/memory-index.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { alice, block, bob, call, type MadeBlock, printEvent, receipt, transfer } from '../support/events/handmade.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';
import { batchOf, leaves } from './decoded-values.ts';
import { walkItems, walkPages } from './walk.ts';

const BOOT = 'ST000000000000000000002AMW42H';
const PLACES = 2 ** 20;

const indexed: ValueIndexChoice[] = [
  { subject: 'logs', contract: `${BOOT}.pox-5`, scope: '' },
  { subject: 'logs', contract: `${BOOT}.bns`, scope: 'action' },
];

/** A log, as the plain filter sees it. */
interface Plain {
  contract: string;
  position: number;
  eventIndex: number;
  txId: Uint8Array;
  topic: string;
  sender: string;
  functionName: string | null;
  value: Uint8Array;
}

/** Opens the index. Such a connection compiles only the statements that a test uses. */
const indexOf = ({ directory }: Pick<OpenIngest, 'directory'>): Connection => openToRead(indexPath(directory));

/** All logs, newest first. */
const allOf = (db: Database): Plain[] =>
  db
    .query<Plain, []>(
      `SELECT p.address AS contract, e.position, e.event_index AS eventIndex, t.tx_id AS txId, e.topic, s.address AS sender,
              iif(t.type = 2, t.function_name, NULL) AS functionName, e.value
         FROM events e JOIN principals p ON p.id = e.contract_id JOIN transactions t ON t.position = e.position
         JOIN principals s ON s.id = t.sender_id
        WHERE e.kind = 1 ORDER BY e.position DESC, e.event_index DESC`,
    )
    .all();

function leavesOf({ value }: Plain): [path: string, value: ClarityValue][] {
  const decoded = decodeClarity(value);
  return decoded.ok ? [...leaves(decoded.value)] : [];
}

type Draw = (below: number) => number;

/** A condition on a field that a log meets, and whether another log does. */
interface DrawnCondition {
  field: FieldFilter;
  holds: (log: Plain) => boolean;
}

const fieldOf = (path: string, text: string): FieldFilter => ({
  path,
  named: `field.${path}`,
  conditions: [conditionOf(text)],
});

function drawnField(model: Plain, draw: Draw): DrawnCondition | null {
  const leafList = leavesOf(model);
  const [path, value] = leafList[draw(Math.max(1, leafList.length))] ?? [];
  if (path === undefined || value === undefined) return null;
  const fieldOfLog = (log: Plain): ClarityValue | undefined => leavesOf(log).find(([name]) => name === path)?.[1];
  if ((value.type === 'int' || value.type === 'uint') && draw(2) === 0) {
    const minimum = value.value;
    return {
      field: fieldOf(path, `gte:${minimum}`),
      holds(log) {
        const value = fieldOfLog(log);
        return (value?.type === 'int' || value?.type === 'uint') && value.value >= minimum;
      },
    };
  }
  const hex = toHex(value.bytes);
  return {
    field: fieldOf(path, hex),
    holds(log) {
      const value = fieldOfLog(log);
      return value !== undefined && toHex(value.bytes) === hex;
    },
  };
}

interface Listed {
  contractId: string;
  height: number;
  eventIndex: number;
  value: Uint8Array;
}
const toListed = (log: Plain): Listed => ({
  contractId: log.contract,
  height: Math.floor(log.position / PLACES),
  eventIndex: log.eventIndex,
  value: log.value,
});

type ReadPage = (limit: number, cursor: Cursor | null) => Promise<Page<Listed, number | null>>;

const NOBODY = 'ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G';

/** Limits that select each access path, and that end pages before their limit. */
const limits: Partial<LogWalkLimits>[] = [
  {},
  { rows: 3 },
  { merged: 1, rows: 20 },
  { principals: 3 },
  { principals: 3, rows: 2 },
  { rows: 1 },
];

/** Compares lists of drawn conditions with a filter over all logs. */
async function compareLists(db: Database, draw: Draw, lists: number, seen: Seen): Promise<void> {
  const logs = allOf(db);
  const contracts = [...new Set(logs.map(({ contract }) => contract)), `${NOBODY}.nothing`];
  for (let n = 0; n < lists && logs.length > 0; n++) {
    const model = logs[draw(logs.length)]!;
    const [deployer = ''] = model.contract.split('.');
    const some = [model.contract, contracts[draw(contracts.length)]!, contracts[draw(contracts.length)]!];
    const source: LoggingContracts = draw(2) === 0 ? { deployer } : { contracts: [...new Set(some)] };
    const condition = draw(3) === 0 ? drawnField(model, draw) : null;
    const sender = draw(3) === 0 ? model.sender : null;
    const functionName = draw(3) === 0 ? model.functionName : null;
    const topic = [null, null, model.topic, 'unheard-of'][draw(4)]!;
    const height = Math.floor(model.position / PLACES);
    const heights = [
      { from: null, to: null },
      { from: height, to: null },
      { from: null, to: height },
      { from: height - 2, to: height + 2 },
    ][draw(4)]!;
    const expected = logs
      .filter(({ contract }) =>
        'deployer' in source ? contract.split('.')[0] === source.deployer : source.contracts.includes(contract),
      )
      .filter(
        (log) => (condition?.holds(log) ?? true) && sender === (sender && log.sender) && topic === (topic && log.topic),
      )
      .filter((log) => functionName === (functionName && log.functionName))
      .filter(({ position }) => position >= (heights.from ?? 0) * PLACES)
      .filter(({ position }) => heights.to === null || position < (heights.to + 1) * PLACES)
      .map(toListed);
    const order = draw(2) === 0 ? 'asc' : 'desc';
    const fields = condition === null ? [] : [condition.field];
    const filter: LogsFilter = { contracts: source, topic, sender, functionName, heights, fields, order };
    const reader = readerIn(db, { logs: limits[draw(limits.length)]! });
    const read: ReadPage = (limit, cursor) => reader.contracts.walkLogs(filter, limit, cursor);
    const limit = 1 + draw(5);
    const pages = await walkPages(read, limit);
    const items = pages.flatMap((page) => page.items);
    expect(items).toMatchObject(order === 'asc' ? expected.toReversed() : expected);
    expect(items).toHaveLength(expected.length);
    if (expected.length > 0) {
      seen.add('deployer' in source ? 'of a deployer' : 'of contracts');
      if (condition !== null) seen.add('by a field');
      if (sender !== null) seen.add('by sender');
      if (functionName !== null) seen.add('by function');
    }
    if (pages.slice(0, -1).some((page) => page.items.length < limit)) seen.add('short pages');
  }
}

test('lists equal a filter over all logs, in both orders, with blocks, forks and indexes of values in any order', async () => {
  const minimums = { 'of a deployer': 3, 'of contracts': 3, 'by a field': 1, 'by sender': 1, 'by function': 1 };
  const seen = new Seen({ ...minimums, 'short pages': 2 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.infiniteStream(fc.nat(10_000)), async (generated, numbers) => {
      const { events } = grown(generated);
      const draw: Draw = (below) => (numbers.next().value ?? 0) % below;
      const start = draw(events.length + 1);
      using directory = ingestOf(events.slice(0, start).map(received));
      using open = openAt(directory.path, { valueIndexes: indexed, valueIndexRows: 3 });
      using db = indexOf(open);
      for (const event of events.slice(start)) {
        if (draw(2) === 0) batchOf(open);
        open.ingest.receive(received(event));
        if (draw(8) === 0) await compareLists(db, draw, 1, seen);
      }
      await compareLists(db, draw, 12, seen);
    }),
    { seen, cases: 2 },
  );
});

const EVERYTHING: LogsFilter = {
  contracts: { deployer: alice.address },
  topic: null,
  sender: null,
  functionName: null,
  order: 'desc',
  heights: { from: null, to: null },
  fields: [],
};

/** Key of a log with its place in the chain, because a fork may move the log. */
const keyOf = ({ position, eventIndex, txId }: Plain): string => `${position}/${eventIndex}/${toHex(txId)}`;

test('a walk in short pages repeats nothing and leaves out nothing that stays, while blocks and forks arrive', async () => {
  const seen = new Seen({ 'walks to the end': 4, 'logs that stayed': 5, 'logs that left': 1 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.infiniteStream(fc.nat(10_000)), async (generated, numbers) => {
      const { events } = grown(generated);
      const draw: Draw = (below) => (numbers.next().value ?? 0) % below;
      const start = Math.floor(events.length / 2);
      using open = openNew();
      for (const event of events.slice(0, start)) open.ingest.receive(received(event));
      using db = indexOf(open);
      const { walkLogs } = readerIn(db, { logs: { rows: 2, principals: [3, 20_000][draw(2)]! } }).contracts;
      const order = draw(2) === 0 ? ('asc' as const) : ('desc' as const);
      const filter: LogsFilter = { ...EVERYTHING, contracts: { deployer: BOOT }, topic: 'print', order };
      const inList = () => allOf(db).filter(({ contract }) => contract.startsWith(`${BOOT}.`));
      let [cursor, keys, staying]: [Cursor | null, string[], Set<string>] = [null, [], new Set(inList().map(keyOf))];
      const coming = events.slice(start);
      const before = staying.size;
      for (let isOver = false; !isOver; ) {
        const page = await walkLogs(filter, 1 + draw(3), cursor);
        const logs = inList();
        for (const { txId, eventIndex } of page.items) {
          const log = logs.find((item) => item.eventIndex === eventIndex && toHex(item.txId) === toHex(txId));
          keys.push(keyOf(log!));
        }
        cursor = page.next;
        isOver = cursor === null;
        const event = coming.shift();
        if (event === undefined) continue;
        open.ingest.receive(received(event));
        const now = new Set(inList().map(keyOf));
        staying = new Set([...staying].filter((key) => now.has(key)));
      }
      expect([...staying].filter((key) => !keys.includes(key))).toEqual([]);
      expect(keys.length - new Set(keys).size).toBe(0);
      seen.add('walks to the end');
      seen.add('logs that stayed', staying.size);
      seen.add('logs that left', before - staying.size);
    }),
    // With this seed, one round of cases meets every situation.
    { seen, cases: 4, seed: firstSeed + 5 },
  );
});

/** A log of a handmade transaction: the name of alice's contract, and the printed value. */
type Printed = readonly [name: string, value: Uint8Array];

/** Returns a chain with one transaction per block and these logs. Alice sends it unless the list names bob. */
function chainOf(
  blocks: readonly { by?: typeof bob; logs: readonly Printed[] }[],
  valueIndexes: ValueIndexChoice[] = [],
) {
  const open: OpenIngest = openNew({ valueIndexes });
  let parent: MadeBlock | null = null;
  for (const [nth, { by = alice, logs }] of blocks.entries()) {
    const transaction = transfer(by, nth, 300);
    const events = logs.map(([name, value], index) => printEvent(transaction.id, index, idOf(name), value));
    parent = block(parent, `${nth}`, [receipt(transaction, 0)], { events });
    open.ingest.receive(parent.event);
  }
  return open;
}

const idOf = (name: string): string => `${alice.address}.${name}`;

test('a deployer may have any number of contracts', async () => {
  const { merged } = LOG_WALK_LIMITS;
  const [names, value] = [Array.from({ length: merged }, (_, n) => `made-${n}`), clarity.uint(1n)];
  using open = chainOf([
    { logs: names.map((name) => [name, value]) },
    { logs: names.toReversed().map((name) => [name, value]) },
  ]);
  using db = indexOf(open);
  const expected = allOf(db).map(toListed);
  expect(expected).toHaveLength(2 * merged);
  for (const limits of [{}, { merged: merged - 1 }, { principals: merged - 1 }]) {
    const { contracts } = readerIn(db, { logs: limits });
    for (const order of ['desc', 'asc'] as const) {
      const read: ReadPage = (limit, cursor) => contracts.walkLogs({ ...EVERYTHING, order }, limit, cursor);
      const items = await walkItems(read, 500);
      expect(items).toMatchObject(order === 'desc' ? expected : expected.toReversed());
    }
    const { total } = await contracts.walkLogs(EVERYTHING, 1, null);
    expect(total).toBe('merged' in limits || 'principals' in limits ? null : 2 * merged);
  }
});

test("a prefix of a deployer's address finds no contracts", async () => {
  using open = chainOf([{ logs: [['pool', clarity.none()]] }]);
  using db = indexOf(open);
  for (const limits of [{}, { merged: 0 }]) {
    const { walkLogs } = readerIn(db, { logs: limits }).contracts;
    const countListed = async (source: LoggingContracts) =>
      (await walkLogs({ ...EVERYTHING, contracts: source }, 5, null)).items.length;
    expect(await countListed({ deployer: alice.address })).toBe(1);
    expect(await countListed({ deployer: alice.address.slice(0, -1) })).toBe(0);
    expect(await countListed({ deployer: bob.address })).toBe(0);
    expect(await countListed({ contracts: [idOf('poo'), idOf('pool-2')] })).toBe(0);
  }
});

test('a page reads as many logs as its limit, and the next one continues after them', async () => {
  const logs = Array.from({ length: 40 }, (_, n): Printed => [`c${n % 3}`, clarity.uint(BigInt(n))]);
  using open = chainOf([{ logs }]);
  using db = indexOf(open);
  const { walkLogs } = readerIn(db, { logs: { rows: 10 } }).contracts;
  const byTopic = { ...EVERYTHING, topic: 'unheard-of' };
  const pages = [await walkLogs(byTopic, 5, null)];
  for (let next = pages[0]!.next; next !== null; next = pages.at(-1)!.next)
    pages.push(await walkLogs(byTopic, 5, next));
  expect(pages.map(({ items, next }) => [items.length, next?.key[1]])).toEqual([
    [0, 29],
    [0, 19],
    [0, 9],
    [0, undefined],
  ]);
  // A log with a compared field counts as five.
  const byField = { ...EVERYTHING, fields: [fieldOf('', '37')] };
  const first = await walkLogs(byField, 5, null);
  const second = await walkLogs(byField, 5, first.next);
  expect([first.items, first.next?.key[1]]).toEqual([[], 37]);
  expect([second.items.map(({ eventIndex }) => eventIndex), second.next?.key[1]]).toEqual([[37], 35]);
  // A long value counts as more. If no field is compared, it isn't read.
  using longValues = chainOf([{ logs: logs.map(([name]) => [name, clarity.buffer(new Uint8Array(9 * 1_024))]) }]);
  using long = indexOf(longValues);
  const contracts = readerIn(long, { logs: { rows: 28 } }).contracts;
  expect((await contracts.walkLogs(byField, 5, null)).next?.key[1]).toBe(37);
  expect((await contracts.walkLogs(byTopic, 5, null)).next?.key[1]).toBe(11);
});

test('rare logs are on the first page by the index of their field, and by their sender', async () => {
  const logs = (n: number): Printed[] => [
    ['pool', clarity.tuple({ n: clarity.uint(BigInt(n)), m: clarity.uint(BigInt(n)) })],
    ['vault', clarity.tuple({ n: clarity.uint(BigInt(n)) })],
  ];
  const blocks = Array.from({ length: 30 }, (_, n) => ({ by: n === 3 ? bob : alice, logs: logs(n) }));
  using open = chainOf(blocks, [
    { subject: 'calls', contract: idOf('pool'), scope: '' },
    { subject: 'logs', contract: idOf('pool'), scope: '' },
    { subject: 'logs', contract: idOf('vault'), scope: 'n' },
  ]);
  while (batchOf(open) !== null);
  using db = indexOf(open);
  const { walkLogs } = readerIn(db, { logs: { rows: 25 } }).contracts;
  const firstOf = async (filter: Partial<LogsFilter>) => {
    const { items, next } = await walkLogs({ ...EVERYTHING, ...filter }, 5, null);
    return { found: items.map(({ contractId, height }) => [contractId, height]), isAll: next === null };
  };
  const both = ['vault', 'pool'].map((name) => [idOf(name), 4]);
  expect(await firstOf({ fields: [fieldOf('n', 'u3')] })).toEqual({ found: both, isAll: true });
  expect(await firstOf({ sender: bob.address })).toEqual({ found: both, isAll: true });
  const ofPool = { found: both.slice(1), isAll: true };
  expect(await firstOf({ sender: bob.address, fields: [fieldOf('m', '3')] })).toEqual(ofPool);
  // With an index of another field, or of only one contract, the other logs must still be read.
  expect(await firstOf({ fields: [fieldOf('m', '3')] })).toEqual({ found: [], isAll: false });
  expect(await firstOf({ contracts: { contracts: [idOf('pool')] }, fields: [fieldOf('m', '3')] })).toEqual(ofPool);
});

test("a walk over the logs of contracts finds only the sender's", async () => {
  const pool: Printed[] = [['pool', clarity.none()]];
  const blocks = [{ logs: pool }, { by: bob, logs: pool }, ...Array.from({ length: 9 }, () => ({ logs: [] }))];
  using open = chainOf(blocks);
  using db = indexOf(open);
  const { walkLogs } = readerIn(db).contracts;
  const heightsOf = async (sender: string) =>
    (await walkLogs({ ...EVERYTHING, sender }, 5, null)).items.map(({ height }) => height);
  // Alice signed more transactions than there are logs, Bob fewer.
  expect([await heightsOf(alice.address), await heightsOf(bob.address)]).toEqual([[1], [2]]);
});

test('rare logs are on the first page by the function that their transactions called', async () => {
  const print = (id: string, index: number) => printEvent(id, index, idOf('pool'), clarity.none());
  using open = openNew();
  let parent: MadeBlock | null = null;
  for (let n = 0; n < 30; n++) {
    const name = n === 3 ? 'claim' : 'move';
    const called = call(n === 4 ? bob : alice, n, 300, idOf('router'), name);
    parent = block(parent, `${n}`, [receipt(called, 0)], { events: [print(called.id, 0), print(called.id, 1)] });
    open.ingest.receive(parent.event);
  }
  using db = indexOf(open);
  const { walkLogs } = readerIn(db, { logs: { rows: 10 } }).contracts;
  const firstOf = async (filter: Partial<LogsFilter>) => {
    const { items, next, total } = await walkLogs({ ...EVERYTHING, ...filter }, 5, null);
    return [items.map(({ height, eventIndex }) => [height, eventIndex]), next === null, total];
  };
  const at = (height: number) => [1, 0].map((index) => [height, index]);
  const claimed = at(4);
  expect(await firstOf({ functionName: 'claim' })).toEqual([claimed, true, null]);
  expect(await firstOf({ functionName: 'claim', order: 'asc' })).toEqual([claimed.toReversed(), true, null]);
  expect(await firstOf({ functionName: 'claim', sender: bob.address })).toEqual([[], true, null]);
  expect(await firstOf({ functionName: 'move', sender: bob.address })).toEqual([at(5), true, null]);
  expect(await firstOf({ functionName: 'unheard-of' })).toEqual([[], true, null]);
});

test('a window has only rows inside it and no total, at any cursor', async () => {
  using open = chainOf(Array.from({ length: 6 }, () => ({ logs: [['pool', clarity.none()]] as const })));
  using db = indexOf(open);
  const { walkLogs } = readerIn(db).contracts;
  for (const sender of [null, alice.address]) {
    for (const order of ['desc', 'asc'] as const) {
      const filter = { ...EVERYTHING, sender, order, heights: { from: 2, to: 4 } };
      for (const height of [1, 6]) {
        for (const side of ['from', 'before'] as const) {
          const { items, total } = await walkLogs(filter, 9, { side, key: [height * PLACES, 0] });
          // A walk that leads away from the window finds nothing.
          const isTowards = (height === 6) === (order === 'desc') ? side === 'from' : side === 'before';
          const inside = order === 'desc' ? [4, 3, 2] : [2, 3, 4];
          expect([total, items.map((item) => item.height)]).toEqual([null, isTowards ? inside : []]);
        }
      }
    }
  }
});

test('an index of values is used only for the blocks that it has, while it is built and removed', async () => {
  const blocks = Array.from({ length: 12 }, (): { logs: Printed[] } => ({ logs: [['pool', clarity.uint(7n)]] }));
  using open = chainOf(blocks);
  using db = indexOf(open);
  const { walkLogs } = readerIn(db).contracts;
  const countFrom = async (from: number | null) =>
    (await walkLogs({ ...EVERYTHING, heights: { from, to: null }, fields: [fieldOf('', 'u7')] }, 50, null)).items
      .length;
  const reopen = (valueIndexes: ValueIndexChoice[]) => {
    open.ingest.close();
    Object.assign(open, openAt(open.directory, { valueIndexes, valueIndexRows: 2 }));
  };
  const check = async () => expect([await countFrom(null), await countFrom(9)]).toEqual([12, 4]);
  for (const choices of [[{ subject: 'logs', contract: idOf('pool'), scope: '' } as const], []]) {
    reopen(choices);
    let batches = 0;
    do await check();
    while (batchOf(open) !== null && ++batches);
    expect(batches).toBeGreaterThan(3);
  }
});
