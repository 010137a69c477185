/**
 * Measures events that a node posts one after the other while nobody reads, one client polls, or clients read without a pause.
 * Compares the rate with an import of the same events.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BLOCKS, devnetRecording, recordedEvents, SEED } from './dataset.ts';
import { MAIN, onCore, ROOT, run, type Server, script, startServer, statusOf, withDirectory } from './harness.ts';
import type { PostedTimes } from './parts/post-recording.ts';
import type { Reads } from './parts/reads.ts';
import { type Cell, figure, publish, reportOptions, type Section } from './results.ts';

/** Loads by name: connections, and milliseconds between two requests of a connection. */
const LOADS = { 'nobody reads': null, 'a client polls': [1, 50], 'full reads': [4, 0] } as const;
type Load = keyof typeof LOADS;

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    /** Names of loads, separated by commas. */
    loads: { type: 'string', default: Object.keys(LOADS).join() },
    /** Milliseconds between two events. */
    pause: { type: 'string', default: '0' },
    program: { type: 'string' },
  },
});
const repeat = Number(values.repeat);
const loads = values.loads.split(',').map((name) => {
  if (!(name in LOADS)) throw new Error(`${name} is none of ${Object.keys(LOADS).join(', ')}`);
  return name as Load;
});
const program = values.program === undefined ? script(MAIN) : [values.program];
const quietly = ['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1'];
const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'];

/** Blocks that are posted before the measurement, including genesis. The clients read them. */
const HISTORY = 60;
/** The newest blocks of the history may leave the chain, so clients don't request them by height. */
const SETTLED = HISTORY - 20;

/** Returns the number of transactions of the history, and shuffled paths that get 200 from its end on. */
async function historyOf(file: string): Promise<{ transactions: number; paths: string[] }> {
  const [ids, principals] = [new Set<string>(), new Set<string>()];
  let [blocks, transactions] = [0, 0];
  for await (const { path, text } of recordedEvents(file)) {
    if (path !== '/new_block') continue;
    if (++blocks > HISTORY) break;
    const block = JSON.parse(text);
    transactions += block.transactions.length;
    for (const { txid, stx_transfer_event: transfer } of block.events) {
      ids.add(txid);
      if (transfer !== undefined) principals.add(transfer.sender).add(transfer.recipient);
    }
  }
  const heights = Array.from({ length: SETTLED }, (_, index) => index + 1);
  const paths = [
    ...Array.from({ length: heights.length }, () => '/extended/v3/transactions'),
    ...heights.map((height) => `/extended/v2/blocks/${height}`),
    ...heights.map((height) => `/extended/v3/blocks/${height}/transactions`),
    ...[...ids].slice(0, 100).flatMap((id) => [`/extended/v1/tx/${id}`, `/extended/v3/transactions/${id}`]),
    ...[...principals]
      .slice(0, 50)
      .flatMap((principal) => [
        `/extended/v3/principals/${principal}/transactions`,
        `/extended/v1/address/${principal}/transactions`,
        `/extended/v1/address/${principal}/balances`,
        `/extended/v1/address/${principal}/nonces`,
      ]),
  ];
  return { transactions, paths: paths.sort((a, b) => (Bun.hash(a) < Bun.hash(b) ? -1 : 1)) };
}

/** Starts the clients of a load. @returns a function that stops them and returns their measurements */
function startReads(load: Load, server: Server, paths: readonly string[]): () => Promise<Reads> {
  const clients = LOADS[load];
  if (clients === null) return async () => ({ requests: 0, p50: 0, p99: 0 });
  const command = script(join(ROOT, 'bench', 'parts', 'reads.ts'), server.url, ...clients.map(String));
  const stdin = new Blob([paths.join('\n')]);
  const child = Bun.spawn(onCore(1, command), { stdin, stdout: 'pipe', stderr: 'inherit' });
  return async () => {
    child.kill('SIGTERM');
    const text = await child.stdout.text();
    if ((await child.exited) !== 0) throw new Error(`the reads of "${load}" failed`);
    return JSON.parse(text);
  };
}

interface Posted extends PostedTimes {
  seconds: number;
  elapsedSeconds: number;
  kinds: Record<string, PostedTimes>;
}

interface Round extends Posted {
  cpuSeconds: number;
  written: number;
  reads: Reads;
}

