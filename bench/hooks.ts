/** Measures chainhooks: matching with few and with many of them, and a long queue. */
import { Database } from 'bun:sqlite';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { indexPath, journalPath } from '../src/store/files/database.ts';
import { BLOCKS, devnetRecording, importInto, SEED } from './dataset.ts';
import { MAIN, onCore, run, script, TREE, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions, type Section } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    hooks: { type: 'string', default: '1,100,10000' },
    /** Queued deliveries. */
    queue: { type: 'string', default: '100000' },
    /** Bytes of a body. */
    bytes: { type: 'string', default: '4000' },
  },
});
const repeat = Number(values.repeat);
const sizes = values.hooks.split(',').map(Number);
const part = (name: string): string => join(TREE, 'bench', 'parts', name);

/** All times are processor time, which other programs don't increase. */
interface Costs {
  seconds: number;
  hookSeconds: number;
  blocks: number;
  matches: number;
  /** Milliseconds of the first block with a match; null without one. */
  firstMatch: number | null;
  /** Milliseconds of a block without a match: the engine looks up its transactions and events. Null without one. */
  perChange: number | null;
  /** Milliseconds that each later match adds to its block, to create and queue the delivery; null without one. */
  perMatch: number | null;
}

const file = await devnetRecording(Number(values.blocks));

/** The contracts that hooks watch, one each. */
const WATCHED = 400;
/** The number of hooks that watch the busiest contracts: several match each block. Other hooks match rarely. */
const OFTEN = 100;

/** Contracts by their number of logs, smallest first. */
const contracts = await withDirectory(async (directory) => {
  await importInto(directory, file);
  using db = new Database(indexPath(directory), { readonly: true });
  return db
    .query<{ address: string }, []>('SELECT key AS address FROM counters WHERE kind = 6 ORDER BY count, key')
    .all()
    .map(({ address }) => address);
});

type Kind = 'miss' | 'match' | 'often';
const watchedBy = (kind: Kind): string[] =>
  kind === 'often' ? contracts.toReversed().slice(0, OFTEN) : contracts.slice(0, WATCHED);

async function take(hooks: number, kind: Kind): Promise<Costs> {
  const matching = kind === 'miss' ? 'miss' : 'match';
  const command = script(part('hooks-chain.ts'), file, String(hooks), matching, ...watchedBy(kind));
  return JSON.parse((await run(onCore(0, command))).stdout);
}

const rounds = new Map<string, Costs[]>();
for (let round = 0; round < repeat; round++) {
  const cases: [number, Kind][] = [
    [0, 'miss'],
    ...sizes.flatMap((hooks): [number, Kind][] => [
      [hooks, 'miss'],
      [hooks, 'match'],
    ]),
    [OFTEN, 'often'],
  ];
  for (const [hooks, kind] of round % 2 === 0 ? cases : cases.toReversed()) {
    const key = `${hooks} ${kind}`;
    rounds.set(key, [...(rounds.get(key) ?? []), await take(hooks, kind)]);
  }
}

/** Converts milliseconds to microseconds; empty without a value. */
const micros = (milliseconds: readonly (number | null)[]): Cell =>
  figure(milliseconds.filter((value) => value !== null).map((value) => value * 1000));

