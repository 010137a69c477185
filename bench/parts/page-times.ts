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

type Ask = (reader: Reader, at: Cursor | null) => Page<unknown>;

/** A page of a list, and its time in each round. */
interface Place {
  name: 'first' | 'middle' | 'last';
  at: Cursor | null;
  microseconds: number[];
}

export interface TimedList {
  name: string;
  /** The number of items of the list. */
  items: number;
  /** The first, middle and last page; only the first if the list has one page. */
  places: Place[];
}

/** Finds the longest lists of an index. */
function listsOf(directory: string): (TimedList & { ask: Ask })[] {
  const db = new Database(indexPath(directory), { readonly: true });
  const first = <Row>(sql: string, ...values: number[]): Row => db.query<Row, number[]>(sql).get(...values)!;

  /** Describes a list and its pages. @param keys a query for the key columns of the whole list, in its order */
  function list(name: string, keys: string, values: (number | Uint8Array)[], ask: Ask): TimedList & { ask: Ask } {
    const items = Number(db.query(`SELECT count(*) FROM (${keys})`).values(...values)[0]![0]);
    const at = (offset: number): Cursor => ({
      side: 'from',
      key: db.query(`${keys} LIMIT 1 OFFSET ${offset}`).values(...values)[0] as (number | string)[],
    });
    const places: Place[] = [{ name: 'first', at: null, microseconds: [] }];
    if (items > limit) {
      places.push({ name: 'middle', at: at((items - limit) >> 1), microseconds: [] });
      places.push({ name: 'last', at: at(items - limit), microseconds: [] });
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
  const held = tokenWithMost('holders');
  const instance = first<{ id: number; identifier: string; value: Uint8Array }>(
    'SELECT a.id, a.identifier, n.value FROM nft_instances n JOIN assets a ON a.id = n.asset_id ORDER BY n.events DESC LIMIT 1',
  );
  const event = 'SELECT position, event_index FROM events';
  const newest = 'ORDER BY position DESC, event_index DESC';

  const lists = [
    list('transactions', 'SELECT position FROM transactions ORDER BY position DESC', [], (reader, at) =>
      reader.transactions.page(limit, at, models),
    ),
    list(
      'transactions of a principal',
      'SELECT position FROM principal_transactions WHERE principal_id = ? ORDER BY position DESC',
      [busiest.id],
      (reader, at) => reader.transactions.ofPrincipal(busiest.address, limit, at, models),
    ),
    list(
      'STX transfers, inbound',
      `${event} WHERE recipient_id = ? AND kind IN (3, 4) ${newest}`,
      [receiver.id],
      (reader, at) => reader.transfers.stx(receiver.address, 'inbound', limit, at),
    ),
    list(
      'STX transfers, outbound',
      `${event} WHERE sender_id = ? AND kind IN (3, 5) ${newest}`,
      [sender.id],
      (reader, at) => reader.transfers.stx(sender.address, 'outbound', limit, at),
    ),
    list(
      'FT transfers',
      `${event} WHERE asset_id = ?1 AND kind BETWEEN 6 AND 8 AND ?2 IN (sender_id, recipient_id) ${newest}`,
      [moved.id, mover.id],
      (reader, at) => reader.transfers.ft(mover.address, moved.identifier, limit, at),
    ),
    list(
      'STX holders',
      "SELECT balance, address FROM accounts WHERE balance > 'A0' ORDER BY balance DESC, address",
      [],
      (reader, at) => reader.tokens.stxHolders(limit, at),
    ),
    list(
      'FT holders',
      "SELECT balance, address FROM ft_balances WHERE asset_id = ? AND balance > 'A0' ORDER BY balance DESC, address",
      [held.id],
      (reader, at) => reader.tokens.ftHolders(held.identifier, limit, at),
    ),
    list(
      'NFT balances',
      `SELECT a.identifier, lower(hex(n.value)) FROM nft_instances n JOIN assets a ON a.id = n.asset_id
        WHERE n.owner_id = ? ORDER BY a.identifier, n.value`,
      [owner.id],
      (reader, at) => reader.principals.nftBalances(owner.address, null, limit, at),
    ),
    list(
      'NFT history',
      `${event} WHERE asset_id = ? AND value = ? AND kind >= 9 ${newest}`,
      [instance.id, instance.value],
      (reader, at) => reader.transfers.nftHistory(instance.identifier, instance.value, limit, at),
    ),
    list('signers of pox-5', 'SELECT address FROM signer_keys WHERE current = 1 ORDER BY address', [], (reader, at) =>
      reader.staking.signers(limit, at),
    ),
    list(
      'mempool',
      `SELECT received_at, lower(hex(tx_id)) FROM mempool_transactions
        WHERE state = 0 ORDER BY received_at DESC, tx_id DESC`,
      [],
      (reader, at) => reader.mempool.page(limit, at, models),
    ),
  ];
  db.close();
  return lists;
}

/** Checks that a page starts at the expected key. @throws Error if it doesn't */
function check(list: TimedList, { name, at }: Place, page: Page<unknown>): void {
  const found = {
    items: page.items.length,
    total: page.total,
    start: (page.previous === null) === (at === null),
    ends: page.next === null,
  };
  const expected = {
    items: Math.min(limit, list.items),
    total: list.items,
    start: true,
    ends: name === 'last' || list.items <= limit,
  };
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`the ${name} page of ${list.name}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
  }
}

function medianOf(snapshots: Snapshots, ask: Ask, at: Cursor | null): number {
  const times: number[] = [];
  for (let n = 0; n < repetitions; n++) {
    const start = performance.now();
    snapshots.read((reader) => ask(reader, at));
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
