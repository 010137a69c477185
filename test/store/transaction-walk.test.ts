/** Transactions by any conditions, walked page by page in both directions, against a plain filter over the whole chain. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { Page } from '../../src/store/model/page.ts';
import type { TransactionConditions, TransactionSummary } from '../../src/store/model/transaction.ts';
import { NO_CONDITIONS } from '../../src/store/queries/transactions/transaction-walk.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { assertProperty, Seen } from '../support/property.ts';

let directory: DataDirectory;
let snapshots: Snapshots;
/** Newest first, with the principals that take part in each. */
let all: { transaction: TransactionSummary; principals: Set<string> }[];
beforeAll(async () => {
  directory = ingestOf(
    [...devnetEvents({ seed: 8, blocks: 60, transactionsPerBlock: 8, forkEvery: 15 })].map(received),
  );
  snapshots = openSnapshots(directory.path, { limits: { walkRows: 40 } });
  using db = new Database(indexPath(directory.path), { readonly: true });
  const takesPart = db
    .query<{ tx_id: Uint8Array; address: string }, []>(
      `SELECT t.tx_id, p.address FROM principal_transactions q JOIN transactions t ON t.position = q.position
         JOIN principals p ON p.id = q.principal_id`,
    )
    .all();
  const principalsOf = Map.groupBy(takesPart, ({ tx_id }) => tx_id.toHex());
  const { items } = await snapshots.read((reader) => reader.transactions.page(5_000, null));
  all = items.map((transaction) => ({
    transaction,
    principals: new Set(principalsOf.get(transaction.txId.toHex())?.map(({ address }) => address)),
  }));
  expect(all.length).toBeGreaterThan(300);
});
afterAll(() => {
  snapshots.close();
  directory[Symbol.dispose]();
});

function meets({ transaction: of, principals }: (typeof all)[number], given: TransactionConditions): boolean {
  const { payload, status, sender, block } = of;
  const paid = payload.type === 'token_transfer' ? payload : null;
  const called = payload.type === 'contract_call' ? payload : null;
  return (
    (given.types === null || given.types.includes(payload.type)) &&
    (given.statuses === null || given.statuses.includes(status)) &&
    (given.principal === null || principals.has(given.principal)) &&
    (given.sender === null || sender.address === given.sender) &&
    (given.recipient === null || paid?.recipient === given.recipient) &&
    (given.contract === null || called?.contractId === given.contract) &&
    (given.functionName === null || called?.functionName === given.functionName) &&
    (given.leastAmount === null || (paid !== null && BigInt(paid.amount) >= given.leastAmount)) &&
    (given.greatestAmount === null || (paid !== null && BigInt(paid.amount) <= given.greatestAmount)) &&
    (given.since === null || block.time >= given.since) &&
    (given.until === null || block.time <= given.until)
  );
}

const read = (given: TransactionConditions, limit: number, at: Page<unknown, null>['next']) =>
  snapshots.read((reader: Reader) => reader.transactions.meeting(given, limit, at));
const ids = (items: readonly TransactionSummary[]): string[] => items.map(({ txId }) => txId.toHex());

/** All pages from the first to the last. @returns the ids of each page, and the last page */
async function walkDown(given: TransactionConditions, limit: number) {
  const pages: string[][] = [];
  let page = await read(given, limit, null);
  expect(page.previous).toBeNull();
  for (;;) {
    pages.push(ids(page.items));
    expect(page.items.length).toBeLessThanOrEqual(limit);
    if (page.next === null) return { pages, last: page };
    page = await read(given, limit, page.next);
  }
}

/** All pages before one, up to the first. */
async function walkUp(given: TransactionConditions, limit: number, from: Page<TransactionSummary, null>) {
  const pages: string[][] = [];
  for (let { previous } = from; previous !== null; ) {
    const page = await read(given, limit, previous);
    pages.unshift(ids(page.items));
    ({ previous } = page);
  }
  return pages;
}

/** A value of a transaction of the chain, or null. */
const orNull = <T>(arbitrary: fc.Arbitrary<T | null>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { freq: 2, nil: null });
const ofSome = <T>(value: (of: TransactionSummary) => T | null): fc.Arbitrary<T | null> =>
  orNull(fc.nat({ max: 10_000 }).map((nth) => value(all[nth % all.length]!.transaction)));
const conditions: fc.Arbitrary<TransactionConditions> = fc.record({
  types: ofSome(({ payload }) => [payload.type]).chain((one) => ofSome(({ payload }) => one && [...one, payload.type])),
  statuses: ofSome(({ status }) => [status]),
  principal: ofSome((of) => (of.payload.type === 'token_transfer' ? of.payload.recipient : of.sender.address)),
  sender: ofSome(({ sender }) => sender.address),
  recipient: ofSome(({ payload }) => (payload.type === 'token_transfer' ? payload.recipient : null)),
  contract: ofSome(({ payload }) => (payload.type === 'contract_call' ? payload.contractId : null)),
  functionName: ofSome(({ payload }) => (payload.type === 'contract_call' ? payload.functionName : null)),
  leastAmount: ofSome(({ payload }) => (payload.type === 'token_transfer' ? BigInt(payload.amount) : null)),
  greatestAmount: ofSome(({ payload }) => (payload.type === 'token_transfer' ? BigInt(payload.amount) : null)),
  since: ofSome(({ block }) => block.time),
  until: ofSome(({ block }) => block.time),
});
/** Few conditions at a time, so that something meets them. */
const some = fc
  .tuple(conditions, fc.subarray(Object.keys(NO_CONDITIONS) as (keyof TransactionConditions)[], { maxLength: 3 }))
  .map(([drawn, names]) => ({ ...NO_CONDITIONS, ...Object.fromEntries(names.map((name) => [name, drawn[name]])) }));

test('the pages of any conditions have what meets them, in the order of the chain, down and up again', async () => {
  const seen = new Seen({ found: 20, short: 10 });
  await assertProperty(
    fc.asyncProperty(some, fc.integer({ min: 1, max: 30 }), async (given, limit) => {
      const expected = ids(all.filter((one) => meets(one, given)).map(({ transaction }) => transaction));
      const { pages, last } = await walkDown(given, limit);
      expect(pages.flat()).toEqual(expected);
      const up = await walkUp(given, limit, last);
      expect([...up.flat(), ...ids(last.items)]).toEqual(expected);
      if (expected.length > 0) seen.add('found', 1);
      if (pages.slice(0, -1).some((page) => page.length < limit)) seen.add('short', 1);
    }),
    { cases: 60, seen },
  );
});

test('an unknown principal, function or type has no page', async () => {
  const sender = 'ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G';
  for (const given of [{ sender }, { functionName: 'nobody-has-it' }, { types: ['poison_microblock' as const] }]) {
    expect(await read({ ...NO_CONDITIONS, ...given }, 10, null)).toMatchObject({
      items: [],
      next: null,
      previous: null,
    });
  }
});
