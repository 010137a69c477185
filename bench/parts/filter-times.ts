/**
 * Times pages of v1's list of transactions by filters and orders, in some indexes in turn. Prints for each combination
 * how many pass, and the median of its page by round, in microseconds.
 */
import { Database } from 'bun:sqlite';
import { indexPath } from '../../src/store/files/database.ts';
import type { TransactionFilter, TransactionOrder } from '../../src/store/model/transaction.ts';
import { NO_FILTER } from '../../src/store/queries/transactions/transaction-lists.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { spread } from '../results.ts';

const [roundCount, repetitionCount, limitText, ...directories] = process.argv.slice(2);
const rounds = Number(roundCount);
const repetitions = Number(repetitionCount);
const limit = Number(limitText);

export interface TimedFilter {
  name: string;
  /** Transactions that pass. */
  total: number;
  microseconds: number[];
}

const NEWEST: TransactionOrder = { by: 'block_height', direction: 'desc' };

interface Combination {
  name: string;
  filter?: Partial<TransactionFilter>;
  order?: TransactionOrder;
  /** Where the page starts, as a part of the list. */
  at?: number;
}

/** Of the busiest principals and functions of an index, and spans of its time. */
function combinationsOf(directory: string): Combination[] {
  const db = new Database(indexPath(directory), { readonly: true });
  const first = <Row>(sql: string): Row => db.query<Row, []>(sql).get()!;
  const most = (column: string) =>
    first<{ address: string }>(`SELECT address FROM accounts ORDER BY ${column} DESC LIMIT 1`).address;
  const functionName = first<{ name: string }>(
    'SELECT key AS name FROM counters WHERE kind = 2 ORDER BY count DESC LIMIT 1',
  ).name;
  const times = first<{ start: number; end: number }>(
    'SELECT min(time) AS start, max(time) AS end FROM anchor_burn_blocks',
  );
  const [sender, recipient, contract] = [most('sent'), most('paid'), most('calls')];
  db.close();
  const span = {
    since: times.start + Math.round((times.end - times.start) * 0.4),
    until: Math.round((times.start + times.end) / 2),
  };
  const by = (of: TransactionOrder['by'], direction: TransactionOrder['direction'] = 'desc') => ({ by: of, direction });
  return [
    { name: 'none' },
    { name: 'none, from the middle', at: 0.5 },
    { name: 'none, by fee', order: by('fee') },
    { name: 'none, by Bitcoin time, oldest first', order: by('burn_block_time', 'asc') },
    { name: 'type of most', filter: { types: ['contract_call'] } },
    { name: 'type of most, by fee', filter: { types: ['contract_call'] }, order: by('fee') },
    { name: 'type of fewest, by fee', filter: { types: ['smart_contract'] }, order: by('fee') },
    { name: 'two types', filter: { types: ['coinbase', 'tenure_change'] } },
    { name: 'sender', filter: { sender } },
    { name: 'sender, by fee', filter: { sender }, order: by('fee') },
    { name: 'sender and type', filter: { sender, types: ['token_transfer'] } },
    { name: 'sender and nonce', filter: { sender, nonce: 3 } },
    { name: 'recipient', filter: { recipient } },
    { name: 'sender and recipient', filter: { sender, recipient } },
    { name: 'contract', filter: { contract } },
    { name: 'contract and function', filter: { contract, functionName } },
    { name: 'contract and function, by fee', filter: { contract, functionName }, order: by('fee') },
    { name: 'function', filter: { functionName } },
    { name: 'nonce', filter: { nonce: 3 } },
    { name: 'a tenth of the time', filter: span },
    { name: 'a tenth of the time, type, by fee', filter: { ...span, types: ['contract_call'] }, order: by('fee') },
    { name: 'a tenth of the time, sender', filter: { ...span, sender } },
  ];
}

const indexes = directories.map((directory) => ({ directory, snapshots: openSnapshots(directory) }));
const runs: { directory: string; timed: TimedFilter; ask: () => unknown }[] = [];
for (const { directory, snapshots } of indexes) {
  for (const { name, filter = {}, order = NEWEST, at = 0 } of combinationsOf(directory)) {
    const whole = { ...NO_FILTER, ...filter };
    const ask = (offset: number) => snapshots.read((reader) => reader.transactions.search(whole, order, limit, offset));
    const { total } = ask(0);
    const timed: TimedFilter = { name, total, microseconds: [] };
    runs.push({ directory, timed, ask: () => ask(Math.floor(total * at)) });
  }
}

function medianOf(ask: () => unknown): number {
  const times: number[] = [];
  for (let n = 0; n < repetitions; n++) {
    const start = performance.now();
    ask();
    times.push((performance.now() - start) * 1000);
  }
  return spread(times).median;
}

for (const { ask } of runs) medianOf(ask);
for (let n = 0; n < rounds; n++) {
  for (const { timed, ask } of n % 2 === 0 ? runs : runs.toReversed()) timed.microseconds.push(medianOf(ask));
}
for (const { snapshots } of indexes) snapshots.close();
process.stdout.write(
  JSON.stringify(directories.map((of) => runs.filter(({ directory }) => directory === of).map(({ timed }) => timed))),
);
