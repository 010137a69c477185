/**
 * An SQLite or file system call fails during the management of chainhooks: the answer is right, or reports that the
 * database can't be used now, and never that something doesn't exist or that the request was wrong. STACKSIDE_RUNS for more
 * calls, STACKSIDE_SEED for others.
 */
import { expect, test } from 'bun:test';
import { Prng } from '../../src/devnet/prng.ts';
import { definition, type HookServer, hookServer, receiver } from '../hooks/server.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { until } from '../support/time/until.ts';
import { faults, never } from './fault-store.ts';
import { processFaults } from './process-faults.ts';

/** Number of calls of each request that fail, each in one of the ways. */
const TRIED = casesOf(1);
const events = simulatedEvents({ seed: 3, blocks: 6, accounts: 12, transactionsPerBlock: 4, forkEvery: 0 });
const filters = [{ type: 'stx_event' }, { type: 'tenure_change' }, { type: 'coinbase' }];

/** The server, hook, job and delivery that exist at the time of a request. */
interface Scene {
  server: HookServer;
  hook: string;
  /** A job and a delivery of the hook. */
  job: string;
  delivery: string;
  tip: string;
}

type Request = [method: string, path: string, body?: unknown];

const requests: Readonly<Record<string, (scene: Scene) => Request>> = {
  'the consumers': () => ['GET', '/chainhooks/consumers'],
  'the hooks': () => ['GET', '/chainhooks/me'],
  'a new hook': () => ['POST', '/chainhooks/me', definition('http://127.0.0.1:9/', filters)],
  'a hook': ({ hook }) => ['GET', hook],
  'a hook that changes': ({ hook }) => ['PATCH', hook, { name: 'renamed' }],
  'a hook that ends': ({ hook }) => ['DELETE', hook],
  'a hook switched off': ({ hook }) => ['PATCH', `${hook}/enabled`, { enabled: false }],
  'a hook switched on from a height': ({ hook }) => ['PATCH', `${hook}/enabled`, { enabled: true, resume_from: 2 }],
  'many hooks switched off': () => [
    'PATCH',
    '/chainhooks/me/enabled',
    { enabled: false, filters: { statuses: ['new'] } },
  ],
  'a block by its hash': ({ hook, tip }) => ['POST', `${hook}/evaluate`, { index_block_hash: tip }],
  'a block by its height': ({ hook }) => ['POST', `${hook}/evaluate`, { block_height: 3 }],
  'the secret': () => ['GET', '/chainhooks/me/secret'],
  'a new secret': () => ['POST', '/chainhooks/me/secret'],
  'no secret': () => ['DELETE', '/chainhooks/me/secret'],
  'a preview': () => ['POST', '/chainhooks/preview', { filters: { events: filters }, block_height: 3 }],
  'a preview of a block by its hash': ({ tip }) => [
    'POST',
    '/chainhooks/preview',
    { filters: { events: filters }, index_block_hash: tip },
  ],
  'a preview of a hook': ({ hook }) => ['POST', `${hook}/preview`, { from_height: 1, to_height: 4 }],
  'a test': ({ hook }) => ['POST', `${hook}/test`, {}],
  'a test of a height': ({ hook }) => ['POST', `${hook}/test`, { block_height: 1 }],
  'a backfill that begins': ({ hook }) => ['POST', `${hook}/backfills`, { from_height: 1, to_height: 3 }],
  'a backfill that only counts': ({ hook }) => ['POST', `${hook}/backfills`, { from_height: 1, dry_run: true }],
  'the backfills': ({ hook }) => ['GET', `${hook}/backfills`],
  'a backfill': ({ hook, job }) => ['GET', `${hook}/backfills/${job}`],
  'a backfill that ends': ({ hook, job }) => ['DELETE', `${hook}/backfills/${job}`],
  'the deliveries': ({ hook }) => ['GET', `${hook}/deliveries`],
  'a delivery': ({ hook, delivery }) => ['GET', `${hook}/deliveries/${delivery}`],
  'a delivery once more': ({ hook, delivery }) => ['POST', `${hook}/deliveries/${delivery}/redeliver`],
  'many deliveries again': ({ hook }) => ['POST', `${hook}/deliveries/redeliver`, { state: ['delivered'] }],
};

/** A hook with a backfill that is done and a delivery. */
async function sceneOf(server: HookServer, url: string): Promise<Scene> {
  const ask = async (...request: Request) => {
    let body: unknown;
    // The writer may still be recovering from the previous failure.
    await until(async () => {
      const answer = await server.request(...request);
      body = answer.body;
      return answer.status < 300;
    }, `an answer to ${request[0]} ${request[1]}`);
    return body as { id: string; uuid: string; results: { id: string }[] };
  };
  const { uuid } = await ask('POST', '/chainhooks/me', definition(url, filters));
  const hook = `/chainhooks/me/${uuid}`;
  const job = await ask('POST', `${hook}/backfills`, { from_height: 2, to_height: 2 });
  await until(
    async () => (await server.request('GET', `${hook}/deliveries`)).body?.results?.[0]?.state === 'delivered',
  );
  const delivery = (await ask('GET', `${hook}/deliveries`)).results[0]!.id;
  const tip = `0x${server.hooks.history.tip().indexBlockHash.toHex()}`;
  return { server, hook, job: job.id, delivery, tip };
}

test('any failing call under a request is reported in the answer, without details', async () => {
  let plan = never;
  using seen = processFaults((call) => plan(call));
  using target = receiver();
  await using server = await hookServer({}, undefined, { deliveryRules: { retryCapMs: 10 } });
  for (const event of events) server.ingest.receive(event);
  const prng = new Prng(`management/${firstSeed}`);
  const wrong: object[] = [];
  for (const [name, request] of Object.entries(requests)) {
    const right = await sceneOf(server, target.url);
    const before = seen.calls();
    const { status, body } = await server.request(...request(right));
    const calls = seen.calls() - before;
    if (status >= 300) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
    for (let tried = 0; tried < TRIED; tried++) {
      const scene = await sceneOf(server, target.url);
      const fault = prng.pick(faults);
      const callNumber = seen.calls() + Math.floor(((tried + prng.below(1_000) / 1_000) / TRIED) * calls);
      let failing = '';
      plan = ({ number, sql }) => {
        if (number !== callNumber) return null;
        failing = sql;
        return fault;
      };
      const answer = await server.request(...request(scene));
      plan = never;
      if (answer.status !== 503 && answer.status !== status) wrong.push({ name, failing, fault, ...answer });
    }
  }
  expect(wrong).toEqual([]);
});
