/** Measures requests per second of the API on one core, compared with an empty server. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { indexPath } from '../src/store/files/database.ts';
import { BLOCKS, devnetRecording, importInto, SEED, waitingRecording } from './dataset.ts';
import { MAIN, onCore, ROOT, run, type Server, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    connections: { type: 'string', default: '32' },
    seconds: { type: 'string', default: '3' },
    'warm-up': { type: 'string', default: '1' },
    /** Requests each URL only once, so that no response comes from the response cache. */
    distinct: { type: 'boolean', default: false },
    /** Length of the chain in blocks, without `--data`. */
    blocks: { type: 'string', default: String(BLOCKS) },
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
  /** The server's processor time per request, in microseconds. */
  cpu: number;
}

/** A route, and the paths to request in turn. */
type Route = readonly [name: string, paths: readonly string[]];

const LOOKUPS = 500;

/** Reads paths from the index. */
function routesOf(directory: string): { routes: Route[]; transactions: number; pending: number } {
  const db = new Database(indexPath(directory), { readonly: true });
  const select = <T>(sql: string): T[] => db.query<T, []>(sql).all();
  const { transactions } = select<{ transactions: number }>('SELECT count(*) AS transactions FROM transactions')[0]!;
  const { pending } = select<{ pending: number }>('SELECT mempool_pending AS pending FROM progress')[0]!;
  const ids = select<{ id: string }>(
    `SELECT lower(hex(tx_id)) AS id FROM transactions WHERE abs(random()) % ${Math.ceil(transactions / LOOKUPS)} = 0`,
  ).map(({ id }) => id);
  const busiest = select<{ address: string; type: number }>(
    `SELECT p.address, instr(p.address, '.') AS type FROM accounts a JOIN principals p ON p.id = a.principal_id
      ORDER BY a.transactions DESC LIMIT 200`,
  );
  const accounts = busiest.filter(({ type }) => type === 0).map(({ address }) => address);
  const { height } = select<{ height: number }>('SELECT height FROM blocks ORDER BY transactions DESC LIMIT 1')[0]!;
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
      ['/extended/v1/address/{principal}/transactions', [`/extended/v1/address/${busiest[0]!.address}/transactions`]],
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

/** Pending transactions in the mempool. */
const WAITING = 1000;

async function load(server: Server, paths: readonly string[]): Promise<Load> {
  const file = join(ROOT, 'bench', 'parts', 'load.ts');
  const how = values.distinct ? 'distinct' : 'again';
  const command = script(file, server.url, values.connections, values['warm-up'], values.seconds, how, ...paths);
  const before = server.cpuSeconds();
  const load = JSON.parse((await run(onCore(1, command))).stdout);
  return { ...load, cpu: ((server.cpuSeconds() - before) * 1e6) / load.answered };
}

async function measure(directory: string): Promise<void> {
  if (values.data === undefined) {
    const blocks = Number(values.blocks);
    await importInto(directory, await devnetRecording(blocks), await waitingRecording(WAITING, blocks));
  }
  const { routes, transactions, pending } = routesOf(directory);
  const serve = ['serve', '--mode', 'read', '--data', directory, '--api-host', '127.0.0.1', '--api-port', '0'];
  const api = await startServer(onCore(0, [...program, ...serve, '--log-level', 'error']));
  const empty = await startServer(onCore(0, script(join(ROOT, 'bench', 'parts', 'empty-server.ts'))));
  const runs = new Map<string, Load[]>([['empty route', []], ...routes.map(([name]): [string, Load[]] => [name, []])]);
  try {
    for (let n = 0; n < repeat; n++) {
      const order = n % 2 === 0 ? routes : routes.toReversed();
      runs.get('empty route')!.push(await load(empty, ['/']));
      for (const [name, paths] of order) runs.get(name)!.push(await load(api, paths));
    }
  } finally {
    await api.stop();
    await empty.stop();
  }

  const base = runs.get('empty route')!;
  publish([
    {
      title: values.distinct ? 'HTTP, each URL once' : 'HTTP, the same URLs again',
      notes: [
        `data: simulated chain of seed ${SEED}, ${transactions.toLocaleString('en-US')} transactions, ${pending} pending`,
        `${values.connections} connections, ${repeat} rounds of ${values.seconds} s after ${values['warm-up']} s of warm-up; reverse order of routes in every second round; median (least to greatest)`,
      ],
      tables: [
        {
          head: [
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
          rows: [...runs].map(([name, loads]) => {
            const cell = (value: (load: Load, round: number) => number, digits = 0, unit?: string): Cell =>
              figure(loads.map(value), digits, unit);
            return [
              name,
              cell(({ perSecond }) => perSecond),
              cell(({ perSecond }, n) => (perSecond / base[n]!.perSecond) * 100, 1, '%'),
              cell(({ cpu }) => cpu, 1),
              cell(({ cpu }, n) => (base[n]!.cpu / cpu) * 100, 1, '%'),
              cell(({ p50 }) => p50, 2),
              cell(({ p99 }) => p99, 2),
              figure([spread(loads.map(({ bytesEach }) => bytesEach)).median]),
              figure([spread(loads.map(({ busy }) => busy * 100)).median], 0, '%'),
            ];
          }),
        },
      ],
    },
  ]);
}

if (values.data === undefined) await withDirectory(measure);
else await measure(values.data);
