/**
 * No request blocks a thread: every GET route is requested with the most expensive parameters, over a chain of large values,
 * and reads and decoded bytes between two turns of the event loop are counted. The clock advances by these counts, so that
 * the result is the same on a machine of any speed.
 */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { Turns, WORK_MS } from '../../src/base/turns.ts';
import * as values from '../../src/codec/clarity.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';
import * as reprs from '../../src/codec/clarity-text.ts';
import { networks } from '../../src/devnet/network.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { contractCall, signTransaction } from '../../src/devnet/transaction.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { EVENT_KIND } from '../../src/store/rows/enums.ts';
import { MAX_ENTRIES } from '../../src/store/rows/statement.ts';
import { appOf } from '../support/api/app.ts';
import {
  type GetRoute,
  getRoutes,
  isOfOperator,
  type Parameter,
  randomUrl,
  Subjects,
} from '../support/api/random-urls.ts';
import { type OpenIngest, openNew, received } from '../support/data/ingest.ts';
import { alice } from '../support/events/handmade.ts';
import { casesOf, firstSeed } from '../support/property.ts';

/** A value whose text is slow to produce per byte. */
const LARGE = clarity.list(Array.from({ length: 600 }, (_, index) => clarity.tuple({ at: clarity.uint(index) })));
/** Approximate number of bytes per millisecond. */
const BYTES_A_MILLISECOND = 5_000;
const ROWS_A_MILLISECOND = 300;

/** Rows read and bytes decoded since the last turn of the event loop. */
const sinceTurn = { rows: 0, bytes: 0 };
/** Largest number of entries that a statement had to skip. */
let passedOver = 0;
/** Milliseconds that all of it took, by the clock of this test. */
let worked = 0;
const spies = new DisposableStack();

function read(rows: number): void {
  sinceTurn.rows += rows;
  worked += rows / ROWS_A_MILLISECOND;
}

function countDecoded({ length }: Uint8Array): void {
  sinceTurn.bytes += length;
  worked += length / BYTES_A_MILLISECOND;
}

/** The most of each between two turns. */
const maxima = { rows: 0, bytes: 0 };

function endTurn(): void {
  maxima.rows = Math.max(maxima.rows, sinceTurn.rows);
  maxima.bytes = Math.max(maxima.bytes, sinceTurn.bytes);
  Object.assign(sinceTurn, { rows: 0, bytes: 0 });
}

const clock: Clock = {
  ...systemClock,
  monotonic: () => worked,
  async turn() {
    await systemClock.turn();
    endTurn();
  },
};

beforeAll(() => {
  const { prepare } = Database.prototype;
  function prepared(this: Database, sql: string, ...rest: never[]) {
    const statement = prepare.call(this, sql, ...rest);
    const { get, all, iterate } = statement;
    const offset = /OFFSET \+?\?(\d+)/.exec(sql)?.[1];
    const pass = (parameters: never[]) => {
      if (offset !== undefined) passedOver = Math.max(passedOver, Number(parameters[Number(offset) - 1]));
    };
    statement.get = ((...parameters: never[]) => {
      read(1);
      pass(parameters);
      return get.apply(statement, parameters);
    }) as typeof get;
    statement.all = ((...parameters: never[]) => {
      pass(parameters);
      const rows = all.apply(statement, parameters);
      read(rows.length);
      return rows;
    }) as typeof all;
    statement.iterate = ((...parameters: never[]) => {
      const rows = iterate.apply(statement, parameters);
      const next = rows.next.bind(rows);
      rows.next = () => {
        read(1);
        return next();
      };
      return rows;
    }) as typeof iterate;
    return statement;
  }
  const { clarityRepr } = reprs;
  const { decodeClarity } = values;
  spies.use(spyOn(Database.prototype, 'prepare')).mockImplementation(prepared as typeof prepare);
  spies.use(spyOn(reprs, 'clarityRepr')).mockImplementation((bytes) => {
    countDecoded(bytes);
    return clarityRepr(bytes);
  });
  spies.use(spyOn(values, 'decodeClarity')).mockImplementation((bytes) => {
    countDecoded(bytes);
    return decodeClarity(bytes);
  });
});
afterAll(() => spies.dispose());

/** Waiting transactions, and names, subdomains of a name and tokens of one owner. */
const [PENDING, OWNED] = [120, 3_000];

