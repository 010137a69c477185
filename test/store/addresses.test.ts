/** Lists of addresses and tokens by offset, up to any height, against a recount of their rows. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { Turns } from '../../src/base/turns.ts';
import { positionsOf } from '../../src/chain/position.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { OffsetPage } from '../../src/store/model/page.ts';
import { addressEventQueries } from '../../src/store/queries/accounts/address-transactions.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { MAX_ENTRIES, prepared, TooMuchWorkError } from '../../src/store/rows/statement.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const BLOCKS = 120;
/** A height above the tip. */
const LATER = BLOCKS + 1000;

let directory: DataDirectory;
let db: Database;
let snapshots: Snapshots;
let principals: { id: number; address: string }[];
const addresses: string[] = [];

beforeAll(() => {
  const options = { seed: 3, blocks: BLOCKS, accounts: 12, transactionsPerBlock: 8 };
  directory = ingestOf(simulatedEvents(options));
  db = new Database(indexPath(directory.path), { readonly: true });
  snapshots = openSnapshots(directory.path);
  principals = db
    .query<{ id: number; address: string }, []>(
      `SELECT p.id, p.address FROM principals p JOIN accounts a ON a.principal_id = p.id
        ORDER BY a.transactions DESC`,
    )
    .all();
  addresses.push(...principals.map(({ address }) => address));
});
afterAll(() => {
  snapshots.close();
  db.close();
  directory[Symbol.dispose]();
});

const principal = fc.nat(1_000_000).map((index) => principals[index % principals.length]!);
/** The busiest principals, which have checkpoints. */
const busy = fc.nat(4).map((index) => principals[index]!);
const someone = fc.oneof(principal, busy);
const height = fc.oneof(fc.integer({ min: 1, max: BLOCKS }), fc.constantFrom(1, BLOCKS, LATER));
const limit = fc.integer({ min: 1, max: 50 });
const offset = fc.oneof(fc.nat(30), fc.nat(2000));
const often = { cases: 100 };

const rows = <T>(text: string, ...values: (string | number | Uint8Array)[]): T[] =>
  db.query<T, (string | number | Uint8Array)[]>(text).all(...values);

/** First and last position of heights. */
const range = (first: number, last: number): [number, number] => [positionsOf(first).first, positionsOf(last).last];

const hex = (bytes: Uint8Array): string => bytes.toHex();

/** Expects that a page equals its part of the whole list, with the whole length as the total. @param skipped draws an offset, also past the end */
async function expectPart<T>(
  page: (read: Reader, limit: number, offset: number) => OffsetPage<T> | Promise<OffsetPage<T>>,
  idOf: (item: T) => string,
  whole: string[],
  [limit, skipped]: [limit: number, skipped: number],
  seen?: Seen,
): Promise<void> {
  const offset = skipped % (whole.length + 3);
  const result = await snapshots.readLong(async (read) => page(read, limit, offset));
  seen?.add('items', result.items.length);
  expect([result.items.map(idOf), result.total]).toEqual([whole.slice(offset, offset + limit), whole.length]);
}

test('the drawn chain has rows for every list', () => {
  const counts = rows<Record<string, number>>(
    `SELECT (SELECT count(*) FROM account_checkpoints) AS checkpoints,
            (SELECT count(*) FROM token_checkpoints WHERE token = 1) AS fts,
            (SELECT count(*) FROM token_checkpoints WHERE token = 2) AS nfts,
            (SELECT count(*) FROM transactions WHERE type = 0) AS transfers,
            (SELECT count(*) FROM principal_transactions WHERE affected & 16) AS sponsored,
            (SELECT count(*) FROM stx_locks) AS locks, (SELECT count(*) FROM asset_totals WHERE token = 2) AS classes`,
  )[0]!;
  for (const [name, count] of Object.entries(counts)) expect({ name, some: count > 0 }).toEqual({ name, some: true });
  expect(problemsIn(directory.path)).toEqual([]);
});

