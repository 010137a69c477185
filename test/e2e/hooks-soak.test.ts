/**
 * Fifty hooks, receivers that fail half of the time in every way, a chain with forks, and a server that is killed
 * repeatedly. Every delivery arrives at least once and in order, no unexpected delivery arrives, and the delivery
 * history matches. STACKSIDE_RUNS sets the number of blocks, STACKSIDE_SEED the moments.
 */
import { afterAll, expect, test } from 'bun:test';
import net from 'node:net';
import { join } from 'node:path';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { Filter } from '../../src/hooks/definition/filter-schemas.ts';
import { type Arrival, acceptedInOrder } from '../hooks/arrivals.ts';
import { expectedMatches, followed } from '../hooks/follow.ts';
import { definition } from '../hooks/server.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { moment } from '../support/time/moment.ts';
import { until } from '../support/time/until.ts';
import { killAndWait, type Stackside } from './crash-process.ts';
import { readyLine } from './stackside.ts';

const BLOCKS = casesOf(26);
const HOOKS = 50;
const KILL_EVERY_BLOCKS = 10;
const prng = new Prng(`hooks/soak/${firstSeed}`);

// biome-ignore lint/suspicious/noExplicitAny: payloads are looked into
type Payload = any;

interface Arrived extends Arrival {
  attempt: number;
}

/** The deliveries of each hook and their answers, by the number of the hook. */
const arrived: Arrived[][] = Array.from({ length: HOOKS }, () => []);
let calm = false;
/** Connections with unanswered requests. A new one ends the oldest, and the final phase ends all of them. */
const unanswered: net.Socket[] = [];
const MAX_UNANSWERED = 5;
function endUnanswered(limit: number): void {
  for (const socket of unanswered.splice(0, unanswered.length - limit)) socket.destroy();
}

/** HTTP by hand: one request per connection, so that the test can send any response. */
const receiver = net.createServer((socket) => {
  let text = '';
  socket.on('error', () => {});
  socket.setEncoding('utf8');
  socket.on('data', (part) => {
    text += part;
    const end = text.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (end < 0 || Buffer.byteLength(text.slice(end + 4)) < length) return;
    const header = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'im').exec(text)?.[1] ?? '';
    const hook = Number(/^POST \/(\d+)/.exec(text)?.[1]);
    const fate = calm ? 9 : prng.between(0, 9);
    arrived[hook]?.push({
      id: header('webhook-id'),
      sequence: Number(header('x-chainhook-sequence')),
      attempt: Number(header('x-chainhook-attempt')),
      payload: JSON.parse(text.slice(end + 4)),
      answered: fate >= 5,
    });
    text = '';
    if (fate === 0) socket.resetAndDestroy();
    else if (fate === 1) {
      unanswered.push(socket);
      endUnanswered(MAX_UNANSWERED);
    } else if (fate === 2) socket.end('HTTP/1.1 307 Moved\r\nlocation: /\r\ncontent-length: 0\r\n\r\n');
    else if (fate < 5) socket.end(`HTTP/1.1 ${fate === 3 ? 503 : 500} No\r\ncontent-length: 2\r\n\r\nno`);
    else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
  });
});
receiver.listen(0, '127.0.0.1');
afterAll(() => void receiver.close());

const kinds = [
  ...['stx_event', 'contract_call', 'contract_log', 'ft_event'],
  ...['nft_event', 'coinbase', 'tenure_change', 'stx_transfer'],
];
const filtersOf = (hook: number): Filter[] =>
  [0, 3].slice(0, 1 + (hook % 2)).map((step) => ({ type: kinds[(hook + step) % kinds.length] }) as Filter);

interface Running {
  child: Stackside;
  events: string;
  api: string;
}

