/** How soon many tokens are read from a slow node, and what events wait for meanwhile. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { clarity } from '../src/codec/clarity-encode.ts';
import { toHex } from '../src/codec/hex.ts';
import { type NodeEvent, postEvent } from '../src/devnet/node-event.ts';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { SEED } from './dataset.ts';
import { MAIN, onCore, script, startServer, withDirectory } from './harness.ts';
import { figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    tokens: { type: 'string', default: '10000' },
    every: { type: 'string', default: '100' },
  },
});
const tokens = Number(values.tokens);
const every = Number(values.every);
/** Milliseconds until the node answers, and requests that are under way at once. */
const ANSWER_MS = 50;
const AT_ONCE = 5;
/** Events that make contracts, before those that are timed. */
const FIRST = 60;

const okay = (value: Uint8Array) => Response.json({ okay: true, result: toHex(clarity.ok(value)) });

/** A node that answers after a while; the first contract that is asked for its last token id has many. */
function slowNode() {
  let first: string | null = null;
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const [contract = '', name] = new URL(request.url).pathname.split('/').slice(-2);
      await Bun.sleep(ANSWER_MS);
      if (name === 'info')
        return Response.json({ network_id: 0x80000000, stacks_tip_height: 1e6, burn_block_height: 1 });
      if (name === 'get-token-uri') return okay(clarity.some(clarity.ascii('https://art.example/{id}.json')));
      if (name !== 'get-last-token-id') return Response.json({ okay: false, cause: 'Unchecked' });
      first ??= contract;
      return okay(clarity.uint(contract === first ? tokens : 0));
    },
  });
}

const events: NodeEvent[] = [...devnetEvents({ seed: SEED, blocks: 2_000, transactionsPerBlock: 10, forkEvery: 0 })];

/** Tokens that the server read, by its metrics. */
async function readTokens(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^stackside_token_jobs\{work="facts",state="done"\} (\d+)/m.exec(text)?.[1] ?? 0);
}

/** Posts events at even distances. @returns the milliseconds of each, and the seconds until all tokens were read; null without */
async function round(asks: boolean): Promise<{ waits: number[]; seconds: number | null }> {
  const node = slowNode();
  try {
    return await withDirectory(async (directory) => {
      const flags = ['--api-port', '0', '--event-port', '0', '--log-level', 'error'];
      const metadata = ['--token-metadata', asks ? 'on' : 'off', '--node-rpc', node.url.origin];
      const command = [...script(MAIN, 'serve'), '--data', join(directory, 'data'), ...flags, ...metadata];
      const server = await startServer(onCore(0, command));
      const waits: number[] = [];
      let seconds: number | null = null;
      const start = performance.now();
      try {
        for (const [index, event] of events.entries()) {
          const begun = performance.now();
          await postEvent(event, server.events);
          if (index < FIRST) continue;
          waits.push(performance.now() - begun);
          await Bun.sleep(Math.max(0, every - (performance.now() - begun)));
          if (asks && index % 20 === 0 && (await readTokens(server.url)) >= tokens) {
            seconds = (performance.now() - start) / 1000;
            break;
          }
          if (!asks && waits.length >= 400) break;
        }
      } finally {
        await server.stop();
      }
      return { waits, seconds };
    });
  } finally {
    await node.stop(true);
  }
}

const quantile = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * part)] ?? 0;

const off = await round(false);
const on = await round(true);
const ideal = (tokens * ANSWER_MS) / AT_ONCE / 1000;
const row = (name: string, { waits }: { waits: number[] }) => [
  name,
  String(waits.length),
  figure([quantile(waits, 0.5)], 2),
  figure([quantile(waits, 0.99)], 2),
];
publish([
  {
    title: 'Metadata of tokens',
    notes: [
      `${tokens} tokens, of which a node says the URI after ${ANSWER_MS} ms; ${AT_ONCE} requests at once`,
      `meanwhile an event of a simulated chain of seed ${SEED} each ${every} ms`,
    ],
    tables: [
      {
        head: ['read after, s', 'ideal, s', 'of the ideal'],
        rows: [
          [figure([on.seconds ?? Number.NaN], 1), figure([ideal], 1), figure([(on.seconds ?? Number.NaN) / ideal], 3)],
        ],
      },
      {
        head: ['asking', 'events', 'median, ms', '99th percentile, ms'],
        rows: [row('off', off), row('on', on)],
      },
    ],
  },
]);