/** Makes the values of a chain large, and some lists long. @returns the owner of names */
function enlarge(open: OpenIngest): string {
  using db = new Database(indexPath(open.directory));
  db.run('PRAGMA synchronous = OFF');
  db.run(
    "UPDATE events SET value = ?1 WHERE kind = 1 AND contract_id NOT IN (SELECT id FROM principals WHERE address GLOB '*.pox-*')",
    [LARGE],
  );
  db.run('UPDATE events SET value = ?1 WHERE kind >= 9', [LARGE]);
  db.run('UPDATE transaction_bodies SET result = ?1', [LARGE]);
  db.run('UPDATE transaction_bodies SET function_args = ?1 WHERE function_args IS NOT NULL', [
    encodeArguments([LARGE]),
  ]);
  const call = contractCall('ST000000000000000000002AMW42H.pox-4', 'stack-stx', [LARGE]);
  const raw = signTransaction({ payload: call, origin: { account: alice, nonce: 0, fee: 100n } }, networks.testnet);
  const add = db.prepare(`INSERT INTO mempool_transactions
    SELECT randomblob(32), 0, received_at + ?1, receipt_block_height, NULL, 2, sender_id, nonce + 1000 + ?1, NULL, NULL, fee, NULL, NULL,
           NULL, (SELECT min(id) FROM principals), 'f', NULL, 1, ?2 FROM mempool_transactions WHERE state = 0 LIMIT 1`);
  for (let index = 0; index < PENDING; index++) add.run(index, raw);
  db.run(`INSERT OR IGNORE INTO pending_principals
          SELECT sender_id, received_at, tx_id FROM mempool_transactions WHERE state = 0`);
  const name = db.prepare("INSERT INTO old_names VALUES (?1 || '.btc', 'btc', ?2, zeroblob(20), NULL, NULL)");
  const subdomain = db.prepare("INSERT INTO old_names VALUES (?1 || '.n0.btc', 'n0.btc', ?2, zeroblob(20), '', '')");
  for (let index = 0; index < OWNED; index++) {
    name.run(`n${index}`, alice.address);
    subdomain.run(`s${index}`, alice.address);
  }
  // Each transaction has two more transfers of the first sender: one in each direction.
  db.run(
    `INSERT INTO events (position, event_index, kind, sender_id, recipient_id, amount)
       SELECT position, 10000 + way.value, ?1, iif(way.value = 0, one.id, sender_id), iif(way.value = 0, sender_id, one.id), 1
         FROM transactions, json_each('[0, 1]') way, (SELECT min(sender_id) AS id FROM transactions WHERE nonce > 0) one`,
    [EVENT_KIND.stx_transfer],
  );
  return alice.address;
}

/** A large value, or two of one item, may be more than a turn has time for; no third one is begun. */
const MAX_BYTES = 3 * LARGE.length;
/** Rows of a page, and of one step of a long read. */
const MAX_ROWS = 1_000;

/** The highest limit that a route takes. */
function dearest(parameter: Parameter): Parameter {
  if (parameter.name !== 'limit') return parameter;
  const { maximum } = parameter.schema.anyOf?.find((option) => option.maximum !== undefined) ?? parameter.schema;
  return { ...parameter, required: true, schema: { anyOf: [{ const: String(maximum ?? 50) }] } };
}

