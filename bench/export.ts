/** Exports of a view's rows by `stackside export`, beside sqlite3 where there is one: speed and memory. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { devnetIndex, SEED } from './dataset.ts';
import { type Finished, MAIN, run, script, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    /** Rows of an export, about. */
    sizes: { type: 'string', default: '100000,1000000' },
    /** Transactions of the chain, about; the rows are those of its view, again and again. */
    transactions: { type: 'string', default: '20000' },
  },
});
const repeat = Number(values.repeat);
const MEGABYTE = 1e6;
const COLUMNS = `t.block_height, t.tx_index, t.tx_id, t.block_time, t.status, t.type, t.sender, t.nonce, t.fee, t.recipient,
  t.amount, t.contract_id, t.function_name, t.event_count`;

const directory = await devnetIndex(Number(values.transactions));
const { transactions } = directoryStatus(directory);

/** @param times how often each row of the view comes */
const queryOf = (times: number): string =>
  `WITH RECURSIVE again(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM again WHERE n < ${times})
   SELECT ${COLUMNS} FROM again JOIN v1_transactions t`;

const exportTo = (file: string, query: string): Promise<Finished> =>
  run(script(MAIN, 'export', '--data', directory, '--query', query, '--output', file, '--overwrite'));

/** The command line of SQLite with the same query; null where it is not installed. */
const sqlite = Bun.which('sqlite3');
const sqliteTo = (file: string, query: string): Promise<Finished> =>
  run(['sh', '-c', `exec ${sqlite} -readonly -csv -header "$0" "$1" > "$2"`, join(directory, 'index.db'), query, file]);

interface Round {
  file: string;
  run: Finished;
  bytes: number;
  /** Time of sqlite3 for the same rows in the same round. */
  beside: number | null;
}

async function round(folder: string, query: string): Promise<Round[]> {
  const at = (name: string) => join(folder, name);
  const beside = sqlite === null ? null : await sqliteTo(at('sqlite3.csv'), query);
  const found: Round[] = [];
  for (const file of ['rows.csv', 'rows.ndjson', 'rows.parquet']) {
    const finished = await exportTo(at(file), query);
    found.push({ file, run: finished, bytes: Bun.file(at(file)).size, beside: beside?.seconds ?? null });
  }
  if (beside !== null) {
    found.push({ file: 'sqlite3 -csv', run: beside, bytes: Bun.file(at('sqlite3.csv')).size, beside: beside.seconds });
  }
  return found;
}

const rows: Cell[][] = [];
await withDirectory(async (folder) => {
  for (const size of values.sizes.split(',').map(Number)) {
    const times = Math.max(1, Math.round(size / transactions));
    const count = times * transactions;
    const rounds: Round[][] = [];
    for (let n = 0; n < repeat; n++) rounds.push(await round(folder, queryOf(times)));
    for (const [i, { file }] of (rounds[0] ?? []).entries()) {
      const of = (value: (one: Round) => number, digits = 0): Cell =>
        figure(
          rounds.map((one) => value(one[i]!)),
          digits,
        );
      rows.push([
        i === 0 ? count.toLocaleString('en-US') : '',
        file,
        of(({ run: { seconds } }) => count / seconds),
        of(({ run: { peakMemory } }) => peakMemory / MEGABYTE),
        of(({ bytes }) => bytes / MEGABYTE, 1),
        sqlite === null ? '' : of(({ run: { seconds }, beside }) => seconds / (beside ?? seconds), 2),
      ]);
    }
  }
});

publish(
  [
    {
      title: 'Exports',
      notes: [
        `data: a simulated chain of seed ${SEED}; 14 columns of v1_transactions, ${transactions.toLocaleString('en-US')} rows again and again`,
        'from spawn to exit; for Parquet, the query runs twice, once for its types',
        `${repeat} rounds; median (least to greatest)`,
      ],
      tables: [{ head: ['rows', 'file', 'rows/s', 'peak memory, MB', 'file, MB', 'time / sqlite3'], rows }],
    },
  ],
  { pinned: false },
);
