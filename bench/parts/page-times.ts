/**
 * Times pages of the longest lists of some indexes. A round reads every page of every list of every index. Prints the lists
 * with the median of each page by round, in microseconds.
 */
import { Database } from 'bun:sqlite';
import { indexPath } from '../../src/store/files/database.ts';
import type { Cursor, Page } from '../../src/store/model/page.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { spread } from '../results.ts';

const [roundCount, repetitionCount, limitText, ...directories] = process.argv.slice(2);
const rounds = Number(roundCount);
const repetitions = Number(repetitionCount);
const limit = Number(limitText);

type Ask = (reader: Reader, cursor: Cursor | null) => Page<unknown>;

/** A page of a list, and its time in each round. */
interface TimedPage {
  name: 'first' | 'middle' | 'last';
  at: Cursor | null;
  microseconds: number[];
}

export interface TimedList {
  name: string;
  /** The number of items of the list. */
  items: number;
  /** The first, middle and last page; only the first if the list has one page. */
  places: TimedPage[];
}

/** Finds the longest lists of an index. */
function listsOf(directory: string): (TimedList & { ask: Ask })[] {
  const db = new Database(indexPath(directory), { readonly: true });
  const first = <Row>(sql: string, ...values: number[]): Row => db.query<Row, number[]>(sql).get(...values)!;

  /** Describes a list and its pages. @param keys a query for the key columns of the whole list, in its order */
  function list(name: string, keys: string, values: (number | Uint8Array)[], ask: Ask): TimedList & { ask: Ask } {
    const items = Number(db.query(`SELECT count(*) FROM (${keys})`).values(...values)[0]![0]);
    const cursorAt = (offset: number): Cursor => ({
      side: 'from',
      key: db.query(`${keys} LIMIT 1 OFFSET ${offset}`).values(...values)[0] as (number | string)[],
    });
    const places: TimedPage[] = [{ name: 'first', at: null, microseconds: [] }];
    if (items > limit) {
      places.push({ name: 'middle', at: cursorAt((items - limit) >> 1), microseconds: [] });
      places.push({ name: 'last', at: cursorAt(items - limit), microseconds: [] });
    }
    return { name, items, places, ask };
  }

  interface Account {
    id: number;
    address: string;
  }
  const accountWithMost = (column: string) =>
    first<Account>(`SELECT principal_id AS id, address FROM accounts ORDER BY ${column} DESC LIMIT 1`);
  const tokenWithMost = (column: string) =>
    first<{ id: number; identifier: string }>(
      `SELECT a.id, a.identifier FROM asset_totals t JOIN assets a ON a.id = t.asset_id WHERE t.token = 1 ORDER BY t.${column} DESC LIMIT 1`,
    );
  const busiest = accountWithMost('transactions');
  const receiver = accountWithMost('stx_inbound');
  const sender = accountWithMost('stx_outbound');
  const owner = accountWithMost('nfts');
  const moved = tokenWithMost('events');
  const mover = first<Account>(
    'SELECT principal_id AS id, address FROM ft_balances WHERE asset_id = ? ORDER BY transfers DESC LIMIT 1',
    moved.id,
  );
  const token = tokenWithMost('holders');
  const instance = first<{ id: number; identifier: string; value: Uint8Array }>(
    'SELECT a.id, a.identifier, n.value FROM nft_instances n JOIN assets a ON a.id = n.asset_id ORDER BY n.events DESC LIMIT 1',
  );
  const event = 'SELECT position, event_index FROM events';
  const newest = 'ORDER BY position DESC, event_index DESC';

  const lists = [
    list('transactions', 'SELECT position FROM transactions ORDER BY position DESC', [], (reader, cursor) =>
      reader.transactions.page(limit, cursor, models),
    ),
    list(
      'transactions of a principal',
      'SELECT position FROM principal_transactions WHERE principal_id = ? ORDER BY position DESC',
      [busiest.id],
      (reader, cursor) => reader.transactions.ofPrincipal(busiest.address, limit, cursor, models),
    ),
    list(
      'STX transfers, inbound',
      `${event} WHERE recipient_id = ? AND kind IN (3, 4) ${newest}`,
      [receiver.id],
      (reader, cursor) => reader.transfers.stx(receiver.address, 'inbound', limit, cursor),
    ),
    list(
      'STX transfers, outbound',
      `${event} WHERE sender_id = ? AND kind IN (3, 5) ${newest}`,
      [sender.id],
      (reader, cursor) => reader.transfers.stx(sender.address, 'outbound', limit, cursor),
    ),
    list(
      'FT transfers',
      `${event} WHERE asset_id = ?1 AND kind BETWEEN 6 AND 8 AND ?2 IN (sender_id, recipient_id) ${newest}`,
      [moved.id, mover.id],
      (reader, cursor) => reader.transfers.ft(mover.address, moved.identifier, limit, cursor),
    ),
    list(
      'STX holders',
      "SELECT balance, address FROM accounts WHERE balance > 'A0' ORDER BY balance DESC, address",
      [],
      (reader, cursor) => reader.tokens.stxHolders(limit, cursor),
    ),
    list(
      'FT holders',
      "SELECT balance, address FROM ft_balances WHERE asset_id = ? AND balance > 'A0' ORDER BY balance DESC, address",
      [token.id],
      (reader, cursor) => reader.tokens.ftHolders(token.identifier, limit, cursor),
    ),
    list(
      'NFT balances',
      `SELECT a.identifier, lower(hex(n.value)) FROM nft_instances n JOIN assets a ON a.id = n.asset_id
        WHERE n.owner_id = ? ORDER BY a.identifier, n.value`,
      [owner.id],
      (reader, cursor) => reader.principals.nftBalances(owner.address, null, limit, cursor),
    ),
    list(
      'NFT history',
      `${event} WHERE asset_id = ? AND value = ? AND kind >= 9 ${newest}`,
      [instance.id, instance.value],
      (reader, cursor) => reader.transfers.nftHistory(instance.identifier, instance.value, limit, cursor),
    ),
    list(
      'signers of pox-5',
      'SELECT address FROM signer_keys WHERE current = 1 ORDER BY address',
      [],
      (reader, cursor) => reader.staking.signers(limit, cursor),
    ),
    list(
      'mempool',
      `SELECT received_at, lower(hex(tx_id)) FROM mempool_transactions
        WHERE state = 0 ORDER BY received_at DESC, tx_id DESC`,
      [],
      (reader, cursor) => reader.mempool.page(limit, cursor, models),
    ),
  ];
  db.close();
  return lists;
}

