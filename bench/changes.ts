/** The stream of changes: whether slow readers hold up events and other readers, and how fast pages are read. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type NodeEvent, postEvent } from '../src/devnet/node-event.ts';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { SEED } from './dataset.ts';
import { MAIN, ROOT, type Server, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    readers: { type: 'string', default: '100' },
    blocks: { type: 'string', default: '60' },
    program: { type: 'string' },
  },
});
const program = values.program === undefined ? script(MAIN) : [values.program];
const [HISTORY, TRANSACTIONS_PER_BLOCK] = [100, 40];
/** Milliseconds between two reads of a slow reader. */
const SLOW_MS = 1_000;
const PATH = '/stackside/v1/changes';
const ALL = [
  'transactions',
  'decoded_values',
  'contract_abi',
  'contract_source_code',
  'post_conditions',
  'raw_transactions',
  'block_metadata',
]
  .map((word) => `include=${word}`)
  .join('&');
const NOBODY = 'SP000000000000000000002Q6VF78';
const RARE = `filters=${encodeURIComponent(JSON.stringify({ events: [{ type: 'balance_change', principal: NOBODY }] }))}`;

/** Unix milliseconds, with their fractions. */
const now = (): number => performance.timeOrigin + performance.now();

const announced = new Set<string>();
/** Without those of the mempool, which are most, and without blocks that are announced again: neither changes the chain. */
const events = [
  ...devnetEvents({
    seed: SEED,
    blocks: HISTORY + Number(values.blocks),
    transactionsPerBlock: TRANSACTIONS_PER_BLOCK,
    forkEvery: 0,
  }),
].filter(({ path, body }) => {
  const isKnown = announced.has(body);
  announced.add(body);
  return path !== '/new_mempool_tx' && !isKnown;
});
const isBlock = ({ path, body }: NodeEvent): boolean => path === '/new_block' && JSON.parse(body).block_height > 0;
const begin = events.findIndex((event) => isBlock(event) && JSON.parse(event.body).block_height === HISTORY) + 1;

/** A reader of the stream that is always at its end. @returns a function that waits for the next change */
async function promptReader(url: string): Promise<{ next: () => Promise<number>; leave: () => void }> {
  const leaving = new AbortController();
  const headers = { accept: 'text/event-stream' };
  const response = await fetch(`${url}${PATH}?after=tip&${ALL}`, { headers, signal: leaving.signal });
  const parts = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const next = async (): Promise<number> => {
    for (;;) {
      const end = text.search(/^data: .*$\n\n/m);
      if (end >= 0) {
        text = text.slice(text.indexOf('\n\n', end) + 2);
        return now();
      }
      text += decoder.decode((await parts.read()).value, { stream: true });
    }
  };
  return { next, leave: () => leaving.abort() };
}

/** Processor time a second below which a server has sent all that the system buffers for its slow readers. */
const IDLE_SHARE = 0.2;

/** Waits until a server has done what it was asked for. */
async function settled({ cpuSeconds }: Server): Promise<void> {
  for (let before = -1; cpuSeconds() - before > IDLE_SHARE; ) {
    before = cpuSeconds();
    await Bun.sleep(1_000);
  }
}

interface Times {
  /** Milliseconds from a post to its 200, of blocks. */
  posts: number[];
  /** Milliseconds from the 200 to the prompt reader's event. */
  arrivals: number[];
  /** Bytes that the process has more at the end. */
  memory: number;
}
interface Round {
  without: Times;
  slow: Times;
  /** Changes per second. */
  all: number;
  rare: number;
}

/** Changes per second of a walk through all pages. */
async function walk(url: string, query: string): Promise<number> {
  const start = performance.now();
  for (let after = ''; ; ) {
    const response = await fetch(`${url}${PATH}?limit=500&${query}${after}`);
    const { next, has_more } = (await response.json()) as { next: string; has_more: boolean };
    if (!has_more) return (HISTORY * 1000) / (performance.now() - start);
    after = `&after=${next}`;
  }
}

