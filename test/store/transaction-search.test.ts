/** The list of v1 by any filters and order, against a plain filter over the whole chain. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { TransactionDetail, TransactionFilter, TransactionOrder } from '../../src/store/model/transaction.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import { transactionSearch } from '../../src/store/queries/transactions/transaction-lists.ts';
import { TooMuchWorkError } from '../../src/store/rows/statement.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { detailsOf } from '../support/data/memory-index.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** Matches every transaction. */
const NO_FILTER: TransactionFilter = {
  types: null,
  sender: null,
  recipient: null,
  contract: null,
  functionName: null,
  nonce: null,
  since: null,
  until: null,
};

const NEWEST: TransactionOrder = { by: 'block_height', direction: 'desc' };

let directory: DataDirectory;
let db: Database;
/** Newest first. */
let transactions: TransactionDetail[];
beforeAll(() => {
  const events = devnetEvents({ seed: 8, blocks: 80, transactionsPerBlock: 8, forkEvery: 15 });
  directory = ingestOf([...events].map(received));
  db = new Database(indexPath(directory.path));
  const result = transactionSearch(db, detailsOf(db))(NO_FILTER, NEWEST, 10_000, 0, models);
  transactions = result.items;
  expect(result.total).toBe(transactions.length);
  expect(transactions.length).toBeGreaterThan(500);
});
afterAll(() => {
  db.close();
  directory[Symbol.dispose]();
});

const callOf = ({ payload }: TransactionDetail) => (payload.type === 'contract_call' ? payload : null);
const recipientOf = ({ payload }: TransactionDetail) => (payload.type === 'token_transfer' ? payload.recipient : null);

const passes = (transaction: TransactionDetail, filter: TransactionFilter): boolean =>
  (filter.types === null || filter.types.includes(transaction.payload.type)) &&
  (filter.sender === null || filter.sender === transaction.sender.address) &&
  (filter.recipient === null || filter.recipient === recipientOf(transaction)) &&
  (filter.contract === null || filter.contract === callOf(transaction)?.contractId) &&
  (filter.functionName === null || filter.functionName === callOf(transaction)?.functionName) &&
  // Bitcoin operations don't have a nonce, though the API shows 0.
  (filter.nonce === null || (transaction.raw.length > 1 && transaction.sender.nonce === BigInt(filter.nonce))) &&
  (filter.since === null || transaction.burnBlock.time >= filter.since) &&
  (filter.until === null || transaction.burnBlock.time <= filter.until);

const keys = {
  block_height: (transaction: TransactionDetail) => BigInt(transaction.block.height),
  burn_block_time: (transaction: TransactionDetail) => BigInt(transaction.burnBlock.time),
  fee: (transaction: TransactionDetail) => BigInt(transaction.fee),
};

function byHand(filter: TransactionFilter, { by, direction }: TransactionOrder): TransactionDetail[] {
  const oldestFirst = transactions.toReversed().filter((transaction) => passes(transaction, filter));
  const ascending = oldestFirst.sort((a, b) => Number(keys[by](a) - keys[by](b)));
  return direction === 'asc' ? ascending : ascending.reverse();
}

const idsOf = (items: readonly TransactionDetail[]) => items.map(({ txId }) => txId.toHex());

const TYPES = [
  ...(['token_transfer', 'smart_contract', 'contract_call', 'coinbase'] as const),
  ...(['tenure_change', 'poison_microblock'] as const),
];

/**
 * Generates filters with values of existing transactions, so that they often match.
 * @param without weight of an absent part; a present part has weight 1
 */
const filters = (without = 2) => {
  const sample = fc.nat(transactions.length - 1).map((index) => transactions[index]!);
  const part = <T>(arbitrary: fc.Arbitrary<T | null>) =>
    fc.oneof({ weight: without, arbitrary: fc.constant(null) }, arbitrary);
  return fc.record<TransactionFilter>({
    types: part(fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 1 })),
    sender: part(sample.map(({ sender }) => sender.address)),
    recipient: part(sample.map(recipientOf)),
    contract: part(sample.map((transaction) => callOf(transaction)?.contractId ?? null)),
    functionName: part(sample.map((transaction) => callOf(transaction)?.functionName ?? null)),
    nonce: part(sample.map(({ sender }) => Number(sender.nonce))),
    since: part(sample.map(({ burnBlock }) => burnBlock.time)),
    until: part(sample.map(({ burnBlock }) => burnBlock.time)),
  });
};

const orders = fc.record<TransactionOrder>({
  by: fc.constantFrom('block_height', 'burn_block_time', 'fee'),
  direction: fc.constantFrom('asc', 'desc'),
});

const MANY = 1_000_000;