test('sums of tokens equal their events', () => {
  const sum = (side: string) => `CAST(sum(iif(e.${side} = ?1, coalesce(CAST(e.amount AS INTEGER), 1), 0)) AS TEXT)`;
  for (const { id, address } of principals) {
    const expected = rows(
      `SELECT iif(e.kind >= 9, 'nft', 'ft') AS token, a.identifier AS asset, ${sum('sender_id')} AS sent,
              ${sum('recipient_id')} AS received
         FROM events e JOIN assets a ON a.id = e.asset_id WHERE ?1 IN (e.sender_id, e.recipient_id) GROUP BY 1, 2`,
      id,
    );
    const tokens = snapshots.read((read) => read.addresses.tokens(address, LATER));
    const texts = tokens.map(({ sent, received, ...token }) => ({
      ...token,
      sent: `${sent}`,
      received: `${received}`,
    }));
    expect(texts).toHaveLength(expected.length);
    expect(texts).toEqual(expect.arrayContaining(expected as object[]));
  }
});

describe('up to any height', () => {
  test('asset events and locks are listed newest first', async () => {
    const seen = new Seen({ items: 100 });
    await assertProperty(
      fc.asyncProperty(someone, height, limit, offset, async ({ id, address }, until, count, skipped) => {
        const whole = rows<{ tx_id: Uint8Array; event_index: number }>(
          `SELECT t.tx_id, e.event_index FROM events e JOIN transactions t ON t.position = e.position
            WHERE (e.kind >= 3 AND ?1 IN (e.sender_id, e.recipient_id) OR e.kind = 2 AND e.sender_id = ?1)
              AND e.position <= ?2 ORDER BY e.position DESC, e.event_index DESC`,
          id,
          positionsOf(until).last,
        ).map(({ tx_id, event_index }) => `${hex(tx_id)} ${event_index}`);
        await expectPart(
          (read, ...part) => read.addresses.assetEvents(address, until, ...part),
          ({ txId, event }) => `${hex(txId)} ${event.index}`,
          whole,
          [count, skipped],
          seen,
        );
      }),
      { seen, ...often },
    );
  });
});

/** The blocks of a list: all blocks up to a height, or one block. */
const heights = fc.oneof(
  height.map((last) => ({ first: 0, last })),
  fc.integer({ min: 1, max: BLOCKS + 2 }).map((only) => ({ first: only, last: only })),
);

describe('of all blocks up to one, or of a single block', () => {
  test('transactions are listed newest first', async () => {
    const seen = new Seen({ items: 100 });
    await assertProperty(
      fc.asyncProperty(someone, heights, limit, offset, async ({ id, address }, blocks, count, skipped) => {
        const whole = rows<{ tx_id: Uint8Array }>(
          `SELECT t.tx_id FROM principal_transactions pt JOIN transactions t ON t.position = pt.position
            WHERE pt.principal_id = ? AND pt.position BETWEEN ? AND ? ORDER BY pt.position DESC`,
          id,
          ...range(blocks.first, blocks.last),
        ).map(({ tx_id }) => hex(tx_id));
        await expectPart(
          (read, ...part) => read.addresses.transactions(address, blocks, ...part, models),
          ({ txId }) => hex(txId),
          whole,
          [count, skipped],
          seen,
        );
      }),
      { seen, ...often },
    );
  });

  test("transactions with transfers omit sponsored ones, and show the principal's events", async () => {
    const seen = new Seen({ items: 100 });
    await assertProperty(
      fc.asyncProperty(someone, heights, limit, offset, async ({ id, address }, blocks, count, skipped) => {
        const oneBlock = blocks.first === blocks.last;
        const whole = rows<{ tx_id: Uint8Array; position: number; events: number }>(
          `SELECT t.tx_id, t.position, pt.events FROM principal_transactions pt
             JOIN transactions t ON t.position = pt.position
            WHERE pt.principal_id = ?1 AND pt.position BETWEEN ?2 AND ?3
              AND (?1 IN (t.sender_id, t.contract_id) OR t.type = 0 AND t.recipient_id = ?1 OR pt.events > 0)
            ORDER BY pt.position DESC`,
          id,
          ...range(blocks.first, blocks.last),
        );
        const part = oneBlock ? { limit: count, offset: 0 } : { limit: count, offset: skipped % (whole.length + 3) };
        const page = snapshots.read((read) =>
          read.addresses.transactionsWithTransfers(address, blocks, part.limit, part.offset),
        );
        seen.add('items', page.items.length);
        const ids = whole
          .slice(part.offset, oneBlock ? undefined : part.offset + part.limit)
          .map(({ tx_id, events }) => `${hex(tx_id)} ${events}`);
        expect({
          ids: page.items.map(({ transaction, events }) => `${hex(transaction.txId)} ${events.length}`),
          total: page.total,
        }).toEqual({ ids, total: whole.length });
      }),
      { seen, ...often },
    );
  });

  test('inbound transfers are transfer transactions, and events with a memo of other transactions', async () => {
    const seen = new Seen({ items: 100 });
    await assertProperty(
      fc.asyncProperty(someone, heights, limit, offset, async ({ id, address }, blocks, count, skipped) => {
        const whole = rows<{ tx_id: Uint8Array; amount: string }>(
          `SELECT t.tx_id, t.amount, t.position, 0 AS event_index FROM transactions t
            WHERE t.type = 0 AND t.recipient_id = ?1 AND t.position BETWEEN ?2 AND ?3
            UNION ALL
           SELECT t.tx_id, e.amount, e.position, e.event_index FROM events e
             JOIN transactions t ON t.position = e.position
            WHERE t.type <> 0 AND e.kind = 3 AND e.recipient_id = ?1 AND length(e.value) > 0
              AND e.position BETWEEN ?2 AND ?3
            ORDER BY 3 DESC, 4 DESC`,
          id,
          ...range(blocks.first, blocks.last),
        ).map(({ tx_id, amount }) => `${hex(tx_id)} ${amount}`);
        await expectPart(
          (read, ...part) => read.addresses.inboundTransfers(address, blocks, ...part),
          ({ txId, amount }) => `${hex(txId)} ${amount}`,
          whole,
          [count, skipped],
          seen,
        );
      }),
      { seen, ...often },
    );
  });
});

