/** The longest turn of the event loop that a request takes, over a chain of large values, beside that of a look-up. */
import { Database } from 'bun:sqlite';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/base/clock.ts';
import { Turns } from '../src/base/turns.ts';
import { clarity } from '../src/codec/clarity-encode.ts';
import { createApp } from '../src/commands/serve/app.ts';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { indexPath } from '../src/store/files/database.ts';
import { openSnapshots } from '../src/store/read/snapshots.ts';
import { ingestOf, received } from '../test/support/data/ingest.ts';
import { SEED } from './dataset.ts';
import { figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '15' },
    /** Tuples of the list that each value is. */
    tuples: { type: 'string', default: '600' },
  },
});
const LARGE = clarity.list(
  Array.from({ length: Number(values.tuples) }, (_, at) => clarity.tuple({ at: clarity.uint(at) })),
);

using data = ingestOf(
  [...devnetEvents({ seed: SEED, blocks: 60, accounts: 4, transactionsPerBlock: 40 })].map(received),
);
/** The contract and the transaction that the requests are about. */
const { contract, id } = (() => {
  using db = new Database(indexPath(data.path));
  db.run(
    "UPDATE events SET value = ?1 WHERE kind = 1 AND contract_id NOT IN (SELECT id FROM principals WHERE address GLOB '*.pox-*')",
    [LARGE],
  );
  db.run('UPDATE transaction_bodies SET result = ?1', [LARGE]);
  return db
    .query<{ contract: string; id: string }, []>(
      `SELECT p.address AS contract, '0x' || lower(hex(t.tx_id)) AS id FROM events e
         JOIN principals p ON p.id = e.contract_id JOIN transactions t ON t.position = e.position
        WHERE e.kind = 1 AND p.address NOT GLOB '*.pox-*' GROUP BY e.contract_id ORDER BY count(*) DESC LIMIT 1`,
    )
    .get()!;
})();

const turns = new Turns(systemClock);
const snapshots = openSnapshots(data.path, { turns });
const app = createApp({ snapshots, version: 'stackside v0 (bench:bench)', log: () => {}, clock: systemClock, turns });

/** Milliseconds of the longest turn while a request is answered. */
async function longestTurn(path: string): Promise<number> {
  let [isAnswered, longest, last] = [false, 0, performance.now()];
  const answer = Promise.resolve(app.handle(new Request(`http://localhost${path}`))).then(async (response) => {
    const text = await response.text();
    isAnswered = true;
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
  });
  while (!isAnswered) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }
  await answer;
  return longest;
}

/** The least of several times: other work of the machine only adds to it. */
async function leastOf(path: (n: number) => string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < Number(values.repeat); round++) least = Math.min(least, await longestTurn(path(round)));
  return least;
}

const searched = `/stackside/v1/smart-contracts/${contract}`;
/** Each URL is a new one, so that no answer comes from the response cache. */
const paths: [name: string, path: (n: number) => string][] = [
  ['look-up of a balance', (n) => `/extended/v3/principals/${contract}/balances/stx?n=${n}`],
  ['one transaction with such a result', (n) => `/extended/v3/transactions/${id}?n=${n}`],
  ['50 transactions of v1', (n) => `/extended/v1/tx?limit=50&n=${n}`],
  ['50 logs of a contract', (n) => `/extended/v2/smart-contracts/${contract}/logs?limit=50&n=${n}`],
  ['search of logs that finds none', (n) => `${searched}/logs?limit=50&field.at=${n}`],
  ['search of calls that finds none', (n) => `${searched}/calls?limit=50&function_name=transfer&arg.0=u${n}`],
];
const measured: [string, number][] = [];
for (const [name, path] of paths) measured.push([name, await leastOf(path)]);
snapshots.close();
const plain = measured[0]![1];

publish([
  {
    title: 'Turns of the event loop',
    notes: [
      `data: simulated chain of seed ${SEED}; each log and each result is a value of ${LARGE.length} bytes`,
      `the longest turn while one request is answered; the least of ${values.repeat} times`,
    ],
    tables: [
      {
        head: ['request', 'longest turn, ms', "of the look-up's"],
        rows: measured.map(([name, milliseconds]) => [
          name,
          figure([milliseconds], 2),
          figure([milliseconds / plain], 1),
        ]),
      },
    ],
  },
]);
