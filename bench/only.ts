/**
 * An index of three contracts beside an index of everything (`--only`): its bytes, the time to make it, and whether its answers about
 * them are the same.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { indexPath } from '../src/store/files/database.ts';
import { type DirectoryStatus, directoryStatus } from '../src/store/files/status.ts';
import { devnetRecording, SEED } from './dataset.ts';
import { type Finished, MAIN, run, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    transactions: { type: 'string', default: '100000' },
    /** A data directory of everything, whose journal is read, in place of a chain that is made. */
    data: { type: 'string' },
    /** Requests about each contract and route. */
    requests: { type: 'string', default: '20' },
  },
});
const TRANSACTIONS_PER_BLOCK = 40;
const TRANSACTIONS_PER_ACCOUNT = 5000;
const MEGABYTE = 1e6;
/** Ranks of the contracts by their calls: one that many call, and two that few do. */
const RANKS = [0, 10, 30];

const blocks = Math.ceil(Number(values.transactions) / TRANSACTIONS_PER_BLOCK);
const accounts = Math.max(100, Math.ceil(Number(values.transactions) / TRANSACTIONS_PER_ACCOUNT));

/** Contracts, and tokens of theirs. */
function chosenIn(directory: string): { contracts: string[]; assets: string[] } {
  using db = new Database(indexPath(directory), { readonly: true });
  const called = db
    .query<{ address: string }, []>(
      "SELECT address FROM accounts WHERE calls > 0 AND address LIKE '%.%' ORDER BY calls DESC",
    )
    .all();
  const contracts = RANKS.map((rank) => called[Math.min(rank, called.length - 1)]!.address);
  const assets = contracts.flatMap((contract) =>
    db
      .query<{ identifier: string }, [string]>('SELECT identifier FROM assets WHERE identifier GLOB ?1')
      .all(`${contract}::*`)
      .map(({ identifier }) => identifier),
  );
  return { contracts, assets };
}

/** Paths of questions about contracts and their tokens, each with pages further on. */
function questionsAbout({ contracts, assets }: ReturnType<typeof chosenIn>): string[] {
  const lists = [
    ...contracts.flatMap((one) => [
      `/extended/v3/principals/${one}/transactions`,
      `/extended/v3/principals/${one}/transfers/stx/inbound`,
      `/extended/v2/addresses/${one}/transactions`,
      `/extended/v2/smart-contracts/${one}/logs`,
      `/stackside/v1/smart-contracts/${one}/calls`,
      `/extended/v1/contract/${one}/events`,
    ]),
    ...assets.flatMap((one) => [`/extended/v3/tokens/ft/${encodeURIComponent(one)}/holders`]),
  ];
  const single = contracts.flatMap((one) => [
    `/extended/v3/smart-contracts/${one}`,
    `/extended/v1/address/${one}/balances`,
    `/extended/v3/principals/${one}/balances/stx`,
  ]);
  const offsets = Array.from({ length: Number(values.requests) }, (_, n) => n);
  const paged = (list: string, n: number): string =>
    /\/v3\/|^\/stackside/.test(list) ? `${list}?limit=${n + 1}` : `${list}?limit=20&offset=${n * 40}`;
  return [...single, ...lists.flatMap((list) => offsets.map((n) => paged(list, n)))];
}

const PORTS = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0', '--node-rpc', 'http://127.0.0.1:1'];
const serve = (data: string) => startServer(script(MAIN, 'serve', '--data', data, ...PORTS, '--log-level', 'error'));

/** @returns how many answers there were, with how many bytes, all of them the same */
async function compared(full: string, few: string, questions: readonly string[]) {
  const [whole, part] = [await serve(full), await serve(few)];
  let bytes = 0;
  try {
    for (const question of questions) {
      const [ours, theirs] = await Promise.all([fetch(part.url + question), fetch(whole.url + question)]);
      const [text, expected] = [await ours.text(), await theirs.text()];
      // The members of an object have no order.
      const isSame = ours.status === theirs.status && Bun.deepEquals(JSON.parse(text), JSON.parse(expected));
      if (!isSame) throw new Error(`${question} is answered otherwise`);
      bytes += text.length;
    }
  } finally {
    await Promise.all([whole.stop(), part.stop()]);
  }
  return { answers: questions.length, bytes };
}

await withDirectory(async (directory) => {
  const made = join(directory, 'full');
  const source = values.data === undefined ? [await devnetRecording(blocks, accounts)] : ['--from', values.data];
  const importInto = (data: string, ...only: string[]): Promise<Finished> =>
    run(
      script(
        MAIN,
        'import',
        ...source,
        '--data',
        data,
        '--log-level',
        'error',
        ...only.flatMap((one) => ['--only', one]),
      ),
    );
  const full = values.data ?? made;
  const times: Finished[] = values.data === undefined ? [await importInto(made)] : [];
  const chosen = chosenIn(full);
  const rounds: Finished[] = [];
  for (let n = 0; n < Number(values.repeat); n++) {
    rounds.push(await importInto(join(directory, `few-${n}`), ...chosen.contracts));
    if (values.data === undefined && n > 0) times.push(await importInto(join(directory, `full-${n}`)));
  }
  const few = join(directory, 'few-0');
  const answers = await compared(full, few, questionsAbout(chosen));
  const row = (name: string, status: DirectoryStatus, of: DirectoryStatus, took: readonly Finished[]): Cell[] => [
    name,
    figure([status.transactions]),
    figure([status.index_bytes / MEGABYTE], 1),
    figure([(100 * status.index_bytes) / of.index_bytes], 1, '%'),
    took.length === 0
      ? ''
      : figure(
          took.map(({ seconds }) => seconds),
          1,
        ),
    took.length === 0 || times.length === 0
      ? ''
      : figure(
          took.map(({ seconds }, n) => seconds / times[n]!.seconds),
          2,
        ),
  ];
  const [whole, part] = [directoryStatus(full), directoryStatus(few)];
  publish(
    [
      {
        title: 'An index of three contracts',
        notes: [
          `simulated chain of seed ${SEED}, ${whole.transactions.toLocaleString('en-US')} transactions`,
          `contracts of ranks ${RANKS.map((rank) => rank + 1).join(', ')} by their calls; ${values.repeat} rounds`,
          `${answers.answers.toLocaleString('en-US')} answers about them, ${(answers.bytes / MEGABYTE).toFixed(1)} MB, equal those of the index of everything`,
        ],
        tables: [
          {
            head: ['index', 'transactions', 'MB', 'of everything', 'import, s', 'of everything'],
            rows: [row('of everything', whole, whole, times), row('of three contracts', part, whole, rounds)],
          },
        ],
      },
    ],
    { pinned: false },
  );
});
