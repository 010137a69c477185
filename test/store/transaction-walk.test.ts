/** Transactions by any conditions, walked page by page in both directions, against a plain filter over the whole chain. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { indexPath } from '../../src/store/files/database.ts';
import type { Cursor, ListOrder, Page } from '../../src/store/model/page.ts';
import type {
  PendingConditions,
  TransactionConditions,
  TransactionSummary,
} from '../../src/store/model/transaction.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { NO_CONDITIONS } from '../support/data/transaction-conditions.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';
import { walkPages } from './walk.ts';

let directory: DataDirectory;
let snapshots: Snapshots;
/** Newest first, with the principals that take part in each. */
let walkable: { transaction: TransactionSummary; principals: Set<string> }[];
beforeAll(async () => {
  directory = ingestOf(simulatedEvents({ seed: 8, blocks: 60, transactionsPerBlock: 8, forkEvery: 15 }));
  snapshots = openSnapshots(directory.path, { limits: { walkRows: 40 } });
  using db = new Database(indexPath(directory.path), { readonly: true });
  const takesPart = db
    .query<{ tx_id: Uint8Array; address: string }, []>(
      `SELECT t.tx_id, p.address FROM principal_transactions q JOIN transactions t ON t.position = q.position
         JOIN principals p ON p.id = q.principal_id`,
    )
    .all();
  const principalsOf = Map.groupBy(takesPart, ({ tx_id }) => tx_id.toHex());
  const { items } = snapshots.read((reader) => reader.transactions.page(5_000, null, models));
  walkable = items.map((transaction) => ({
    transaction,
    principals: new Set(principalsOf.get(transaction.txId.toHex())?.map(({ address }) => address)),
  }));
  expect(walkable.length).toBeGreaterThan(300);
});
afterAll(() => {
  snapshots.close();
  directory[Symbol.dispose]();
});

function meets({ transaction, principals }: (typeof walkable)[number], conditions: TransactionConditions): boolean {
  const { payload, status, sender, block } = transaction;
  const paid = payload.type === 'token_transfer' ? payload : null;
  const called = payload.type === 'contract_call' ? payload : null;
  return (
    (conditions.types === null || conditions.types.includes(payload.type)) &&
    (conditions.statuses === null || conditions.statuses.includes(status)) &&
    (conditions.principal === null || principals.has(conditions.principal)) &&
    (conditions.sender === null || sender.address === conditions.sender) &&
    (conditions.recipient === null || paid?.recipient === conditions.recipient) &&
    (conditions.contract === null || called?.contractId === conditions.contract) &&
    (conditions.functionName === null || called?.functionName === conditions.functionName) &&
    (conditions.leastAmount === null || (paid !== null && BigInt(paid.amount) >= conditions.leastAmount)) &&
    (conditions.greatestAmount === null || (paid !== null && BigInt(paid.amount) <= conditions.greatestAmount)) &&
    (conditions.since === null || block.time >= conditions.since) &&
    (conditions.until === null || block.time <= conditions.until) &&
    (conditions.from === null || block.height >= conditions.from) &&
    (conditions.to === null || block.height <= conditions.to)
  );
}

type Parties = Pick<TransactionSummary, 'payload' | 'sender'>;
type ReadPage = (limit: number, cursor: Cursor | null) => Page<{ txId: Uint8Array }, number | null>;

const readMined =
  (conditions: TransactionConditions, order: ListOrder = 'desc'): ReadPage =>
  (limit, cursor) =>
    snapshots.read((reader) => reader.transactions.meeting(conditions, order, limit, cursor, models));
const ids = (items: readonly { txId: Uint8Array }[]): string[] => items.map(({ txId }) => txId.toHex());

/** Walks a list. @returns the ids of each page */
const walk = async (read: ReadPage, limit: number): Promise<string[][]> =>
  (await walkPages(read, limit)).map((page) => ids(page.items));

/** A value of a transaction of the chain, or null. */
const orNull = <T>(arbitrary: fc.Arbitrary<T | null>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { freq: 2, nil: null });
const ofSome = <T>(value: (transaction: TransactionSummary) => T | null): fc.Arbitrary<T | null> =>
  orNull(fc.nat({ max: 10_000 }).map((nth) => value(walkable[nth % walkable.length]!.transaction)));