describe.each([
  ['sorted', { sorted: MANY, rows: MANY, entries: MANY }],
  ['walked', { sorted: 0, rows: MANY, entries: MANY }],
  ['walked, then sorted', { sorted: 20, rows: MANY, entries: MANY }],
  ['either', { sorted: 100, rows: MANY, entries: MANY }],
])('lists that are %s', (_, limits) => {
  test('have the transactions that pass every filter, in order, on any page', () => {
    const search = transactionSearch(db, detailsOf(db), limits);
    const seen = new Seen({ items: 100 });
    assertProperty(
      fc.property(filters(), orders, fc.nat(30), fc.nat(60), (filter, order, limit, offset) => {
        const expected = byHand(filter, order);
        const { items, total } = search(filter, order, limit, offset, models);
        seen.add('items', items.length);
        expect(total).toBe(expected.length);
        expect(idsOf(items)).toEqual(idsOf(expected.slice(offset, offset + limit)));
      }),
      { seen, cases: 100 },
    );
  });

  test('searches for an unknown principal, function or type are empty', () => {
    const search = transactionSearch(db, detailsOf(db), limits);
    const nobody = 'ST000000000000000000002AMW42H.nobody';
    const nowhere: Partial<TransactionFilter>[] = [
      ...[{ sender: nobody }, { recipient: nobody }, { contract: nobody }, { functionName: 'nothing' }],
      { types: ['poison_microblock'] },
      { nonce: 1_000_000 },
      { since: 4_000_000_000 },
      { until: 1 },
    ];
    for (const part of nowhere) {
      expect(search({ ...NO_FILTER, ...part }, NEWEST, 20, 0, models)).toEqual({ items: [], total: 0 });
    }
  });
});

test('filters that exclude each other are answered without reading rows', () => {
  const limits = { sorted: 0, rows: 0, entries: 0 };
  const search = transactionSearch(db, detailsOf(db), limits);
  const { contractId: contract, functionName } = transactions.flatMap((transaction) => callOf(transaction) ?? [])[0]!;
  const recipient = transactions.flatMap((transaction) => recipientOf(transaction) ?? [])[0]!;
  const excluding: Partial<TransactionFilter>[] = [
    { contract, recipient },
    { functionName, recipient },
    { contract, types: ['token_transfer', 'coinbase'] },
    { recipient, types: ['contract_call'] },
  ];
  for (const filter of excluding) {
    const result = search({ ...NO_FILTER, ...filter }, { by: 'fee', direction: 'desc' }, 20, 0, models);
    expect(result).toEqual({ items: [], total: 0 });
  }
});

test('a walk in any order fails beyond the limit of rows', () => {
  const coinbases: TransactionFilter = { ...NO_FILTER, types: ['coinbase'] };
  const count = byHand(coinbases, NEWEST).length;
  // They pay no fee: the last that come by fee.
  const dearest: TransactionOrder = { by: 'fee', direction: 'desc' };
  const withRows = (rows: number) => transactionSearch(db, detailsOf(db), { sorted: 1, rows, entries: MANY });
  expect(() => withRows(count - 1)(coinbases, dearest, 5, 0, models)).toThrow(TooMuchWorkError);
  expect(withRows(count)(coinbases, dearest, 5, 0, models).total).toBe(count);
});

test('any request reads at most as many rows as the limits allow, and is answered completely or refused', () => {
  const limits = { sorted: 10, rows: 60, entries: 200 };
  const search = transactionSearch(db, detailsOf(db), limits);
  const seen = new Seen({ answered: 10, refused: 10 });
  assertProperty(
    fc.property(filters(), orders, fc.integer({ min: 1, max: 30 }), fc.nat(300), (filter, order, limit, offset) => {
      const expected = byHand(filter, order);
      try {
        const { items, total } = search(filter, order, limit, offset, models);
        expect(total).toBe(expected.length);
        expect(idsOf(items)).toEqual(idsOf(expected.slice(offset, offset + limit)));
        seen.add('answered');
      } catch (error) {
        if (!(error instanceof TooMuchWorkError)) throw error;
        seen.add('refused');
        const parts = Object.entries(filter).filter(([, part]) => part !== null);
        const sizes = parts.map(([name, part]) => byHand({ ...NO_FILTER, [name]: part }, NEWEST).length);
        const tooMany = Math.min(transactions.length, ...sizes) > limits.rows;
        expect({ tooMany }).toEqual({ tooMany: true });
      }
    }),
    { seen, cases: 200 },
  );
});

test('a page with a transaction that has lost a row fails with its position', () => {
  const [, second] = db
    .query<{ position: number }, []>('SELECT position FROM transactions ORDER BY position DESC LIMIT 3')
    .all();
  const search = transactionSearch(db, detailsOf(db));
  db.run('BEGIN');
  try {
    db.run('DELETE FROM transaction_bodies WHERE position = ?', [second!.position]);
    expect(() => search(NO_FILTER, NEWEST, 3, 0, models)).toThrow(`no transaction at position ${second!.position}`);
    expect(search(NO_FILTER, NEWEST, 1, 0, models).items.length).toBe(1);
  } finally {
    db.run('ROLLBACK');
  }
  expect(search(NO_FILTER, NEWEST, 3, 0, models).items.length).toBe(3);
});
