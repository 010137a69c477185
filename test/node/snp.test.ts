/** Events of stacks-node-publisher, over a real Redis and a broker that the test implements. */

import { afterAll, beforeAll, expect, onTestFinished, test } from 'bun:test';
import { SQL } from 'bun';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { PayloadError, readPayload } from '../../src/chain/payload-reader.ts';
import type { ClusterHost } from '../../src/cluster/host.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { eventIntake, type Intake } from '../../src/node/event-intake.ts';
import { MAX_ANSWER_MS } from '../../src/node/snp/redis.ts';
import { type SnpEvent, SnpSubscriber } from '../../src/node/snp/subscriber.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { openHost } from '../cluster/open-host.ts';
import { image } from '../support/data/crash-image.ts';
import { type OpenIngest, openAt, openNew, received, simulatedEvents } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { everything, journalRows, tables } from '../support/data/tables.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import { cutProxy, type Fate } from '../support/servers/cut-proxy.ts';
import { hasPostgres, startPostgres } from '../support/servers/postgres.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/servers/redis.ts';
import { SnpBroker } from '../support/servers/snp-broker.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const events = simulatedEvents({ seed: 8, blocks: 8, transactionsPerBlock: 2, accounts: 6, forkEvery: 4 });
const half = Math.floor(events.length / 2);

const chunks = (text: string): ReceivedEvent => ({ path: '/stackerdb_chunks', text, receivedAt: 0 });
/** A block in the second half of the events, and the block after it, by index. */
const [block, nextBlock] = events.flatMap(({ path }, index) =>
  path === '/new_block' && index > half ? [index] : [],
) as [number, number];

function canBeRead(path: string, text: string): boolean {
  try {
    readPayload(path, text);
    return true;
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
    return false;
  }
}

/** A subscriber's waits end at the next turn, and no response is late. */
const eager: Clock = {
  ...systemClock,
  after(milliseconds, call) {
    let isCancelled = milliseconds >= MAX_ANSWER_MS;
    systemClock.turn().then(() => {
      if (!isCancelled) call();
    });
    return () => {
      isCancelled = true;
    };
  },
};