/** Conditions on the sender and the payload. @param draw draws a value of a transaction */
const payloadConditions = (draw: <T>(value: (of: Parties) => T | null) => fc.Arbitrary<T | null>) => ({
  sender: draw(({ sender }) => sender.address),
  recipient: draw(({ payload }) => (payload.type === 'token_transfer' ? payload.recipient : null)),
  contract: draw(({ payload }) => (payload.type === 'contract_call' ? payload.contractId : null)),
  functionName: draw(({ payload }) => (payload.type === 'contract_call' ? payload.functionName : null)),
  leastAmount: draw(({ payload }) => (payload.type === 'token_transfer' ? BigInt(payload.amount) : null)),
  greatestAmount: draw(({ payload }) => (payload.type === 'token_transfer' ? BigInt(payload.amount) : null)),
});
const conditions: fc.Arbitrary<TransactionConditions> = fc.record({
  types: ofSome(({ payload }) => [payload.type]).chain((types) =>
    ofSome(({ payload }) => types && [...types, payload.type]),
  ),
  statuses: ofSome(({ status }) => [status]),
  principal: ofSome(({ payload, sender }) => (payload.type === 'token_transfer' ? payload.recipient : sender.address)),
  ...payloadConditions(ofSome),
  since: ofSome(({ block }) => block.time),
  until: ofSome(({ block }) => block.time),
  from: ofSome(({ block }) => block.height),
  to: ofSome(({ block }) => block.height),
});
/** Few conditions at a time, so that some transactions meet them. */
const some = fc
  .tuple(conditions, fc.subarray(Object.keys(NO_CONDITIONS) as (keyof TransactionConditions)[], { maxLength: 3 }))
  .map(([drawn, names]) => ({ ...NO_CONDITIONS, ...Object.fromEntries(names.map((name) => [name, drawn[name]])) }));

test('pages of any conditions have the matching transactions in chain order, in both directions', async () => {
  const seen = new Seen({ found: 7, short: 3 });
  await assertProperty(
    fc.asyncProperty(some, fc.integer({ min: 1, max: 30 }), async (conditions, limit) => {
      const expected = ids(walkable.filter((entry) => meets(entry, conditions)).map(({ transaction }) => transaction));
      const pages = await walk(readMined(conditions), limit);
      expect(pages.flat()).toEqual(expected);
      expect((await walk(readMined(conditions, 'asc'), limit)).flat()).toEqual(expected.toReversed());
      if (expected.length > 0) seen.add('found', 1);
      if (pages.slice(0, -1).some((page) => page.length < limit)) seen.add('short', 1);
    }),
    // With this seed, two rounds of cases meet every situation.
    { cases: 8, seen, seed: firstSeed + 11 },
  );
});

test('an unknown principal, function or type returns no page', async () => {
  const sender = 'ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G';
  for (const conditions of [{ sender }, { functionName: 'nobody-has-it' }, { types: ['poison_microblock' as const] }]) {
    const { items, next, previous } = readMined({ ...NO_CONDITIONS, ...conditions })(10, null);
    expect([items, next, previous]).toEqual([[], null, null]);
  }
});

test('pages of the mempool are in order by fee and by age', async () => {
  const narrow = openSnapshots(directory.path, { limits: { walkRows: 4 } });
  using closing = new DisposableStack();
  closing.defer(narrow.close);
  const { items } = narrow.read((reader) => reader.mempool.page(5_000, null, models));
  expect(items.length).toBeGreaterThan(8);
  const nth = <T>(value: (transaction: (typeof items)[number]) => T | null) =>
    fc.option(
      fc.nat(10_000).map((index) => value(items[index % items.length]!)),
      { freq: 1, nil: null },
    );
  const pendingConditions = fc.record<PendingConditions>({
    types: nth(({ payload }) => [payload.type]),
    ...payloadConditions(nth),
  });
  const unset = { types: null, sender: null, recipient: null, contract: null, functionName: null };
  const conditions = fc
    .tuple(pendingConditions, fc.subarray(Object.keys(unset) as (keyof PendingConditions)[], { maxLength: 2 }))
    .map(([drawn, names]) => ({
      ...unset,
      leastAmount: null,
      greatestAmount: null,
      ...Object.fromEntries(names.map((name) => [name, drawn[name]])),
    }));
  const orders = {
    fee: (a: (typeof items)[number], b: (typeof items)[number]) =>
      Number(BigInt(b.fee) - BigInt(a.fee)) || Buffer.compare(b.txId, a.txId),
    // The list of v3 has this order.
    age: () => 0,
  };
  const seen = new Seen({ found: 3 });
  await assertProperty(
    fc.asyncProperty(
      conditions,
      fc.constantFrom('fee' as const, 'age' as const),
      fc.integer({ min: 1, max: 9 }),
      async (filter, order, limit) => {
        const meeting = items
          .filter((transaction) =>
            meets(
              { transaction: { ...transaction, status: 'success' } as never, principals: new Set() },
              { ...NO_CONDITIONS, ...filter },
            ),
          )
          .sort(orders[order]);
        const pages = await walk(
          (max, cursor) => narrow.read((reader) => reader.mempool.meeting(filter, order, max, cursor)),
          limit,
        );
        expect(pages.flat()).toEqual(ids(meeting));
        if (meeting.length > 0) seen.add('found', 1);
      },
    ),
    { cases: 5, seen },
  );
});
