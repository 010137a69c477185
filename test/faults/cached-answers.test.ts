/**
 * A cached answer equals a fresh one: an app that lives through a stream of events, with everything it keeps, answers
 * each GET route as an app does that was made this moment. STACKSIDE_RUNS for more streams.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createApp } from '../../src/commands/app.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { eventsOf, forks } from '../support/forked-chain.ts';
import { openNew, received } from '../support/ingest.ts';
import { assertProperty, timeout } from '../support/property.ts';
import { type GetRoute, getRoutes, randomUrl, Subjects } from '../support/random-urls.ts';

/** Events of a stream after each of which every route is asked. */
const LOOKS = 8;

interface Answer {
  status: number;
  tag: string | null;
  text: string;
}

class App {
  readonly #snapshots;
  readonly #app;
  constructor(directory: string, now: () => number) {
    this.#snapshots = openSnapshots(directory);
    this.#app = createApp({ snapshots: this.#snapshots, version: 'stackside v0.0.0 (test:cache)', log: () => {}, now });
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
  close(): void {
    this.#snapshots.close();
  }
}

/** Names stand in the index alone: the chain speaks of them in hexadecimal. */
async function learnNames(app: App, subjects: Subjects): Promise<void> {
  for (const name of JSON.parse((await app.ask('/v1/names')).text)) subjects.names.add(name);
  for (const tld of JSON.parse((await app.ask('/v1/namespaces')).text).namespaces) subjects.namespaces.add(tld);
}

/** A stretch of the stream, drawn at random, that is followed by questions after each of its events. */
function stretchOf(events: readonly NodeEvent[], prng: Prng): { from: number; to: number } {
  const from = prng.below(events.length);
  return { from, to: Math.min(events.length, from + LOOKS) };
}

/** Takes the events, and compares answers about what a stretch of them speaks of, after each of that stretch. */
async function compare(events: readonly NodeEvent[], seed: number): Promise<void> {
  const prng = new Prng(`cached answers ${seed}`);
  const { from, to } = stretchOf(events, prng);
  const subjects = new Subjects();
  for (const event of events.slice(from, to)) subjects.add(event);
  let time = 0;
  using open = openNew();
  const take = (event: NodeEvent) => {
    open.ingest.receive(received(event));
    time = Math.max(time, event.time);
  };
  for (const event of events.slice(0, from)) take(event);
  const old = new App(open.directory, () => time);
  try {
    const routes = await old.routes();
    await learnNames(old, subjects);
    const urls = routes.map((route) => randomUrl(route, subjects, prng));
    const known = new Map<string, Answer>();
    for (const event of events.slice(from, to)) {
      take(event);
      const fresh = new App(open.directory, () => time);
      try {
        for (const url of urls) await sameAnswers(url, old, fresh, known);
      } finally {
        fresh.close();
      }
    }
  } finally {
    old.close();
  }
}

/** @param known the last whole answer of each URL, as a client would have kept it */
async function sameAnswers(url: string, old: App, fresh: App, known: Map<string, Answer>): Promise<void> {
  const expected = { url, ...(await fresh.ask(url)) };
  // An answer is kept when its URL was asked for before.
  for (let times = 0; times < 3; times++) expect({ url, ...(await old.ask(url)) }).toEqual(expected);
  const before = known.get(url);
  if (before?.tag != null) {
    const again = await old.ask(url, before.tag);
    const shown = again.status === 304 ? before.text : again.text;
    expect({ url, shown }).toEqual({ url, shown: expected.text });
  }
  known.set(url, expected);
}

test(
  'an app that lived through a stream answers as one that was made just now',
  async () => {
    await assertProperty(
      fc.asyncProperty(forks(), fc.nat(), async (stream, seed) => compare(eventsOf(stream), seed)),
      { cases: 2, shrink: false },
    );
  },
  { timeout },
);
