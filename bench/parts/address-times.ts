/**
 * Times what is asked of the busiest accounts of some indexes, up to heights and by offset, in turn: a round asks for all
 * of it. Prints it, with the median of each by round, in microseconds.
 */
import { Database } from 'bun:sqlite';
import { indexPath } from '../../src/store/files/database.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { spread } from '../results.ts';

const [roundCount, repetitionCount, limitText, ...directories] = process.argv.slice(2);
const rounds = Number(roundCount);
const repetitions = Number(repetitionCount);
const limit = Number(limitText);

export interface Timed {
  name: string;
  /** Where: at the head, half way, or at the end. */
  place: 'first' | 'middle' | 'last';
  /** Transactions of the account, or items of the list. */
  items: number;
  microseconds: number[];
}

type Ask = (reader: Reader) => unknown;

async function asksOf(directory: string, snapshots: Snapshots): Promise<(Timed & { ask: Ask })[]> {
  using db = new Database(indexPath(directory), { readonly: true });
  const accountWithMost = (column: string) =>
    db
      .query<{ address: string; items: number }, []>(
        `SELECT address, ${column} AS items FROM accounts ORDER BY ${column} DESC LIMIT 1`,
      )
      .get()!;
  const { address, items: transactions } = accountWithMost('transactions');
  const mover = accountWithMost('stx_inbound + stx_outbound').address;
  const paid = accountWithMost('paid').address;
  const tip = db.query<{ height: number }, []>('SELECT max(height) AS height FROM blocks').get()!.height;
  const blocks = { first: 0, last: tip };
  const lists: Record<string, (reader: Reader, offset: number) => { total: number } | Promise<{ total: number }>> = {
    transactions: (read, offset) => read.addresses.transactions(address, blocks, limit, offset),
    'transactions with transfers': (read, offset) =>
      read.addresses.transactionsWithTransfers(address, blocks, limit, offset),
    'asset events': (read, offset) => read.addresses.assetEvents(mover, tip, limit, offset),
    'inbound transfers': (read, offset) => read.addresses.inboundTransfers(paid, blocks, limit, offset),
    'STX holders': (read, offset) => read.tokenLists.stxHolders(limit, offset),
  };
  const asks: (Timed & { ask: Ask })[] = [];
  const heights = { first: tip, middle: tip >> 1, last: Math.ceil(tip / 100) };
  for (const [place, height] of Object.entries(heights) as [Timed['place'], number][]) {
    const add = (name: string, ask: Ask) =>
      asks.push({ name: `${name} up to a height`, place, items: transactions, microseconds: [], ask });
    add('STX', (read) => read.principals.stxHistory(address, height));
    add('tokens', (read) => read.addresses.tokens(address, height));
  }
  for (const [name, list] of Object.entries(lists)) {
    const { total } = await snapshots.readLong(async (read) => list(read, 0));
    const offsets = { first: 0, middle: (total - limit) >> 1, last: total - limit };
    for (const [place, offset] of Object.entries(offsets) as [Timed['place'], number][]) {
      if (offset < 0) continue;
      asks.push({ name, place, items: total, microseconds: [], ask: (read) => list(read, offset) });
    }
  }
  return asks.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

async function medianOf(snapshots: Snapshots, ask: Ask): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < repetitions; n++) {
    const start = performance.now();
    await snapshots.read(ask);
    times.push((performance.now() - start) * 1000);
  }
  return spread(times).median;
}

const indexes: { snapshots: Snapshots; asks: (Timed & { ask: Ask })[] }[] = [];
for (const directory of directories) {
  const snapshots = openSnapshots(directory);
  indexes.push({ snapshots, asks: await asksOf(directory, snapshots) });
}
const all = indexes.flatMap(({ snapshots, asks }) => asks.map((ask) => ({ snapshots, ask })));
for (const { snapshots, ask } of all) await medianOf(snapshots, ask.ask);
for (let n = 0; n < rounds; n++) {
  for (const { snapshots, ask } of n % 2 === 0 ? all : all.toReversed()) {
    ask.microseconds.push(await medianOf(snapshots, ask.ask));
  }
}
for (const { snapshots } of indexes) snapshots.close();
process.stdout.write(JSON.stringify(indexes.map(({ asks }) => asks)));