describe('between two turns', () => {
  let open: OpenIngest;
  let app: ReturnType<typeof appOf>;
  let routes: GetRoute[];
  const subjects = new Subjects();
  const closing = new DisposableStack();

  beforeAll(async () => {
    open = closing.use(openNew());
    for (const event of devnetEvents({ seed: 8, blocks: 44, accounts: 4, transactionsPerBlock: 20, staking: 30 })) {
      open.ingest.apply(received(event));
      subjects.add(event);
    }
    open.ingest.commit();
    subjects.principals.add(enlarge(open));
    for (const name of ['n0.btc', 's0.n0.btc']) subjects.names.add(name);
    const turns = new Turns(clock);
    const snapshots = openSnapshots(open.directory, { turns });
    closing.defer(snapshots.close);
    app = appOf({ snapshots, clock, turns });
    routes = getRoutes(await (await app.handle(new Request('http://localhost/docs/json'))).json());
  });
  afterAll(() => closing.dispose());

  const ask = (url: string) => app.handle(new Request(`http://localhost${url}`));

  /** Returns the cost of a request: the most that it reads and decodes between two turns, and the total. */
  async function costOf(url: string) {
    await systemClock.turn();
    endTurn();
    Object.assign(maxima, { rows: 0, bytes: 0 });
    const before = worked;
    const response = await ask(url);
    await response.arrayBuffer();
    endTurn();
    return { url, status: response.status, ...maxima, worked: worked - before };
  }

  /** Searches that find little, or nothing, in much. */
  const searches = () =>
    [...subjects.contracts].flatMap((contract) =>
      [
        ...['logs?limit=50', 'logs?limit=50&topic=nobodys', 'logs?limit=50&field.at=3'],
        ...['calls?limit=50&status=abort_by_response', 'calls?limit=1&function_name=transfer&arg.0=u7'],
      ].map((query) => `/stackside/v1/smart-contracts/${contract}/${query}`),
    );

  test('no request reads or decodes more than few milliseconds’ work', async () => {
    const costs: Awaited<ReturnType<typeof costOf>>[] = [];
    for (const { path, parameters } of routes.filter((route) => !isOfOperator(route))) {
      // Each route has a separate random sequence, so that new routes don't change the requests to others.
      const prng = new Prng(`long turns ${firstSeed} ${path}`);
      for (let attempt = 0; attempt < casesOf(2); attempt++) {
        costs.push(await costOf(randomUrl({ path, parameters: parameters.map(dearest) }, subjects, prng)));
      }
    }
    for (const url of searches()) costs.push(await costOf(url));
    for (const principal of [...subjects.principals, ...subjects.contracts]) {
      for (const list of ['activity', 'balance-history']) {
        costs.push(await costOf(`/stackside/v1/principals/${principal}/${list}`));
      }
    }
    costs.push(await costOf(`/v1/addresses/stacks/${alice.address}`), await costOf('/v1/names/n0.btc/subdomains'));

    const dear = costs.filter(({ rows, bytes }) => rows > MAX_ROWS || bytes > MAX_BYTES);
    expect(dear).toEqual([]);
    // The world has work for more than a turn on many routes, so that there was something to share.
    const routesOf = (some: typeof costs) =>
      new Set(some.map(({ url }) => url.replace(/[?].*|S[TP][0-9A-Z]+[^/?]*|0x\w+|\d+/g, '')));
    expect(costs.filter(({ status }) => status === 200).length).toBeGreaterThan(costs.length / 2);
    expect(costs.every(({ status }) => status !== 500)).toBe(true);
    expect(routesOf(costs.filter((cost) => cost.worked > 5 * WORK_MS)).size).toBeGreaterThan(10);
  });

  test('no request skips more than a million entries of a list, at any offset', async () => {
    const lists = routes.filter(
      (route) => !isOfOperator(route) && route.parameters.some(({ name }) => /^(event_)?offset$/.test(name)),
    );
    expect(lists.length).toBeGreaterThan(30);
    const answered = new Set<string>();
    for (const { path, parameters } of lists) {
      const others = parameters.filter(({ name }) => !/^((event_)?offset|limit|cursor)$/.test(name));
      for (let attempt = 0; attempt < casesOf(1); attempt++) {
        const url = randomUrl({ path, parameters: others }, subjects, new Prng(`offsets ${firstSeed} ${path}`));
        const askAt = (offset: number) =>
          ask(`${url}${url.includes('?') ? '&' : '?'}offset=${offset}&event_offset=${offset}`);
        const head = await askAt(0);
        if (head.status !== 200) continue;
        for (const offset of [MAX_ENTRIES + 1, Number.MAX_SAFE_INTEGER]) {
          const beyond = await askAt(offset);
          const body = (await beyond.json()) as Record<string, unknown>;
          // Cursors reach as far as their parameter allows, and one list returns 404 if nothing is found.
          if (beyond.status !== 200) {
            expect({ url, status: [400, 404].includes(beyond.status) }).toEqual({ url, status: true });
            continue;
          }
          const { total, ...first } = (await head.clone().json()) as Record<string, unknown>;
          if (!('offset' in first)) continue;
          answered.add(path);
          expect({ url, total: body.total, offset: body.offset }).toEqual({ url, total, offset });
          expect(body.results ?? body.events).toEqual([]);
        }
      }
    }
    expect(answered.size).toBeGreaterThan(25);
    expect(passedOver).toBeLessThanOrEqual(MAX_ENTRIES);
    expect(passedOver).toBeGreaterThan(0);
  });

  test('searches that take turns on one connection find the same as separate searches', async () => {
    const urls = searches();
    const alone: string[] = [];
    for (const url of urls) alone.push(await (await ask(url)).text());
    const together = await Promise.all(urls.map(async (url) => (await ask(url)).text()));
    expect(together).toEqual(alone);
    expect(new Set(alone).size).toBeGreaterThan(10);
  });

  test('the counterparties of a busy account come from its 1,000 newest transfers, mints and burns in each direction', async () => {
    using db = new Database(indexPath(open.directory), { readonly: true });
    const { id, address } = db
      .query<{ id: number; address: string }, []>(
        'SELECT id, address FROM principals WHERE id = (SELECT min(sender_id) FROM transactions WHERE nonce > 0)',
      )
      .get()!;
    const counted = (own: string, other: string, kinds: string) => {
      const newest = `(SELECT ${other} AS other, amount FROM events WHERE ${own} = ?1 AND kind IN (${kinds})
                        ORDER BY position DESC, event_index DESC LIMIT 1000)`;
      const results = db
        .query(
          `SELECT p.address AS principal, count(*) AS transfers, CAST(sum(CAST(amount AS INTEGER)) AS TEXT) AS amount
             FROM ${newest} JOIN principals p ON p.id = other GROUP BY other
            ORDER BY sum(CAST(amount AS INTEGER)) DESC LIMIT 10`,
        )
        .all(id);
      // Mints and burns have no counterparty.
      const count = db
        .query<{ transfers: number }, [number]>(`SELECT count(other) AS transfers FROM ${newest}`)
        .get(id);
      return { transfers: count?.transfers, results };
    };
    const { received, sent } = (await (await ask(`/stackside/v1/principals/${address}/activity`)).json()) as Record<
      'received' | 'sent',
      object
    >;
    const { stx_transfer: transfer, stx_mint: mint, stx_burn: burn } = EVENT_KIND;
    expect({ received, sent }).toEqual({
      received: counted('recipient_id', 'sender_id', `${transfer}, ${mint}`),
      sent: counted('sender_id', 'recipient_id', `${transfer}, ${burn}`),
    });
  });
});
