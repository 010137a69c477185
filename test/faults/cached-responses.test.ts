/**
 * A cached answer equals a fresh one: after a stream of events, an app with all its caches answers each GET route as a new
 * app does. STACKSIDE_RUNS for more streams.
 */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { appOf } from '../support/api/app.ts';
import { type GetRoute, getRoutes, randomUrl, Subjects } from '../support/api/random-urls.ts';
import { emptyDirectory, openAt, received } from '../support/data/ingest.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { besides, eventsOf, forks } from '../support/events/forked-chain.ts';
import { assertProperty, casesOf, Seen } from '../support/property.ts';

/** Number of events in a stream after which every route is requested. */
const LOOKS = 3;
interface Answer {
  status: number;
  tag: string | null;
  text: string;
}

class App {
  readonly #looks: (() => void)[] = [];
  readonly #snapshots;
  readonly #app;
  /** @param commits the number of commits by this process */
  constructor(directory: string, now: () => number, commits: () => number, build = 'cache') {
    this.#snapshots = openSnapshots(directory, {
      sharing: { turn: systemClock.turn, commits },
      every: (_, look) => {
        this.#looks.push(look);
        return () => {};
      },
    });
    this.#app = appOf({
      snapshots: this.#snapshots,
      version: `stackside v0.0.0 (test:${build})`,
      log: () => {},
      clock: { ...systemClock, now },
    });
  }
  async ask(url: string, tag?: string | null): Promise<Answer> {
    const headers: Record<string, string> = tag == null ? {} : { 'if-none-match': tag };
    const response: Response = await this.#app.handle(new Request(`http://localhost${url}`, { headers }));
    return { status: response.status, tag: response.headers.get('etag'), text: await response.text() };
  }
  async routes(): Promise<GetRoute[]> {
    return getRoutes(JSON.parse((await this.ask('/docs/json')).text)).filter(
      ({ path }) => !path.startsWith('/chainhooks') && !path.includes('faucets'),
    );
  }
  /** Runs its periodic check that its file is still the one in the directory. */
  look(): void {
    for (const look of this.#looks) look();
  }
  close(): void {
    this.#snapshots.close();
  }
}

/** Adds names from the API, because the events contain names only in hexadecimal. */
async function learnNames(app: App, subjects: Subjects): Promise<void> {
  const names = await app.ask('/v1/names');
  // Before the first block, the chain is unknown, so there are no names to list. A server responds with its state, which this
  // app doesn't have.
  if (names.status === 500) return;
  for (const name of JSON.parse(names.text)) subjects.names.add(name);
  for (const tld of JSON.parse((await app.ask('/v1/namespaces')).text).namespaces) subjects.namespaces.add(tld);
}

/** Returns the identifiers of a block, by parameter name. */
function waysTo({ path, body }: NodeEvent): Record<string, string[]> {
  if (path !== '/new_block') return {};
  const block = JSON.parse(body) as Record<'block_height' | 'burn_block_height', number> &
    Record<'block_hash' | 'burn_block_hash', string> & { transactions: { txid: string }[] };
  const { block_hash, burn_block_hash, transactions } = block;
  return {
    height: [String(block.block_height)],
    hash: [block_hash],
    block_hash: [block_hash],
    burn_block_height: [String(block.burn_block_height)],
    burn_block_hash: [burn_block_hash],
    tx_id: transactions.slice(0, 1).map(({ txid }) => txid),
  };
}

/** Returns URLs of the routes that show a block of any fork, or its content, for the blocks in the events. */
function urlsOfBlocks(routes: readonly GetRoute[], events: readonly NodeEvent[]): string[] {
  const ways = events.map(waysTo);
  return routes.flatMap(({ path, parameters }) => {
    const [key, ...others] = parameters.filter(({ required }) => required);
    if (key?.in !== 'path' || others.length > 0) return [];
    return ways.flatMap((way) => (way[key.name] ?? []).map((value) => path.replace(`{${key.name}}`, value)));
  });
}

/** A range of the events, after each of which answers are compared. */
interface EventRange {
  from: number;
  to: number;
  /** URLs of each route. */
  drawn: number;
  /** Whether to request the blocks of the range by all their identifiers. */
  ofBlocks: boolean;
}

const anyRange = (events: readonly NodeEvent[], prng: Prng): EventRange => {
  const from = prng.below(events.length);
  return { from, to: Math.min(events.length, from + LOOKS), drawn: 1, ofBlocks: false };
};
const lastRange = (events: readonly NodeEvent[]): EventRange => ({
  from: events.length - 2 * LOOKS,
  to: events.length,
  drawn: 1,
  ofBlocks: true,
});

/** A data directory with the apps that read it: one that keeps running, and others that are created and closed in turn. */
class World {
  readonly #directory = emptyDirectory();
  #open = openAt(this.#directory.path);
  #time = 0;
  #accepted = 0;
  readonly old = this.#app();