/** Checks that a page starts at the expected key. @throws Error if it doesn't */
function check(list: TimedList, { name, at: cursor }: TimedPage, page: Page<unknown>): void {
  const facts = {
    items: page.items.length,
    total: page.total,
    start: (page.previous === null) === (cursor === null),
    ends: page.next === null,
  };
  const expected = {
    items: Math.min(limit, list.items),
    total: list.items,
    start: true,
    ends: name === 'last' || list.items <= limit,
  };
  if (JSON.stringify(facts) !== JSON.stringify(expected)) {
    throw new Error(`the ${name} page of ${list.name}: ${JSON.stringify(facts)}, expected ${JSON.stringify(expected)}`);
  }
}

function medianOf(snapshots: Snapshots, ask: Ask, cursor: Cursor | null): number {
  const times: number[] = [];
  for (let n = 0; n < repetitions; n++) {
    const start = performance.now();
    snapshots.read((reader) => ask(reader, cursor));
    times.push((performance.now() - start) * 1000);
  }
  return spread(times).median;
}

const indexes = directories.map((directory) => ({ lists: listsOf(directory), snapshots: openSnapshots(directory) }));
const pages = indexes.flatMap(({ lists, snapshots }) =>
  lists.flatMap((list) => list.places.map((place) => ({ list, place, snapshots }))),
);
for (const { list, place, snapshots } of pages) {
  check(
    list,
    place,
    snapshots.read((reader) => list.ask(reader, place.at)),
  );
  medianOf(snapshots, list.ask, place.at);
}
for (let n = 0; n < rounds; n++) {
  for (const { list, place, snapshots } of n % 2 === 0 ? pages : pages.toReversed()) {
    place.microseconds.push(medianOf(snapshots, list.ask, place.at));
  }
}
for (const { snapshots } of indexes) snapshots.close();
process.stdout.write(JSON.stringify(indexes.map(({ lists }) => lists)));