describe('of tokens', () => {
  const assetsOf = (kind: 'ft' | 'nft') =>
    rows<{ id: number; identifier: string }>(
      `SELECT id, identifier FROM assets WHERE id IN (SELECT asset_id FROM events WHERE kind ${kind === 'ft' ? 'BETWEEN 6 AND 8' : '>= 9'})`,
    );

  test('holders are all that ever had the token, and their balances add up to the supply', async () => {
    const stx = snapshots.read((read) => read.tokenLists.stxHolders(100_000, 0));
    const balances = stx.items.map(({ balance }) => BigInt(balance));
    expect(balances).toEqual(balances.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0)));
    expect(stx.total).toBe(stx.items.length);
    expect(stx.supply).toBe(String(balances.reduce((sum, balance) => sum + balance, 0n)));
    const had = rows<{ address: string }>(
      `SELECT p.address FROM accounts a JOIN principals p ON p.id = a.principal_id
        WHERE a.rewards > 0 OR EXISTS (SELECT 1 FROM events e WHERE a.principal_id IN (e.sender_id, e.recipient_id) AND e.kind BETWEEN 3 AND 5)
           OR EXISTS (SELECT 1 FROM transactions t WHERE coalesce(t.sponsor_id, t.sender_id) = a.principal_id)`,
    ).map(({ address }) => address);
    expect(stx.items.map((item) => item.principal).sort()).toEqual(had.sort());
    for (const { identifier, id } of assetsOf('ft')) {
      const ft = snapshots.read((read) => read.tokenLists.ftHolders(identifier, 100_000, 0));
      const parties = rows<{ n: number }>(
        `SELECT count(*) AS n FROM (SELECT sender_id FROM events WHERE asset_id = ?1 AND sender_id IS NOT NULL
                                     UNION SELECT recipient_id FROM events WHERE asset_id = ?1 AND recipient_id IS NOT NULL)`,
        id,
      )[0]!.n;
      expect({ total: ft.total, items: ft.items.length }).toEqual({ total: parties, items: parties });
      expect(ft.supply).toBe(snapshots.read((read) => read.tokens.ftSupply(identifier)));
    }
  });

  /** Conditions that select the events that name a principal or that it logged. */
  const eventKinds = {
    contract_log: '= 1',
    stx_lock: '= 2',
    stx: 'BETWEEN 3 AND 5',
    ft: 'BETWEEN 6 AND 8',
    nft: '>= 9',
  };
  type EventKind = keyof typeof eventKinds;
  const allKinds = Object.keys(eventKinds) as EventKind[];

  const namedIn = (id: number, kinds: readonly EventKind[]): string[] =>
    rows<{ tx_id: Uint8Array; event_index: number }>(
      `SELECT t.tx_id, e.event_index FROM events e JOIN transactions t ON t.position = e.position
        WHERE (${kinds.map((kind) => `e.kind ${eventKinds[kind]}`).join(' OR ')})
          AND CASE e.kind WHEN 1 THEN e.contract_id = ?1 WHEN 2 THEN e.sender_id = ?1
                   ELSE coalesce(e.sender_id = ?1, 0) OR coalesce(e.recipient_id = ?1, 0) END
        ORDER BY e.position DESC, e.event_index DESC`,
      id,
    ).map(({ tx_id, event_index }) => `${hex(tx_id)} ${event_index}`);

  test('events are those that name the principal and its logs, of the requested kinds', async () => {
    const seen = new Seen({ items: 100, contracts: 5 });
    await assertProperty(
      fc.asyncProperty(
        someone,
        fc.oneof(fc.constant(allKinds), fc.subarray(allKinds, { minLength: 1 })),
        limit,
        offset,
        async ({ id, address }, kinds, count, skipped) => {
          const whole = namedIn(id, kinds);
          const first = skipped % (whole.length + 3);
          const page = await snapshots.readLong((read) => read.addresses.events(address, kinds, count, first));
          seen.add('items', page.length);
          if (address.includes('.') && page.length > 0) seen.add('contracts');
          const ids = page.map(({ txId, event }) => `${hex(txId)} ${event.index}`);
          expect(ids).toEqual(whole.slice(first, first + count));
        },
      ),
      { seen, ...often },
    );
  });

  test('a page of events reads a limited number of transactions, or is refused', async () => {
    const { id } = principals[0]!;
    const kinds: EventKind[] = ['stx'];
    const whole = namedIn(id, kinds);
    const transactions = new Set(whole.map((key) => key.split(' ')[0])).size;
    const newest = (limit: number, first: number) =>
      addressEventQueries(db, new Turns(systemClock), limit).newest(id, kinds, Number.MAX_SAFE_INTEGER, 5, first);
    expect(await newest(transactions, whole.length - 1)).toHaveLength(1);
    expect(await newest(transactions, whole.length + 1)).toEqual([]);
    expect(newest(transactions - 1, whole.length - 1)).rejects.toThrow(TooMuchWorkError);
    expect(await newest(transactions - 1, 0)).toHaveLength(5);
  });

  test('holdings are the owned tokens, the last received first, for all or some assets', async () => {
    const kinds = assetsOf('nft');
    const owners = principals.filter(({ id }) => rows('SELECT 1 FROM nft_instances WHERE owner_id = ?', id).length > 0);
    const seen = new Seen({ items: 15 });
    await assertProperty(
      fc.asyncProperty(
        fc.oneof(someone, fc.constantFrom(...owners)),
        fc.option(fc.subarray(kinds)),
        limit,
        offset,
        async ({ id, address }, chosen, count, skipped) => {
          const whole = rows<{ identifier: string; value: Uint8Array }>(
            `SELECT a.identifier, i.value FROM nft_instances i JOIN assets a ON a.id = i.asset_id
              WHERE i.owner_id = ? ORDER BY i.position DESC, i.event_index DESC`,
            id,
          )
            .filter(({ identifier }) => chosen === null || chosen.some((asset) => asset.identifier === identifier))
            .map(({ identifier, value }) => `${identifier} ${hex(value)}`);
          const assets = chosen === null ? null : chosen.map(({ identifier }) => identifier);
          await expectPart(
            (read, ...part) => read.tokenLists.nftHoldings(address, assets, ...part, false),
            ({ asset, value }) => `${asset} ${hex(value)}`,
            whole,
            [count, skipped],
            seen,
          );
        },
      ),
      { seen, ...often },
    );
  });

  test('history and mints are the events of an instance and the mints of an asset', async () => {
    const instances = rows<{ id: number; identifier: string; value: Uint8Array }>(
      'SELECT a.id, a.identifier, i.value FROM nft_instances i JOIN assets a ON a.id = i.asset_id',
    );
    const events = (text: string, ...values: (number | Uint8Array)[]) =>
      rows<{ tx_id: Uint8Array; event_index: number }>(
        `SELECT t.tx_id, e.event_index FROM events e JOIN transactions t ON t.position = e.position
          WHERE ${text} ORDER BY e.position DESC, e.event_index DESC`,
        ...values,
      ).map(({ tx_id, event_index }) => `${hex(tx_id)} ${event_index}`);
    const seen = new Seen({ items: 100 });
    await assertProperty(
      fc.asyncProperty(
        fc.constantFrom(...instances),
        limit,
        fc.nat(10),
        async ({ id, identifier, value }, count, skipped) => {
          const idOf = ({ txId, event }: { txId: Uint8Array; event: { index: number } }) =>
            `${hex(txId)} ${event.index}`;
          await expectPart(
            (read, ...range) => read.tokenLists.nftHistory(identifier, value, ...range, false),
            idOf,
            events('e.asset_id = ? AND e.value = ? AND e.kind >= 9', id, value),
            [count, skipped],
            seen,
          );
          await expectPart(
            (read, ...range) => read.tokenLists.nftMints(identifier, ...range, false),
            idOf,
            events('e.asset_id = ? AND e.kind = 10', id),
            [count, skipped],
            seen,
          );
        },
      ),
      { seen, cases: 60 },
    );
  });

  test('tokens of a principal are in the order of their names, in either case', async () => {
    for (const { address } of principals.slice(0, 30)) {
      const byBalance = snapshots.read((read) => read.principals.ftBalances(address, 10_000, null));
      const names = byBalance.items.map(({ asset }) => asset);
      const order = names.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
      await expectPart(
        (read, ...part) => read.addresses.ftBalances(address, ...part),
        ({ asset }) => asset,
        order,
        [50, 0],
      );
    }
  });
});