  #app(build?: string): App {
    return new App(
      this.#directory.path,
      () => this.#time,
      () => this.#accepted,
      build,
    );
  }
  take(event: NodeEvent): void {
    this.#open.ingest.receive(received(event));
    this.#accepted += 1;
    this.#time = Math.max(this.#time, event.time);
  }
  async withFresh(ask: (fresh: App, otherBuild: App) => Promise<void>): Promise<void> {
    const [fresh, otherBuild] = [this.#app(), this.#app('another')];
    try {
      await ask(fresh, otherBuild);
    } finally {
      fresh.close();
      otherBuild.close();
    }
  }
  /** Rebuilds the index from the journal, as an operator does while one process is stopped and another continues to read. */
  async rebuild(): Promise<void> {
    // Snapshots end with their turn, and no other process is in the midst of one of ours.
    await systemClock.turn();
    this.#open[Symbol.dispose]();
    rebuild(this.#directory.path);
    this.#open = openAt(this.#directory.path);
    this.old.look();
  }
  [Symbol.dispose](): void {
    this.old.close();
    this.#open[Symbol.dispose]();
    this.#directory[Symbol.dispose]();
  }
}

/** Takes the events, and compares answers about a range of them after each of that range. */
async function compare(
  events: readonly NodeEvent[],
  { from, to, drawn, ofBlocks }: EventRange,
  prng: Prng,
  seen: Seen,
): Promise<void> {
  const subjects = new Subjects();
  for (const event of events.slice(from, to)) subjects.add(event);
  using world = new World();
  for (const event of events.slice(0, from)) world.take(event);
  await learnNames(world.old, subjects);
  const routes = await world.old.routes();
  const candidates = routes.flatMap((route) => Array.from({ length: drawn }, () => randomUrl(route, subjects, prng)));
  if (ofBlocks) candidates.push(...urlsOfBlocks(routes, events.slice(from, to)));
  const urls = prng.shuffle(candidates).slice(0, casesOf(60));
  const answers = new Map<string, Answer>();
  // Something follows it that a file from before does not have.
  const rebuiltAt = prng.between(from, Math.max(from, to - 2));
  for (const [index, event] of events.slice(from, to).entries()) {
    world.take(event);
    if (from + index === rebuiltAt) await world.rebuild();
    await world.withFresh(async (fresh, otherBuild) => {
      for (const url of new Set(urls)) await sameAnswers(url, { old: world.old, fresh, otherBuild }, answers, seen);
    });
  }
}

/** Compares answers. @param answers the last complete answer of each URL, and that of each tag */
async function sameAnswers(
  url: string,
  { old, fresh, otherBuild }: Record<'old' | 'fresh' | 'otherBuild', App>,
  answers: Map<string, Answer>,
  seen: Seen,
): Promise<void> {
  const expected = { url, ...(await fresh.ask(url)) };
  // An answer is cached if its URL was requested before.
  for (let times = 0; times < 3; times++) expect({ url, ...(await old.ask(url)) }).toEqual(expected);
  const previous = answers.get(url);
  if (expected.status === 200) seen.add('answers');
  if (previous?.tag != null) {
    seen.add('copies');
    const response = await old.ask(url, previous.tag);
    const text = response.status === 304 ? previous.text : response.text;
    expect({ url, text }).toEqual({ url, text: expected.text });
  }
  if (expected.tag !== null) {
    // A tag belongs to one answer, even if it comes back.
    const key = `${url} ${expected.tag}`;
    expect(answers.get(key) ?? expected).toEqual(expected);
    answers.set(key, expected);
    // Another version of the program has different tags.
    const { status } = await otherBuild.ask(url, expected.tag);
    expect({ url, ofAnotherBuild: status }).toEqual({ url, ofAnotherBuild: expected.status });
  }
  answers.set(url, expected);
}

const prngOf = (seed: number) => new Prng(`cached answers ${seed}`);

test('an app that received a whole stream answers like a new app', async () => {
  const seen = new Seen({ answers: 100, copies: 50 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.nat(), async (stream, seed) => {
      const [events, prng] = [eventsOf(stream), prngOf(seed)];
      await compare(events, anyRange(events, prng), prng, seen);
    }),
    { seen, cases: 1, shrink: false },
  );
});

test('a cached response equals a fresh one while branches grow off the same tip', async () => {
  const seen = new Seen({ answers: 50, copies: 20 });
  await assertProperty(
    fc.asyncProperty(besides(), fc.nat(), async (stream, seed) => {
      const events = eventsOf(stream);
      await compare(events, lastRange(events), prngOf(seed), seen);
    }),
    { seen, cases: 1, shrink: false },
  );
});

/** Number of the newest transactions and heights to request after each block. */
const FOLLOWED = 6;

/** URLs that list the newest transactions of a stream, or show one. */
function urlsOfTransactions(events: readonly NodeEvent[]): string[] {
  const ways = events.slice(-3 * FOLLOWED).map(waysTo);
  const [ids, heights] = [ways.flatMap(({ tx_id = [] }) => tx_id), ways.flatMap(({ height = [] }) => height)];
  return [
    '/extended/v3/transactions?limit=50',
    '/extended/v1/tx?limit=50',
    ...[...new Set(heights)].slice(-FOLLOWED).map((height) => `/extended/v3/blocks/${height}/transactions`),
    ...ids.slice(-FOLLOWED).flatMap((id) => [`/extended/v3/transactions/${id}`, `/extended/v1/tx/${id}`]),
  ];
}

test('a cached response equals a fresh one while the same transactions move from fork to fork', async () => {
  const seen = new Seen({ answers: 100, copies: 50 });
  await assertProperty(
    fc.asyncProperty(forks(), async (stream) => {
      const events = eventsOf(stream);
      using world = new World();
      const answers = new Map<string, Answer>();
      for (const [index, event] of events.entries()) {
        world.take(event);
        if (event.path !== '/new_block' || index < events.length - casesOf(10)) continue;
        await world.withFresh(async (fresh, otherBuild) => {
          for (const url of urlsOfTransactions(events.slice(0, index + 1))) {
            await sameAnswers(url, { old: world.old, fresh, otherBuild }, answers, seen);
          }
        });
      }
    }),
    { seen, cases: 1, shrink: false },
  );
});