/** Posts the recording to a new server under a load. */
async function live(file: string, directory: string, load: Load, paths: readonly string[]): Promise<Round> {
  const server = await startServer(onCore(0, [...program, 'serve', '--data', directory, ...ports, ...quietly]));
  const poster = join(ROOT, 'bench', 'parts', 'post-recording.ts');
  const options = [file, server.events, values.pause, String(server.pid), String(HISTORY)];
  const child = Bun.spawn(onCore(1, script(poster, ...options)), { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  const output = child.stdout.getReader();
  await output.read();
  const endReads = startReads(load, server, paths);
  const [cpuBefore, writtenBefore] = [server.cpuSeconds(), server.written()];
  child.stdin.write('go\n');
  child.stdin.end();
  const posted: Posted = JSON.parse(new TextDecoder().decode((await output.read()).value));
  const cpuSeconds = server.cpuSeconds() - cpuBefore;
  const reads = await endReads();
  const written = server.written() - writtenBefore;
  await server.stop();
  return { ...posted, cpuSeconds, written, reads };
}

interface Imported {
  seconds: number;
  cpuSeconds: number;
  transactions: number;
}

async function runImport(file: string, directory: string): Promise<Imported> {
  const command = [...program, 'import', file, '--data', directory, ...quietly.slice(0, 2)];
  const { seconds, cpuSeconds } = await run(onCore(0, command));
  return { seconds, cpuSeconds, transactions: (await statusOf(directory)).transactions };
}

const file = await devnetRecording(Number(values.blocks));
const { transactions: before, paths } = await historyOf(file);
const imports: Imported[] = [];
const rounds = new Map(loads.map((load): [Load, Round[]] => [load, []]));
for (let n = 0; n < repeat; n++) {
  await withDirectory(async (directory) => {
    // The order alternates, because the load of the machine changes.
    const order = n % 2 === 0 ? loads : loads.toReversed();
    const reference = await runImport(file, join(directory, 'import'));
    imports.push(reference);
    for (const [index, load] of order.entries()) {
      const data = join(directory, String(index));
      rounds.get(load)!.push(await live(file, data, load, paths));
      if ((await statusOf(data)).transactions !== reference.transactions) throw new Error('the two indexes differ');
    }
  });
}

const notes = [
  `input: simulated chain of seed ${SEED}, ${values.blocks} blocks, ${imports[0]!.transactions} transactions; the first ${HISTORY} blocks aren't measured`,
  `events posted one after the other over one connection, ${values.pause} ms between two; no chainhooks`,
  `${repeat} rounds: median (least to greatest); ratios are of the same round`,
];
const MEGABYTE = 1e6;

function sectionOf(load: Load, liveRounds: readonly Round[]): Section {
  const row = (name: string, value: (result: Round, round: number) => number, digits = 0): Cell[] => [
    name,
    figure(liveRounds.map(value), digits),
  ];
  const reads =
    LOADS[load] === null
      ? []
      : [
          row('reads/s', ({ reads: { requests }, elapsedSeconds }) => requests / elapsedSeconds),
          row('reads, p50, ms', ({ reads: { p50 } }) => p50, 2),
          row('reads, p99, ms', ({ reads: { p99 } }) => p99, 2),
        ];
  const rateOf = ({ seconds }: Round, round: number): number => (imports[round]!.transactions - before) / seconds;
  const importRate = ({ transactions, seconds }: Imported): number => transactions / seconds;
  const kinds = Object.keys(liveRounds[0]!.kinds);
  return {
    title: `Live ingest, ${load}`,
    notes,
    tables: [
      {
        head: ['figure', 'value'],
        rows: [
          row('events/s', ({ events, seconds }) => events / seconds),
          row('transactions/s', rateOf),
          row('rate of live ingest / import', (result, n) => rateOf(result, n) / importRate(imports[n]!), 2),
          row('seconds', ({ seconds }) => seconds, 2),
          row('processor seconds', ({ cpuSeconds }) => cpuSeconds, 2),
          row('longest wait, ms', ({ mostMs }) => mostMs, 1),
          row('longest turn, processor ms', ({ mostCpuMs }) => mostCpuMs, 1),
          row('written, MB', ({ written }) => written / MEGABYTE),
          ...reads,
        ],
      },
      {
        head: ['event', 'events', 'p50, ms', 'p99, ms', 'longest, ms', 'processor ms', 'most of one, processor ms'],
        rows: kinds.map((path) => {
          const cell = (value: (times: PostedTimes) => number, digits: number): Cell =>
            figure(
              liveRounds.map((result) => value(result.kinds[path]!)),
              digits,
            );
          return [
            path,
            cell(({ events }) => events, 0),
            cell(({ medianMs }) => medianMs, 2),
            cell(({ p99Ms }) => p99Ms, 2),
            cell(({ mostMs }) => mostMs, 1),
            cell(({ cpuMs }) => cpuMs, 0),
            cell(({ mostCpuMs }) => mostCpuMs, 1),
          ];
        }),
      },
    ],
  };
}

const importRow = (name: string, value: (run: Imported) => number, digits = 0): Cell[] => [
  name,
  figure(imports.map(value), digits),
];
publish([
  ...loads.map((load) => sectionOf(load, rounds.get(load)!)),
  {
    title: 'Import of the same events',
    notes,
    tables: [
      {
        head: ['figure', 'value'],
        rows: [
          importRow('import, transactions/s', ({ transactions, seconds }) => transactions / seconds),
          importRow('import, seconds', ({ seconds }) => seconds, 2),
          importRow('import, seconds of processor time', ({ cpuSeconds }) => cpuSeconds, 2),
        ],
      },
    ],
  },
]);
