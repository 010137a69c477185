/**
 * Unexpected numbers in place of each number that a node sends: the event is accepted, or refused by the name of the field.
 * Accepted events can be read, and journal and index agree. STACKSIDE_RUNS for more fields, STACKSIDE_SEED for others.
 */

import { expect, test } from 'bun:test';
import { parseJson } from '../../src/chain/payload-reader.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { eventIntake } from '../../src/node/event-intake.ts';
import { startReceiver } from '../../src/node/receiver.ts';
import { type OpenApi, openApi } from '../support/api/api.ts';
import { getRoutes, isOfOperator, randomUrl, Subjects } from '../support/api/random-urls.ts';
import { entryOf, openNew } from '../support/data/ingest.ts';
import { journalRows } from '../support/data/tables.ts';
import { alice, announcement, block, sponsor, type Transaction, transfer } from '../support/events/handmade.ts';
import { jsonOf } from '../support/events/payload-text.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

/** Number of tries for each kind of path, and of requests for each route. */
const TIMES = casesOf(1);
/** Number of unchanged events at the start: blocks 0 and 1 identify the chain. */
const CALM = 6;

/** Unexpected numbers, as JSON. */
const oddNumbers: readonly string[] = [
  '1e300',
  '-1',
  '0.5',
  ...[2n ** 53n, 2n ** 63n, 2n ** 64n, 2n ** 128n].map(String),
  '1e13',
  '"7"',
  '"-1"',
  `"${'9'.repeat(39)}"`,
  `"${'9'.repeat(40)}"`,
];

type Path = (string | number)[];
const isNumeric = (value: unknown): boolean =>
  typeof value === 'number' || typeof value === 'bigint' || (typeof value === 'string' && /^\d+$/.test(value));

/** Yields the path of each number in a value, including numbers in text. */
function* numbersIn(value: unknown, path: Path = []): Generator<Path> {
  if (isNumeric(value)) yield path;
  else if (Array.isArray(value)) for (const [index, part] of value.entries()) yield* numbersIn(part, [...path, index]);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) yield* numbersIn(part, [...path, key]);
  }
}

/** The kind of a place: the names on the way there. */
const kindOf = (event: NodeEvent, path: Path): string =>
  `${event.path} ${path.filter((part) => typeof part === 'string').join('.')}`;

type Body = Record<string | number, unknown>;

/** The height of a block; -1 for another event. */
const heightOf = ({ path, body }: NodeEvent): number =>
  path === '/new_block' ? Number((parseJson(body) as Body).block_height) : -1;

/** Makes the block a rival of the node's block, on the same parent. */
function asRival(body: Body, prng: Prng): void {
  for (const name of ['index_block_hash', 'block_hash']) {
    if (name in body) body[name] = `0x${prng.bytes(32).toHex()}`;
  }
}

interface Odd {
  path: string;
  body: string;
  /** Names, one of which the rejection must contain. */
  names: string[];
}

const MARK = '\u0001number\u0001';

function withNumber({ path, body }: NodeEvent, field: Path, number: string, prng: Prng): Odd {
  const value = parseJson(body) as Body;
  const holder = field.slice(0, -1).reduce((inner, key) => inner[key] as Body, value);
  holder[field.at(-1) ?? ''] = MARK;
  asRival(value, prng);
  const name = field.join('.');
  // Costs are added up.
  const names = [`Field ${name}:`, ...(name.includes('execution_cost') ? ['Field transactions:'] : [])];
  return { path, body: jsonOf(value).replace(JSON.stringify(MARK), number), names };
}

/**
 * Sends rivals before each event but the highest blocks. The chain leaves a rival that was accepted: its numbers may not fit the
 * rest of the chain, such as a lock of more STX than an account has.
 */
function* oddOnes(events: readonly NodeEvent[], prng: Prng): Generator<Odd[]> {
  const tried = new Map<string, number>();
  const tip = Math.max(...events.map(heightOf));
  for (const [index, event] of events.entries()) {
    const odd: Odd[] = [];
    // A node that restarts announces block 0 again.
    if (index >= CALM && heightOf(event) !== 0 && heightOf(event) < tip) {
      for (const field of numbersIn(parseJson(event.body))) {
        const kind = kindOf(event, field);
        const times = tried.get(kind) ?? 0;
        if (times === TIMES) continue;
        tried.set(kind, times + 1);
        odd.push(...oddNumbers.map((number) => withNumber(event, field, number, prng)));
      }
    }
    yield [...odd.sort(() => prng.below(3) - 1), { path: event.path, body: event.body, names: [] }];
  }
}