const matching: Section = {
  title: 'Chainhooks: matching',
  notes: [
    `input: simulated chain of seed ${SEED}, ${values.blocks} blocks; ${repeat} rounds: median (least to greatest)`,
    `hooks that miss watch principals, contracts and tokens that the chain doesn't have; hooks that match watch one of the ${WATCHED} contracts with the fewest logs, or (often) one of the ${OFTEN} with the most; each block with a match makes one delivery`,
    'processor time of the whole process, without reading the clock; nothing is sent',
  ],
  tables: [
    {
      head: [
        'hooks',
        '',
        'import, CPU s',
        'of it hooks, %',
        'µs per block without a match',
        'matches',
        'first match, µs',
        'µs a match',
      ],
      rows: [...rounds]
        .sort(([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10) || b.localeCompare(a))
        .map(([key, costs]) => {
          const [hooks = '', kind = ''] = key.split(' ');
          const cell = (value: (costs: Costs) => number, digits = 0): Cell => figure(costs.map(value), digits);
          return [
            Number(hooks).toLocaleString('en-US'),
            hooks === '0' ? '' : kind,
            cell(({ seconds }) => seconds, 2),
            cell(({ seconds, hookSeconds }) => (hookSeconds / seconds) * 100, 1),
            micros(costs.map(({ perChange }) => perChange)),
            figure([costs[0]!.matches]),
            micros(costs.map(({ firstMatch }) => firstMatch)),
            micros(costs.map(({ perMatch }) => perMatch)),
          ];
        }),
    },
  ],
};

interface Drained {
  seconds: number;
  /** Peak memory in megabytes. */
  memory: number;
  /** Journal entries and bytes for the results of deliveries. */
  entries: number;
  journalBytes: number;
}

/** Returns the number of journal entries, and the bytes of the file after the server closed it. */
function journalOf(directory: string): { entries: number; bytes: number } {
  const path = journalPath(directory);
  if (!existsSync(path)) return { entries: 0, bytes: 0 };
  using db = new Database(path, { readonly: true });
  const { entries } = db.query<{ entries: number }, []>('SELECT coalesce(max(id), 0) AS entries FROM events').get()!;
  return { entries, bytes: statSync(path).size };
}

/** Runs a server until the queue is empty, and measures it. */
async function drain(directory: string, count: () => number, target: number): Promise<Drained> {
  const before = journalOf(directory);
  const started = performance.now();
  const command = script(MAIN, 'serve', '--data', directory, '--api-port', '0', '--event-port', '0');
  const child = Bun.spawn(onCore(0, [...command, '--hook-targets', '127.0.0.0/8', '--log-level', 'error']), {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  await child.stdout.getReader().read();
  while (count() < target) await Bun.sleep(20);
  const seconds = (performance.now() - started) / 1000;
  await Bun.sleep(500);
  const status = await Bun.file(`/proc/${child.pid}/status`).text();
  child.kill('SIGTERM');
  await child.exited;
  const after = journalOf(directory);
  return {
    seconds,
    memory: Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1000,
    entries: after.entries - before.entries,
    journalBytes: after.bytes - before.bytes,
  };
}

let received = 0;
const receiver = Bun.serve({
  port: 0,
  async fetch(request) {
    await request.bytes();
    received += 1;
    return new Response('');
  },
});
const measureQueue = async (deliveries: number) =>
  withDirectory(async (directory) => {
    const url = `http://127.0.0.1:${receiver.port}/`;
    await run(script(part('hooks-queue.ts'), directory, String(deliveries), '50', values.bytes, url));
    received = 0;
    return drain(directory, () => received, deliveries);
  });

const lengths = [0, Math.round(Number(values.queue) / 10), Number(values.queue)];
const drained: Drained[] = [];
for (const length of lengths) drained.push(await measureQueue(length));
receiver.stop(true);

publish([
  matching,
  {
    title: 'Chainhooks: a long queue',
    notes: [
      `queued deliveries of 50 hooks with bodies of ${values.bytes} bytes; from the start of the server to the last delivery`,
    ],
    tables: [
      {
        head: [
          'deliveries',
          'bodies, MB',
          'peak of memory, MB',
          'deliveries/s',
          'results an entry',
          'journal, bytes per delivery',
        ],
        rows: lengths.map((length, index) => {
          const { seconds, memory, entries, journalBytes } = drained[index]!;
          return [
            length.toLocaleString('en-US'),
            figure([(length * Number(values.bytes)) / 1e6]),
            figure([memory]),
            length === 0 ? '' : figure([length / seconds]),
            length === 0 ? '' : figure([length / entries], 1),
            length === 0 ? '' : figure([journalBytes / length]),
          ];
        }),
      },
    ],
  },
]);