async function round(one: Server, other: Server): Promise<Round> {
  for (const event of events.slice(0, begin)) {
    await postEvent(event, one.events);
    await postEvent(event, other.events);
  }
  const [all, rare] = [await walk(one.url, ALL), await walk(one.url, RARE)];
  await walk(other.url, ALL);
  await walk(other.url, RARE);
  const before = { one: one.memory(), other: other.memory() };
  const slow = script(
    join(ROOT, 'bench/parts/slow-readers.ts'),
    other.url,
    `${PATH}?${ALL}`,
    values.readers,
    String(SLOW_MS),
  );
  const child = Bun.spawn(slow, { stdout: 'pipe', stderr: 'inherit' });
  await child.stdout.getReader().read();
  await settled(other);
  const sides = [
    { server: one, reader: await promptReader(one.url), times: { posts: [] as number[], arrivals: [] as number[] } },
    {
      server: other,
      reader: await promptReader(other.url),
      times: { posts: [] as number[], arrivals: [] as number[] },
    },
  ];
  for (const [nth, event] of events.slice(begin).entries()) {
    // Both get the event one after the other, so that the machine is the same for both.
    for (const { server, reader, times } of nth % 2 === 0 ? sides : sides.toReversed()) {
      const start = now();
      await postEvent(event, server.events);
      const answered = now();
      if (!isBlock(event)) continue;
      times.posts.push(answered - start);
      times.arrivals.push((await reader.next()) - answered);
    }
  }
  const memory = { one: one.memory() - before.one, other: other.memory() - before.other };
  child.kill();
  await child.exited;
  for (const { reader } of sides) reader.leave();
  return {
    without: { ...sides[0]!.times, memory: memory.one },
    slow: { ...sides[1]!.times, memory: memory.other },
    all,
    rare,
  };
}

const rounds: Round[] = [];
for (let n = 0; n < Number(values.repeat); n++) {
  await withDirectory(async (directory) => {
    const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0', '--threads', '0'];
    const quietly = ['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1'];
    const start = (name: string) =>
      startServer([...program, 'serve', '--data', join(directory, name), ...ports, ...quietly]);
    const [one, other] = [await start('one'), await start('other')];
    rounds.push(await round(one, other));
    await one.stop();
    await other.stop();
  });
}

const median = (list: readonly number[]): number => spread(list).median;
const row = (name: string, of: (times: Times) => number, digits: number): Cell[] => [
  name,
  figure(
    rounds.map(({ without }) => of(without)),
    digits,
  ),
  figure(
    rounds.map(({ slow }) => of(slow)),
    digits,
  ),
  figure(
    rounds.map(({ without, slow }) => of(slow) / of(without)),
    2,
  ),
];

publish([
  {
    title: 'The stream of changes',
    notes: [
      `${values.readers} readers of all changes from the first block on, who read once a second; ${HISTORY} blocks of ${TRANSACTIONS_PER_BLOCK} transactions before, ${values.blocks} while they read`,
      'each event is posted to two servers, one of which has the slow readers; each has one prompt reader',
      `${values.repeat} rounds; median (least to greatest); ratios are of the same round`,
    ],
    tables: [
      {
        head: ['of blocks', 'no slow reader', `${values.readers} slow readers`, 'ratio'],
        rows: [
          row('ms to the 200, median', ({ posts }) => median(posts), 1),
          row('ms from the 200 to the prompt reader, median', ({ arrivals }) => median(arrivals), 1),
          row('the slowest, ms', ({ arrivals }) => Math.max(...arrivals), 0),
          row('memory that the process has more, MB', ({ memory }) => memory / 1e6, 0),
        ],
      },
      {
        head: ['changes/s by pages', ''],
        rows: [
          ['all of every block', figure(rounds.map(({ all }) => all))],
          ['of an account that nothing happens to', figure(rounds.map(({ rare }) => rare))],
        ],
      },
    ],
  },
]);