test('if receivers fail and the server is killed, no delivery is lost, made up or out of order', async () => {
  using directory = dataDirectory();
  let kills = 0;
  const start = async (): Promise<Running> => {
    const server = [process.execPath, join(import.meta.dir, 'soak-server.ts'), directory.path];
    const child = Bun.spawn(server, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
    const ready = await readyLine(child);
    if (ready === null) throw new Error(`the server ended: ${await child.stderr.text()}`);
    return { child, ...ready };
  };
  let server = await start();
  const { port } = receiver.address() as net.AddressInfo;
  const uuids: string[] = [];
  for (let hook = 0; hook < HOOKS; hook++) {
    const url = `http://127.0.0.1:${port}/${hook}`;
    const options = { enable_on_registration: true, decode_clarity_values: hook % 3 === 0 };
    const response = await fetch(`${server.api}/chainhooks/me`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...definition(url, filtersOf(hook), options), name: String(hook) }),
    });
    uuids.push(((await response.json()) as { uuid: string }).uuid);
  }

  const forked = { seed: 31, accounts: 12, transactionsPerBlock: 4, forkEvery: 5, forkDepth: 3 };
  const stream = devnetEvents({ ...forked, blocks: 1_000_000 });
  const sent: NodeEvent[] = [];
  let [blocksSent, nextKill] = [0, KILL_EVERY_BLOCKS];
  for (const event of stream) {
    for (;;) {
      const answer = fetch(new URL(event.path, server.events), { method: 'POST', body: event.body }).then(
        async (response) => {
          if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
          return true;
        },
        () => false,
      );
      if (blocksSent >= nextKill) {
        await moment(prng.between(0, 20));
        if (await killAndWait(server.child)) kills += 1;
        server = await start();
        nextKill += KILL_EVERY_BLOCKS;
      }
      if (await answer) break;
    }
    sent.push(event);
    if (event.path !== '/new_block') continue;
    blocksSent += 1;
    if (blocksSent === BLOCKS) break;
    // Time for some deliveries, so that a kill finds all stages of them.
    await moment(10);
  }

  calm = true;
  endUnanswered(0);
  const statusOf = async (uuid: string) =>
    ((await (await fetch(`${server.api}/chainhooks/me/${uuid}`)).json()) as Payload).status;
  for (const uuid of uuids) {
    await until(async () => {
      const { pending_deliveries, lag_blocks } = await statusOf(uuid);
      return pending_deliveries === 0 && lag_blocks === 0;
    }, 'the end of the queue');
    expect(await statusOf(uuid)).toMatchObject({ status: 'streaming', enabled: true, interrupted_reason: null });
  }

  let [attempts, repeated, rollbacks, blocks] = [0, 0, 0, 0];
  for (const [hook, list] of arrived.entries()) {
    attempts += list.length;
    const { accepted, repeated: count } = acceptedInOrder(hook, list);
    repeated += count;

    // No delivery is missing or superfluous: a client that applies them has the winning chain.
    const payloads = accepted.map(({ payload }) => payload);
    rollbacks += payloads.filter(({ event }) => event.rollback.length > 0).length;
    const standing = [...followed(payloads)].map(([hash, block]) => [
      hash,
      (block as Payload).transactions.map((transaction: Payload) => transaction.transaction_identifier.hash),
    ]);
    expect({ hook, standing }).toEqual({ hook, standing: [...expectedMatches(sent, filtersOf(hook))] });
    blocks += standing.length;

    // The delivery history matches.
    const logged: Payload[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const page = (await (
        await fetch(`${server.api}/chainhooks/me/${uuids[hook]}/deliveries?${query}`)
      ).json()) as Payload;
      logged.push(...page.results);
      cursor = page.cursor.next;
    }
    expect(logged.map(({ id, sequence, state }) => [id, sequence, state])).toEqual(
      accepted.toReversed().map(({ id, sequence }) => [id, sequence, 'delivered']),
    );
  }
  server.child.kill('SIGTERM');
  expect(await server.child.exited).toBe(0);
  process.stderr.write(
    `soak (seed ${firstSeed}): ${JSON.stringify({ kills, events: sent.length, attempts, repeated, rollbacks, blocks })}\n`,
  );
  expect(kills).toBeGreaterThanOrEqual(2);
  expect(rollbacks).toBeGreaterThan(20);
});
