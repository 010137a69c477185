/** How many requests a second the API answers on one core, beside a server that does nothing. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { indexPath } from '../src/store/files/database.ts';
import { devnetRecording, fillMempool, importInto, SEED } from './dataset.ts';
import {
  heading,
  MAIN,
  onCore,
  ROOT,
  run,
  type Server,
  say,
  script,
  shown,
  spread,
  startServer,
  table,
  withDirectory,
} from './harness.ts';

const { values } = parseArgs({
  options: {
    repeat: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    seconds: { type: 'string', default: '3' },
    'warm-up': { type: 'string', default: '1' },
    /** Asks each URL once only, so that no answer is one that was kept. */
    distinct: { type: 'boolean', default: false },
    program: { type: 'string' },
    data: { type: 'string' },
  },
});
const repeat = Number(values.repeat);
const program = values.program === undefined ? script(MAIN) : [values.program];

interface Load {
  perSecond: number;
  p50: number;
  p99: number;
  bytesEach: number;
  busy: number;
  /** Processor time of the server for one request, microseconds. */
  cpu: number;
}

/** The name of a route, and the paths that are asked for in turn. */
type Route = readonly [name: string, paths: readonly string[]];

const LOOKUPS = 500;

/** What is asked for, taken from the index itself. */
function routesOf(directory: string): { routes: Route[]; transactions: number; pending: number } {
  const db = new Database(indexPath(directory), { readonly: true });
  const all = <T>(sql: string): T[] => db.query<T, []>(sql).all();
  const { transactions } = all<{ transactions: number }>('SELECT transactions FROM totals')[0]!;
  const { pending } = all<{ pending: number }>('SELECT mempool_pending AS pending FROM progress')[0]!;
  const ids = all<{ id: string }>(
    `SELECT lower(hex(tx_id)) AS id FROM transactions WHERE abs(random()) % ${Math.ceil(transactions / LOOKUPS)} = 0`,
  ).map(({ id }) => id);
  const busiest = all<{ address: string; type: number }>(
    `SELECT p.address, instr(p.address, '.') AS type FROM accounts a JOIN principals p ON p.id = a.principal_id
      ORDER BY a.transactions DESC LIMIT 200`,
  );
  const accounts = busiest.filter(({ type }) => type === 0).map(({ address }) => address);
  const { height } = all<{ height: number }>('SELECT height FROM blocks ORDER BY transactions DESC LIMIT 1')[0]!;
  db.close();
  return {
    transactions,
    pending,
    routes: [
      ['/extended/v3/transactions/{tx_id}', ids.map((id) => `/extended/v3/transactions/0x${id}`)],
      ['/extended/v3/transactions', ['/extended/v3/transactions']],
      [
        '/extended/v3/principals/{principal}/transactions',
        [`/extended/v3/principals/${busiest[0]!.address}/transactions`],
      ],
      ['/extended/v3/mempool/transactions', ['/extended/v3/mempool/transactions']],
      ['/extended/v3/blocks/{height}/transactions', [`/extended/v3/blocks/${height}/transactions`]],
      [
        '/extended/v3/principals/{principal}/balances/stx',
        accounts.map((address) => `/extended/v3/principals/${address}/balances/stx`),
      ],
      ['/extended', ['/extended']],
    ],
  };
}

/** Pending transactions the mempool's route is measured with. */
const WAITING = 1000;

async function load(server: Server, paths: readonly string[]): Promise<Load> {
  const file = join(ROOT, 'bench', 'parts', 'load.ts');
  const how = values.distinct ? 'distinct' : 'again';
  const command = script(file, server.url, values.connections, values['warm-up'], values.seconds, how, ...paths);
  const before = server.cpuSeconds();
  const found = JSON.parse((await run(onCore(1, command))).stdout);
  return { ...found, cpu: ((server.cpuSeconds() - before) * 1e6) / found.answered };
}

async function measure(directory: string): Promise<void> {
  if (values.data === undefined) {
    await importInto(directory, await devnetRecording());
    fillMempool(directory, WAITING);
  }
  const { routes, transactions, pending } = routesOf(directory);
  const serve = ['serve', '--mode', 'read', '--data', directory, '--api-host', '127.0.0.1', '--api-port', '0'];
  const api = await startServer(onCore(0, [...program, ...serve, '--log-level', 'error']));
  const empty = await startServer(onCore(0, script(join(ROOT, 'bench', 'parts', 'empty-server.ts'))));
  const found = new Map<string, Load[]>([['empty route', []], ...routes.map(([name]): [string, Load[]] => [name, []])]);
  try {
    for (let n = 0; n < repeat; n++) {
      const order = n % 2 === 0 ? routes : routes.toReversed();
      found.get('empty route')!.push(await load(empty, ['/']));
      for (const [name, paths] of order) found.get(name)!.push(await load(api, paths));
    }
  } finally {
    await api.stop();
    await empty.stop();
  }

  heading(values.distinct ? 'HTTP, each URL asked once' : 'HTTP, the same URLs asked again');
  say(
    `- data: simulated chain of seed ${SEED}, ${transactions.toLocaleString('en-US')} transactions, ${pending} pending`,
  );
  say(
    `- ${values.connections} connections, ${repeat} rounds of ${values.seconds} s after ${values['warm-up']} s of warm-up;`,
  );
  say(`  routes in reversed order every other round; median (least to greatest)`);
  say();
  const base = found.get('empty route')!;
  table(
    [
      'route',
      'requests/s',
      'of the empty route',
      'CPU µs',
      'the empty one / its',
      'p50 ms',
      'p99 ms',
      'bytes',
      "generator's core",
    ],
    [...found].map(([name, loads]) => [
      name,
      shown(loads.map(({ perSecond }) => perSecond)),
      `${shown(
        loads.map(({ perSecond }, n) => (perSecond / base[n]!.perSecond) * 100),
        1,
      )} %`,
      shown(
        loads.map(({ cpu }) => cpu),
        1,
      ),
      `${shown(
        loads.map(({ cpu }, n) => (base[n]!.cpu / cpu) * 100),
        1,
      )} %`,
      shown(
        loads.map(({ p50 }) => p50),
        2,
      ),
      shown(
        loads.map(({ p99 }) => p99),
        2,
      ),
      shown([spread(loads.map(({ bytesEach }) => bytesEach)).median]),
      `${shown([spread(loads.map(({ busy }) => busy * 100)).median])} %`,
    ]),
  );
}

if (values.data === undefined) await withDirectory(measure);
else await measure(values.data);