describeWith('Redis', hasRedis, () => {
  let redis: RedisServer;
  let prefixes = 0;
  let expected: ReturnType<typeof everything>;

  beforeAll(async () => {
    redis = await startRedis();
    using direct = openNew();
    for (const event of events) direct.ingest.receive(event);
    direct.ingest.close();
    expected = everything(direct.directory);
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  interface SubscriberSetup {
    clock?: Clock;
    port?: number;
    around?: (intake: Intake) => Intake;
    skip?: number[];
    /** The cluster host that receives the events. */
    host?: Pick<ClusterHost, 'receive' | 'caughtUp'>;
  }

  /** Starts a broker with a unique key prefix, until the end of the test. @returns also a function that subscribes to it */
  async function publisher() {
    prefixes += 1;
    const prefix = `test-${prefixes}:`;
    const broker = new SnpBroker(redis.url, prefix);
    await broker.start();
    const open = openNew();
    onTestFinished(async () => {
      open[Symbol.dispose]();
      await broker.stop();
    });
    return {
      broker,
      /** An empty index. */
      open,
      subscribe(
        { ingest }: { ingest: OpenIngest['ingest'] },
        { clock = eager, port = redis.port, around = (intake) => intake, host, skip = [] }: SubscriberSetup = {},
      ) {
        const receive = host === undefined ? ingest.receive : (event: ReceivedEvent) => host.receive(event);
        const begin = async (signal: AbortSignal) => host?.caughtUp(signal);
        const logged: SnpEvent[] = [];
        const subscriber = new SnpSubscriber({
          url: `redis://127.0.0.1:${port}`,
          prefix,
          skip,
          intake: around(eventIntake({ receive, log: () => {}, clock })),
          positionOf: ingest.imported,
          tip: ingest.history.tip,
          begin,
          log: (event) => logged.push(event),
          clock,
          random: { uuid: () => crypto.randomUUID(), number: () => 0.5 },
          blockMs: 5,
        });
        const eventsNamed = <N extends SnpEvent['event']>(name: N) =>
          logged.filter((entry): entry is Extract<SnpEvent, { event: N }> => entry.event === name);
        return Object.assign(subscriber, { logged, eventsNamed, [Symbol.asyncDispose]: () => subscriber.stop() });
      },
    };
  }

  const reasons = ({ eventsNamed }: { eventsNamed: (name: 'snp_handshake') => { reason: string }[] }) =>
    eventsNamed('snp_handshake').map(({ reason }) => reason);
  const untilReached = (subscriber: SnpSubscriber, sequence: number) =>
    until(() => subscriber.counted().sequence >= sequence, `message ${sequence}`);

  /** Everything was accepted once and in order, and nothing waits in Redis. */
  async function isComplete(open: OpenIngest, broker: SnpBroker): Promise<void> {
    await until(async () => (await broker.waiting()) === 0, 'the last acknowledgement');
    open.ingest.publish();
    expect(everything(open.directory)).toEqual(expected);
  }

  test('earlier events come first, then new ones, each once and acknowledged', async () => {
    const { broker, subscribe, open } = await publisher();
    broker.keep(events.slice(0, half));
    await using subscriber = subscribe(open);
    await untilReached(subscriber, half);
    for (const event of events.slice(half)) await broker.publish(event);
    await untilReached(subscriber, events.length);
    await isComplete(open, broker);
    const nothing = { last_index_block_hash: '', last_block_height: '0', last_message_id: '' };
    const client_id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(broker.handshakes).toEqual([{ client_id, app_name: 'stackside', ...nothing, selected_paths: '"*"' }]);
  });

  test('a start continues after the last message, and with data from elsewhere after the last block', async () => {
    const { broker, subscribe, open } = await publisher();
    for (const event of events.slice(0, half)) open.ingest.receive(event);
    const tip = open.ingest.history.tip();
    broker.keep(events.slice(0, -2));
    await using elsewhere = subscribe(open);
    await untilReached(elsewhere, events.length - 2);
    await elsewhere.stop();
    broker.keep(events.slice(-2));
    await using resumed = subscribe(open);
    expect(resumed.counted().sequence).toBe(events.length - 2);
    await untilReached(resumed, events.length);
    await isComplete(open, broker);
    const [first, second] = broker.handshakes;
    expect(first).toMatchObject({ last_message_id: '', last_index_block_hash: `0x${tip.indexBlockHash.toHex()}` });
    expect(first!.last_block_height).toBe(String(tip.height));
    expect(second!.last_message_id).toBe(`${events.length - 2}-0`);
  });

  test('messages that come again, by the same or another number, change nothing', async () => {
    const { broker, subscribe, open } = await publisher();
    broker.keep(events);
    await using subscriber = subscribe(open);
    await untilReached(subscriber, events.length);
    for (const _ of [1, 2]) await broker.repeat(block + 1);
    await untilReached(subscriber, events.length + 2);
    await isComplete(open, broker);
  });

  test('a new publisher with smaller numbers is followed from the last block', async () => {
    const { broker, subscribe, open } = await publisher();
    broker.keep(events.slice(0, half));
    broker.renumber(1_000);
    await using before = subscribe(open);
    await untilReached(before, 1_000 + half - 1);
    await before.stop();
    broker.renumber(1);
    broker.keep(events.slice(half));
    await using subscriber = subscribe(open);
    await until(() => subscriber.counted().sequence === events.length);
    await isComplete(open, broker);
    expect([reasons(subscriber), subscriber.eventsNamed('snp_gap')]).toEqual([['start'], []]);
  });

  test('streams that the broker drops are requested again, after the last message', async () => {
    const { broker, subscribe, open } = await publisher();
    await using subscriber = subscribe(open);
    for (const [index, event] of events.entries()) {
      await broker.publish(event);
      if (index % 7 !== 6) continue;
      await untilReached(subscriber, index + 1);
      await broker.dropStreams();
    }
    await untilReached(subscriber, events.length);
    await isComplete(open, broker);
    expect(new Set(reasons(subscriber).slice(1))).toEqual(new Set(['no_group']));
  });

  test('after two minutes of silence the stream is requested again', async () => {
    const { broker, subscribe, open } = await publisher();
    const clock = heldClock([60_000]);
    broker.keep(events.slice(0, half));
    await using subscriber = subscribe(open, { clock });
    await untilReached(subscriber, half);
    broker.keep(events.slice(half));
    let minutes = 0;
    await until(() => {
      const isAsked = reasons(subscriber).length > 1;
      if (!isAsked) {
        clock.pass(60_000);
        minutes += 1;
      }
      return isAsked;
    });
    expect(minutes).toBeGreaterThanOrEqual(2);
    await untilReached(subscriber, events.length);
    await isComplete(open, broker);
    expect(reasons(subscriber)).toEqual(['start', 'silence']);
  });

  test('after a gap the stream is requested again, and a remaining gap is logged', async () => {
    const { broker, subscribe, open } = await publisher();
    await using subscriber = subscribe(open);
    for (const event of events.slice(0, 5)) await broker.publish(event);
    await untilReached(subscriber, 5);
    broker.lost.add(6);
    await broker.publish(events[5]!);
    broker.lost.delete(6);
    await broker.publish(events[6]!);
    await untilReached(subscriber, 7);
    expect([reasons(subscriber), subscriber.eventsNamed('snp_gap')]).toEqual([['start', 'gap'], []]);
    // Numbers that the broker never assigned.
    await broker.publish(events[7]!, 10);
    await untilReached(subscriber, 18);
    expect(subscriber.eventsNamed('snp_gap')).toEqual([{ event: 'snp_gap', after: '7-0', next: '18-0' }]);
    for (const event of events.slice(8)) await broker.publish(event);
    await untilReached(subscriber, events.length + 10);
    await isComplete(open, broker);
  });

  test('a block without its parent requests the stream after the last block, is then logged with a remedy, and blocks the rest', async () => {
    const { broker, subscribe, open } = await publisher();
    broker.keep(events);
    broker.lost.add(block + 1);
    await using subscriber = subscribe(open);
    await until(() => subscriber.failing() !== null);
    expect(subscriber.failing()).toMatch(
      new RegExp(`^Message ${nextBlock + 1}-0 \\(/new_block\\) can't be applied: DB does not contain a parent block`),
    );
    expect(reasons(subscriber)).toEqual(['start', 'gap', 'unknown_parent']);
    expect(broker.handshakes.at(-1)).toMatchObject({ last_message_id: '' });
    expect(subscriber.eventsNamed('service_failing')).toMatchObject([
      { remedy: expect.stringContaining('import a recording') },
    ]);
    expect(subscriber.counted().sequence).toBe(nextBlock);
    // The publisher sends the block again.
    open.ingest.receive(events[block]!);
    await untilReached(subscriber, events.length);
    await until(() => subscriber.failing() === null, 'the end of the turn that succeeds');
    expect(subscriber.eventsNamed('service_resumed')).toHaveLength(1);
  });

  test("an event with a newer node's path is kept, and one with a path of no node is skipped and logged once", async () => {
    const { broker, subscribe, open } = await publisher();
    const newer = { path: '/new_moon', text: '{"phase":1}', receivedAt: 0 };
    const wrong = { path: '/stackside/moon', text: '{}', receivedAt: 0 };
    broker.keep([...events, newer, wrong, wrong]);
    await using subscriber = subscribe(open);
    await untilReached(subscriber, events.length + 3);
    await until(async () => (await broker.waiting()) === 0, 'the last acknowledgement');
    expect(subscriber.eventsNamed('snp_message_skipped')).toMatchObject([{ path: wrong.path }]);
    expect(open.logged).toContainEqual({ event: 'unknown_kind', what: 'path', reason: newer.path });
    expect(journalRows(open.directory).at(-1)).toMatchObject({ path: newer.path, text: newer.text });
  });

  test("an event that can't be read blocks the rest, and is logged", async () => {
    const { broker, subscribe, open } = await publisher();
    broker.keep([events[0]!, { path: '/new_block', text: '{}', receivedAt: 0 }, events[1]!]);
    await using subscriber = subscribe(open);
    await until(() => subscriber.failing() !== null);
    expect(subscriber.failing()).toBe("Message 2-0 (/new_block) can't be applied: Missing field block_hash");
    expect(subscriber.counted().sequence).toBe(1);
    expect(await broker.waiting()).toBe(2);
  });

  test('check names a message that the operator skipped; the next block waits for a skipped block', async () => {
    const { broker, subscribe, open } = await publisher();
    const broken = { path: '/new_burn_block', text: '{}', receivedAt: 0 };
    broker.keep([...events.slice(0, block), { ...events[block]!, text: '{}' }, ...events.slice(block + 1), broken]);
    await using stalled = subscribe(open);
    await until(() => stalled.failing() !== null);
    const [failing] = stalled.eventsNamed('service_failing');
    expect(failing?.remedy).toContain(`--snp-skip ${block + 1};`);
    await stalled.stop();
    const skip = [block + 1, events.length + 1];
    await using waiting = subscribe(open, { skip });
    await until(() => waiting.failing() !== null);
    expect(waiting.failing()).toStartWith(
      `Message ${nextBlock + 1}-0 (/new_block) can't be applied: DB does not contain`,
    );
    const remedy = expect.stringContaining('All later blocks wait for this block');
    expect(waiting.eventsNamed('snp_message_skipped')).toEqual([
      { event: 'snp_message_skipped', message_id: `${block + 1}-0`, path: '/new_block', remedy },
    ]);
    open.ingest.receive(events[block]!);
    await untilReached(waiting, events.length + 1);
    await waiting.stop();
    open.ingest.publish();
    const gap = `messages that were skipped with --snp-skip: ${block + 1}-0 (/new_block), ${events.length + 1}-0 (/new_burn_block)`;
    const results = checkAndRecount(open.directory, { deep: silentMachine });
    expect(results).toContainEqual({ name: gap, problems: [] });
    expect(results.flatMap(({ problems }) => problems)).toEqual([]);
  });

  test('a server that is killed between the disk and the acknowledgement takes nothing twice', async () => {
    const { broker, subscribe, open } = await publisher();
    broker.keep(events);
    const { promise: forever, resolve: release } = Promise.withResolvers<void>();
    let isKilled = false;
    const around =
      (intake: Intake): Intake =>
      async (event) => {
        const result = await intake(event);
        if (event.text === events[half]!.text) {
          isKilled = true;
          await forever;
        }
        return result;
      };
    await using killed = subscribe(open, { around });
    await until(() => isKilled);
    using killedFiles = image(open.directory);
    using reopened = openAt(killedFiles.path);
    await using subscriber = subscribe(reopened);
    await untilReached(subscriber, events.length);
    reopened.ingest.publish();
    expect(everything(killedFiles.path)).toEqual(expected);
    expect(broker.handshakes[1]!.last_message_id).toBe(`${half + 1}-0`);
    release();
    await killed.stop();
  });

  /** The chain's events, mixed with events whose repetition only the journal shows. */
  const withChunks = events.flatMap((event, index) =>
    index % 4 === 0 ? [event, chunks(`{"chunk":${index}}`)] : [event],
  );

  test('hosts of a cluster that read the same streams enter each event once, and hold the same', async () => {
    const { broker, subscribe } = await publisher();
    const log = new MemoryLog();
    await using host1 = openHost(log.client());
    await using host2 = openHost(log.client());
    for (const { host } of [host1, host2]) host.start();
    broker.keep(withChunks.slice(0, half));
    await using first = subscribe(host1, { host: host1.host });
    await using second = subscribe(host2, { host: host2.host });
    for (const event of withChunks.slice(half)) await broker.publish(event);
    for (const subscriber of [first, second]) await untilReached(subscriber, withChunks.length);
    for (const each of [host1, host2]) await until(() => each.position() === log.head.id);
    expect(everything(host2.directory)).toEqual(everything(host1.directory));
    // A mempool event that a host reads late may be appended again. Chain events, and events that only the journal
    // holds, are appended once.
    const once = log.entries.filter(({ path }) => !path.includes('mempool')).map(({ path, text }) => `${path} ${text}`);
    expect(new Set(once).size).toBe(once.length);
    // The position of each host is stored, and both continue there.
    await second.stop();
    const late = chunks('"late"');
    await broker.publish(late);
    await untilReached(first, withChunks.length + 1);
    await using resumed = subscribe(host2, { host: host2.host });
    await untilReached(resumed, withChunks.length + 1);
    expect(broker.handshakes.at(-1)).toMatchObject({ last_message_id: `${withChunks.length}-0` });
    expect(log.entries.filter(({ text }) => text === late.text)).toHaveLength(1);
  });

  test("a host that joins late requests a stream after it has the others' events, from there on", async () => {
    const { broker, subscribe } = await publisher();
    const log = new MemoryLog();
    await using host1 = openHost(log.client());
    for (const event of withChunks) await host1.host.receive(event);
    broker.keep(withChunks);
    const entries = log.entries.length;
    await using host2 = openHost(log.client());
    await using _ = subscribe(host2, { host: host2.host });
    host2.host.start();
    await broker.publish(chunks('"news"'));
    await until(() => log.entries.length > entries, 'the news');
    const { height, indexBlockHash } = host1.ingest.history.tip();
    expect(broker.handshakes).toMatchObject([
      { last_block_height: String(height), last_index_block_hash: `0x${indexBlockHash.toHex()}` },
    ]);
    expect(log.entries.slice(entries).map(({ text }) => text)).toEqual(['"news"']);
  });

  /** Cuts the connection at one piece in this number on average, before or after the piece arrives. */
  function nowAndThen(seed: number, pieces: number): () => Fate {
    const prng = new Prng(`cuts/${seed}`);
    return () => (prng.below(pieces) > 0 ? 'passed' : prng.chance(0.5) ? 'lost' : 'last');
  }

  test('connections that are cut at any step lose nothing and repeat nothing', async () => {
    for (let seed = firstSeed; seed < firstSeed + casesOf(1); seed++) {
      const { broker, subscribe, open } = await publisher();
      using proxy = cutProxy(redis.port, 0, nowAndThen(seed, 4 + (seed % 8)));
      broker.keep(events.slice(0, half));
      await using subscriber = subscribe(open, { port: proxy.port });
      for (const event of events.slice(half)) await broker.publish(event);
      await untilReached(subscriber, events.length);
      open.ingest.publish();
      expect({ seed, files: everything(open.directory) }).toEqual({ seed, files: expected });
      expect(subscriber.counted().failures).toBeGreaterThan(2);
    }
  });

  test('a server waits for a killed Redis, logs it once, and reports the reason in /ready', async () => {
    const { broker, subscribe, open } = await publisher();
    const clock = heldClock([500, 1_000, 2_000]);
    await using subscriber = subscribe(open, { clock });
    for (const event of events.slice(0, half)) await broker.publish(event);
    await untilReached(subscriber, half);
    await broker.stop();
    await redis.kill();
    for (const milliseconds of [500, 1_000]) {
      await until(() => clock.waiting(milliseconds) > 0);
      expect(subscriber.failing()).toBe(
        `Redis at 127.0.0.1:${redis.port} can't be reached, refuses the login, or closed the connection`,
      );
      clock.pass(milliseconds);
    }
    await until(() => clock.waiting(2_000) > 0);
    await redis.restart();
    await broker.start();
    broker.keep(events.slice(half, -1));
    clock.pass(2_000);
    await until(() => subscriber.failing() === null);
    // The stream outlived the server. Events that the broker didn't send leave a gap.
    await broker.publish(events.at(-1)!);
    await untilReached(subscriber, events.length);
    await isComplete(open, broker);
    const remedy = expect.stringContaining('Start Redis');
    expect(subscriber.eventsNamed('service_failing')).toMatchObject([{ service: 'snp', remedy }]);
    expect(subscriber.eventsNamed('service_resumed')).toMatchObject([{ service: 'snp', failures: 3 }]);
    expect(reasons(subscriber)).toEqual(['start', 'gap']);
  });

  test("a Redis that doesn't answer is disconnected, and connected again", async () => {
    const { broker, subscribe, open } = await publisher();
    let isDead = true;
    using proxy = cutProxy(redis.port, 0, () => (isDead ? 'held' : 'passed'));
    const clock = heldClock([500, MAX_ANSWER_MS]);
    broker.keep(events);
    await using subscriber = subscribe(open, { clock, port: proxy.port });
    await until(() => clock.waiting(MAX_ANSWER_MS) > 0);
    clock.pass(MAX_ANSWER_MS);
    await until(() => clock.waiting(500) > 0);
    expect(subscriber.failing()).toBe(`Redis at 127.0.0.1:${proxy.port} did not answer for 30 seconds`);
    isDead = false;
    clock.pass(500);
    await untilReached(subscriber, events.length);
    await isComplete(open, broker);
  });

  test('a backlog stays in Redis', async () => {
    const { broker, subscribe, open } = await publisher();
    broker.keep(Array.from({ length: 8 }, (_, index) => chunks(JSON.stringify(`${index}`.padEnd(3_000_000, 'x')))));
    const readOf = new Map<string, number>();
    const around =
      (intake: Intake): Intake =>
      async (event) => {
        if (readOf.size === 0) await until(async () => (await broker.waiting()) === 8, 'the whole backlog');
        readOf.set(event.text, await broker.unacknowledged());
        return intake(event);
      };
    await using subscriber = subscribe(open, { around });
    await untilReached(subscriber, 8);
    // The first read contains one event. The others have three megabytes each, so at most two fit into a read.
    expect([...readOf.values()]).toEqual([1, 2, 1, 2, 1, 2, 1, 1]);
  });

  describeWith('PostgreSQL', hasPostgres, () => {
    test('events that the publisher parsed, kept as jsonb and read back are taken, and rounded fields are logged once', async () => {
      // A pool's stack-stx on Bitcoin, late in this chain, has a maximum of 2^128 - 1. Another transaction has a large
      // authorization.
      const all = [...devnetEvents({ seed: 5, blocks: 90, accounts: 6, transactionsPerBlock: 1 })]
        .map(received)
        .map((event) => ({ ...event, text: event.text.replace(/("auth_id":)\d+/, `$1${2n ** 64n + 1n}`) }));
      await using server = await startPostgres();
      await using sql = new SQL(server.url, { max: 1 });
      await sql`CREATE TABLE events (number bigint PRIMARY KEY, content jsonb)`;
      const rows = all.map(({ text }, number) => ({ number, content: JSON.stringify(JSON.parse(text)) }));
      await sql`INSERT INTO events SELECT number, content::jsonb FROM
        jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS row (number bigint, content text)`;
      const stored = await sql<{ content: string }[]>`SELECT content::text FROM events ORDER BY number`;
      const unread = stored.filter(({ content }, index) => !canBeRead(all[index]!.path, content));
      expect(unread).toHaveLength(1);
      // The database rounds the authorization's amount, so the text gets the original amount back.
      using direct = openNew();
      for (const [index, event] of all.entries()) {
        const text = stored[index]!.content.replace(/("max_amount": )3402823\d+/, `$1${2n ** 128n - 1n}`);
        direct.ingest.receive({ ...event, text });
      }
      direct.ingest.close();
      /** The text of a Bitcoin block is stored as received. */
      const ofChain = (directory: string) => ({ ...tables(directory), burn_blocks: [] });
      const expectedTables = ofChain(direct.directory);
      for (const write of [(text: string) => text, (text: string) => JSON.stringify(JSON.parse(text))]) {
        const { broker, subscribe, open } = await publisher();
        broker.keep(all.map((event, index) => ({ ...event, text: write(stored[index]!.content) })));
        await using subscriber = subscribe(open);
        await untilReached(subscriber, all.length);
        expect(subscriber.failing()).toBeNull();
        expect(subscriber.eventsNamed('snp_rounded')).toEqual([
          { event: 'snp_rounded', message_id: expect.any(String), fields: 'auth_id, max_amount' },
        ]);
        await subscriber.stop();
        open.ingest.close();
        expect(Bun.deepEquals(ofChain(open.directory), expectedTables)).toBe(true);
      }
    });
  });
});