test('an unknown principal has empty lists', async () => {
  await snapshots.readLong(async (read) => {
    const nobody = 'SP000000000000000000002Q6VF78.never-deployed';
    const empty = { items: [], total: 0 };
    const blocks = { first: 0, last: LATER };
    expect(read.addresses.tokens(nobody, LATER)).toEqual([]);
    expect(await read.addresses.assetEvents(nobody, LATER, 20, 0)).toEqual(empty);
    expect(read.addresses.inboundTransfers(nobody, blocks, 20, 0)).toEqual(empty);
    expect(read.addresses.transactions(nobody, blocks, 20, 0, models)).toEqual(empty);
    expect(read.addresses.transactionsWithTransfers(nobody, blocks, 20, 0)).toEqual(empty);
    expect(read.addresses.mempool(nobody, 20, 0)).toEqual(empty);
    expect(read.addresses.ftBalances(nobody, 20, 0)).toEqual(empty);
    expect(read.tokenLists.ftHolders('nothing', 20, 0)).toEqual({ ...empty, supply: '0' });
    expect(read.tokenLists.nftHoldings(nobody, null, 20, 0, true)).toEqual(empty);
    expect(read.tokenLists.nftMints('nothing', 20, 0, true)).toEqual(empty);
    expect(read.tokenLists.nftHistory('nothing', new Uint8Array(3), 20, 0, true)).toEqual(empty);
    const history = read.principals.stxHistory(nobody, LATER);
    expect(history).toMatchObject({ sent: 0n, received: 0n, fees: 0n, mined: 0n, locked: null, lastNonce: null });
  });
});