/** Sends them all in order. @throws Error at an answer that is neither 200 nor names the field @returns the accepted events */
async function sent(url: string, lists: Iterable<Odd[]>): Promise<NodeEvent[]> {
  const accepted: NodeEvent[] = [];
  for (const { path, body, names } of [...lists].flat()) {
    const response = await fetch(url + path, { method: 'POST', body });
    const text = await response.text();
    if (response.status === 200) accepted.push({ path, body, time: 0 });
    else if (response.status !== 400 || !names.some((name) => text.includes(name))) {
      throw new Error(`${path}, which has ${names.join(' or ')}: ${response.status} ${text}\n${body}`);
    }
  }
  return accepted;
}

/** Requests every route for accepted events. @returns the failures */
async function failuresToRead(directory: string, accepted: readonly NodeEvent[], prng: Prng): Promise<string[]> {
  const subjects = new Subjects();
  for (const event of accepted) subjects.add(event);
  // More STX may be burned than exist: the schemas don't allow values that are impossible on a chain.
  using api = openApi(directory, undefined, { checkResponses: false });
  const failed: string[] = [];
  const routes = getRoutes(await (await api.get('/docs/json')).json());
  for (const route of routes.filter((item) => !isOfOperator(item) && !item.path.startsWith('/chainhooks'))) {
    for (let times = 0; times < TIMES; times++) {
      const url = randomUrl(route, subjects, prng);
      const response = await api.get(url);
      if (response.status >= 500) failed.push(`${response.status} ${url} ${await response.text()}`);
    }
  }
  return failed;
}

test('an odd number is accepted or rejected by its field, and accepted data can be read', async () => {
  const prng = new Prng(`odd numbers/${firstSeed}`);
  const chain = { seed: firstSeed, blocks: 10 * TIMES, accounts: 8, transactionsPerBlock: 3, forkEvery: 5 };
  using open = openNew();
  let applied = 0;
  const receiver = startReceiver({
    hostname: '127.0.0.1',
    port: 0,
    bodyLimit: 10_000_000,
    intake: eventIntake({
      receive(event) {
        const outcome = open.ingest.receive(event);
        if (outcome === 'applied') applied += 1;
        return outcome;
      },
      log: () => {},
    }),
    log: () => {},
  });
  try {
    const accepted = await sent(receiver.url, oddOnes([...devnetEvents(chain)], prng));
    expect(await failuresToRead(open.directory, accepted, prng)).toEqual([]);
  } finally {
    await receiver.stop();
  }
  open.ingest.close();
  expect(journalRows(open.directory)).toHaveLength(entryOf(applied));
  expect(problemsIn(open.directory, { deep: silentMachine })).toEqual([]);
});

/** A number of any length up to 64 bits, often one of the ends of a length. */
function anyU64(prng: Prng): bigint {
  const end = 2n ** BigInt(prng.pick([31, 32, 52, 53, 62, 63, 64]));
  return prng.pick([end - 1n, end % 2n ** 64n, BigInt(`0x${prng.bytes(8).toHex()}`) % end]);
}

/** The payer's fields of a transaction. */
interface Payment {
  nonce: bigint;
  sponsorNonce: bigint | null;
  fee: bigint;
}

const signedBy = ({ nonce, sponsorNonce, fee }: Payment): Transaction =>
  transfer(alice, nonce, fee, sponsorNonce === null ? undefined : { account: sponsor, nonce: sponsorNonce });

/** Returns the payment from the API, or null if the transaction isn't there. */
async function paymentOf({ get }: OpenApi, id: string): Promise<Payment | null> {
  const response = await get(`/extended/v1/tx/${id}`);
  if (response.status === 404) return null;
  const json = parseJson(await response.text()) as { nonce: number; sponsor_nonce?: number; fee_rate: string };
  const { nonce, sponsor_nonce, fee_rate } = json;
  return {
    nonce: BigInt(nonce),
    sponsorNonce: sponsor_nonce === undefined ? null : BigInt(sponsor_nonce),
    fee: BigInt(fee_rate),
  };
}

test('a signed transaction is answered with the nonces and the fee that it has, or its block is refused by its id', async () => {
  const prng = new Prng(`odd transactions/${firstSeed}`);
  using open = openNew();
  using api = openApi(open.directory);
  let last = block(null, 'first');
  open.ingest.receive(last.event);
  for (let number = 0; number < casesOf(10); number++) {
    const payment = { nonce: anyU64(prng), sponsorNonce: prng.chance(0.5) ? anyU64(prng) : null, fee: anyU64(prng) };
    const signed = signedBy(payment);
    open.ingest.receive(announcement([signed]));
    expect([null, payment]).toContainEqual(await paymentOf(api, signed.id));
    const next = block(last, `of ${number}`, [signed]);
    try {
      open.ingest.receive(next.event);
      last = next;
    } catch (error) {
      expect({ payment, refused: String(error) }).toEqual({ payment, refused: expect.stringContaining(signed.id) });
      continue;
    }
    expect(await paymentOf(api, signed.id)).toEqual(payment);
  }
});