test('a list by offset skips that many entries, and is empty after its end', () => {
  const items = (count: number) => `(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    SELECT 1 AS item FROM n a, n b LIMIT ${count})`;
  using longer = prepared<{ item: number }, [number, number]>(
    db,
    `SELECT item FROM ${items(MAX_ENTRIES + 1)} LIMIT ?1 OFFSET ?2`,
  );
  expect(longer.all(2, MAX_ENTRIES)).toEqual([{ item: 1 }]);
  const error = new TooMuchWorkError('querystring/offset must be <= 1000000 in a list of this length');
  expect(() => longer.all(2, MAX_ENTRIES + 1)).toThrow(error);
  expect(() => longer.get(1, Number.MAX_SAFE_INTEGER)).toThrow(error);
  expect(() => longer.iterate(1, MAX_ENTRIES + 1)).toThrow(error);
  using shorter = prepared<{ item: number }, [number, number]>(
    db,
    `SELECT item FROM ${items(MAX_ENTRIES)} LIMIT ?1 OFFSET ?2`,
  );
  expect(shorter.all(2, MAX_ENTRIES + 1)).toEqual([]);
  expect(shorter.get(2, Number.MAX_SAFE_INTEGER)).toBeNull();
  expect([...shorter.iterate(2, MAX_ENTRIES + 1)]).toEqual([]);
});
