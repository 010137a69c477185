/** The history of a principal: with any forks and any page size, its sums equal the balances that the API returns. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import { History } from '../../src/api/stackside/principal-history.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { csvLine } from '../../src/http/csv.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { appOf } from '../support/api/app.ts';
import { openNew, received, simulatedEvents } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { ADDRESS, HOLDER, hash, idAt, MISTYPED, OTHER, TOKEN } from './sample-chain.ts';
import { sampleIndex, testApp } from './test-app.ts';

type Body = typeof History.static;
type Asset = Body['movements'][number]['asset'];

const pathOf = (principal: string, query = '') => `/stackside/v1/principals/${principal}/history${query}`;
const nameOf = (asset: Asset): string => (asset.type === 'stx' ? 'stx' : `${asset.type} ${asset.identifier}`);

const posted = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** The sums of the movements by asset; each balance in between is checked. */
function sumsOf({ movements }: Pick<Body, 'movements'>, before = new Map<string, bigint>()): Map<string, bigint> {
  const sums = new Map(before);
  for (const { asset, amount, balance } of movements) {
    const sum = (sums.get(nameOf(asset)) ?? 0n) + BigInt(amount);
    expect(balance).toBe(String(sum));
    sums.set(nameOf(asset), sum);
  }
  return sums;
}

const notZero = (sums: Map<string, bigint>) => Object.fromEntries([...sums].filter(([, sum]) => sum !== 0n).sort());

const OPTIONS = { seed: 7, blocks: 44, accounts: 8, transactionsPerBlock: 6, staking: 30, forkEvery: 6 };

describe('over a simulated chain with forks', () => {
  /** Each account's whole history, in one answer. */
  const histories = new Map<string, Body>();
  /** An application that reads few rows in each step, so that steps also start within a transaction. */
  let app: ReturnType<typeof testApp>;

  const busiest = () => [...histories].sort(([, a], [, b]) => b.movements.length - a.movements.length).slice(0, 6);
  const ask = async (path: string) => (await app.json(path)).body as never;

  beforeAll(async () => {
    app = testApp(memoryIndex(simulatedEvents(OPTIONS), { historyBatch: 3 }));
    const { results } = await ask('/extended/v3/tokens/stx/holders?limit=50');
    const waiting = (results as { principal: string }[]).map(({ principal }) => principal);
    for (let principal = waiting.pop(); principal !== undefined; principal = waiting.pop()) {
      if (histories.has(principal)) continue;
      const body: Body = await ask(pathOf(principal));
      histories.set(principal, body);
      for (const { counterparty } of body.movements) if (counterparty !== null) waiting.push(counterparty);
    }
  });

  test('the sums of the movements equal the balances of the API', async () => {
    for (const [principal, body] of histories) {
      expect(Value.Errors(History, body).First()).toBeUndefined();
      expect(body.complete).toBe(true);
      const balances = new Map<string, bigint>();
      const path = `/extended/v3/principals/${principal}/balances`;
      const stx: { balance: string } = await ask(`${path}/stx`);
      balances.set('stx', BigInt(stx.balance));
      const fts: { results: { asset_identifier: string; balance: string }[] } = await ask(`${path}/ft?limit=50`);
      for (const { asset_identifier: asset, balance } of fts.results) balances.set(`ft ${asset}`, BigInt(balance));
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: { results: { asset_identifier: string }[]; cursor: { next: string | null } } = await ask(
          `${path}/nft?limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`,
        );
        for (const { asset_identifier: asset } of page.results) {
          balances.set(`nft ${asset}`, (balances.get(`nft ${asset}`) ?? 0n) + 1n);
        }
        cursor = page.cursor.next;
      }
      expect(notZero(sumsOf(body))).toEqual(notZero(balances));
    }
  });

  test('the history starts with the movements of block 0, which block 1 serves', async () => {
    const ofGenesis = { block_height: 1, type: 'mint', asset: { type: 'stx' } };
    let minted = 0;
    for (const [principal, body] of histories) {
      const first = body.movements.filter(({ block_height }) => block_height === 1);
      expect(first.map(({ time }) => time)).toEqual(first.map(({ time }) => time).sort());
      const mint = first.findIndex(({ type, asset }) => type === 'mint' && asset.type === 'stx');
      if (mint === -1 || first.length === 1) continue;
      minted += 1;
      expect(first[0]).toMatchObject(ofGenesis);
      expect(body.movements.filter(({ balance }) => balance.startsWith('-'))).toEqual([]);
      // A period that starts with block 1 includes block 0, and a period that ends there too.
      for (const query of ['?from=1', '?from=0&to=1', '?from=1&to=1']) {
        const { movements }: Body = await ask(pathOf(principal, query));
        expect(movements).toEqual(query.includes('to') ? first : body.movements);
      }
      const none: Body = await ask(pathOf(principal, '?to=0'));
      expect(none.movements).toEqual([]);
      const later: Body = await ask(pathOf(principal, '?from=2'));
      expect(later.movements).toEqual(body.movements.slice(first.length));
    }
    expect(minted).toBeGreaterThan(2);
  });

  test('the chain contains most kinds of movements, and fees paid by sponsors', async () => {
    const seen = new Set<string>();
    const payers = new Map<string, string>();
    for (const [principal, { movements }] of histories) {
      for (const { type, asset, tx_id } of movements) {
        seen.add(`${asset.type} ${type}`);
        if (type === 'fee' && tx_id !== null) payers.set(tx_id, principal);
      }
    }
    const kinds = ['stx', 'ft', 'nft'].flatMap((asset) => ['mint', 'transfer'].map((type) => `${asset} ${type}`));
    expect([...seen]).toEqual(expect.arrayContaining([...kinds, 'stx burn', 'stx fee', 'stx mining_reward']));
    const ids = [...payers.keys()];
    const sponsored = new Set<string>();
    for (let start = 0; start < ids.length && sponsored.size === 0; start += 50) {
      const tx_ids = ids.slice(start, start + 50);
      const answer = await app.json('/stackside/v1/transactions/multiple', posted({ tx_ids }));
      const { results } = answer.body as { results: { tx_id: string; transaction: { sender: { address: string } } }[] };
      for (const { tx_id, transaction } of results) {
        if (transaction.sender.address !== payers.get(tx_id)) sponsored.add(tx_id);
      }
    }
    expect(sponsored.size).toBeGreaterThan(0);
  });

  /** The balances of an asset after each block that changed it, by the movements. */
  function changesOf({ movements }: Body, asset: string): [number, string][] {
    const balanceAt = new Map<number, string>();
    for (const item of movements) if (nameOf(item.asset) === asset) balanceAt.set(item.block_height, item.balance);
    return [...balanceAt].filter(([, balance], index, entries) => balance !== (entries[index - 1]?.[1] ?? null));
  }

  interface OverTime {
    complete: boolean;
    points: { block_height: number; time: number; balance: string }[];
  }

  const overTime = async (server: typeof app, principal: string, asset: string): Promise<OverTime> => {
    const query = asset === 'stx' ? '' : `?asset_identifier=${encodeURIComponent(asset.slice(3))}`;
    return (await server.json<OverTime>(`/stackside/v1/principals/${principal}/balance-history${query}`)).body;
  };

  test('the balance over time has each change of the movements, and ends at the tip', async () => {
    const tip = 44;
    for (const [principal, body] of histories) {
      const names = new Set(body.movements.map(({ asset }) => nameOf(asset)).filter((name) => !name.startsWith('nft')));
      for (const asset of names) {
        const { complete, points } = await overTime(app, principal, asset);
        expect(complete).toBe(true);
        const changes = changesOf(body, asset);
        // The first point is zero, because other assets came before.
        const rows = points.map(({ block_height: height, balance }): [number, string] => [height, balance]);
        const from = rows[0]?.[1] === '0' && changes[0]?.[0] !== rows[0]?.[0] ? 1 : 0;
        expect(rows.slice(from).filter(([height]) => height < tip)).toEqual(changes.filter(([height]) => height < tip));
        expect(rows.at(-1)).toEqual([tip, changes.at(-1)?.[1] ?? '']);
      }
    }
  });

  test('the balance over time of a busy account has evenly distributed blocks', async () => {
    const few = testApp(memoryIndex(simulatedEvents(OPTIONS), { activity: { transfers: 5, points: 5 } }));
    let sampled = 0;
    for (const [principal, body] of busiest()) {
      const { complete, points } = await overTime(few, principal, 'stx');
      if (complete) continue;
      sampled += 1;
      expect(points.length).toBeLessThanOrEqual(5);
      const changes = changesOf(body, 'stx');
      for (const { block_height: height, balance } of points) {
        expect(balance).toBe(changes.findLast(([changed]) => changed <= height)?.[1] ?? '0');
      }
    }
    expect(sampled).toBeGreaterThan(0);
  });

  interface Side {
    transfers: number;
    results: { principal: string; transfers: number; amount: string }[];
  }
  type Activity = Record<'first' | 'last', { tx_id: string } | null> & Record<'received' | 'sent', Side>;

  test('counterparties match the movements, with the largest sums first', async () => {
    for (const [principal, { movements }] of histories) {
      const activity: Activity = await ask(`/stackside/v1/principals/${principal}/activity`);
      const stx = movements.filter(({ asset, counterparty }) => asset.type === 'stx' && counterparty !== null);
      for (const [side, sign] of [
        [activity.received, 1n],
        [activity.sent, -1n],
      ] as const) {
        const sums = new Map<string, bigint>();
        for (const { counterparty, amount } of stx) {
          const moved = BigInt(amount) * sign;
          if (moved > 0n) sums.set(counterparty ?? '', (sums.get(counterparty ?? '') ?? 0n) + moved);
        }
        const largest = [...sums.values()].sort((a, b) => (a < b ? 1 : -1)).slice(0, 10);
        if (side.results.length < 10) {
          expect(side.transfers).toBe(side.results.reduce((sum, { transfers }) => sum + transfers, 0));
        }
        const partners = side.results.filter(({ amount }) => amount !== '0');
        expect(partners.map(({ amount }) => BigInt(amount))).toEqual(largest);
        for (const { principal: partner, amount } of partners) expect(sums.get(partner)).toBe(BigInt(amount));
      }
      const { results, total } = (await ask(`/extended/v3/principals/${principal}/transactions?limit=50`)) as {
        results: { transaction: { tx_id: string } }[];
        total: number;
      };
      expect(activity.last?.tx_id).toBe(results[0]?.transaction.tx_id as string);
      if (total <= 50) expect(activity.first?.tx_id).toBe(results.at(-1)?.transaction.tx_id as string);
    }
  });

  test('consecutive periods together contain all movements, and start with the balances at that time', async () => {
    for (const [principal, { movements }] of busiest()) {
      const parts: Body[] = [];
      for (const query of ['?to=17', '?from=18&to=25', '?from=26']) parts.push(await ask(pathOf(principal, query)));
      expect(parts.flatMap((part) => part.movements)).toEqual(movements);
    }
  });

  test('days and times select the blocks of that period', async () => {
    const [principal, { movements }] = busiest()[0]!;
    const middle = movements[Math.floor(movements.length / 2)]!;
    const second = middle.time.replace('.000', '');
    const before: Body = await ask(pathOf(principal, `?to=${second}`));
    const after: Body = await ask(pathOf(principal, `?from=${second}`));
    const sameTime = movements.filter(({ time }) => time === middle.time);
    expect(before.movements.length + after.movements.length).toBe(movements.length + sameTime.length);
    expect(before.to_height).toBeGreaterThanOrEqual(middle.block_height);
    const day = movements.at(-1)!.time.slice(0, 10);
    const ofDay: Body = await ask(pathOf(principal, `?from=${day}&to=${day}`));
    expect(ofDay.movements).toEqual(movements.filter(({ time }) => time.startsWith(day)));
  });

  test('the memo of each STX transfer equals the memo of the list of transfers', async () => {
    let memos = 0;
    for (const [principal, { movements }] of histories) {
      const listed = new Map<string, unknown>();
      for (const direction of ['inbound', 'outbound']) {
        const path = `/extended/v3/principals/${principal}/transfers/stx/${direction}?limit=50`;
        const { results } = (await ask(path)) as { results: { tx_id: string; event_index: number; memo: unknown }[] };
        for (const { tx_id, event_index, memo } of results) listed.set(`${tx_id} ${event_index}`, memo);
      }
      for (const { tx_id, event_index, asset, memo } of movements) {
        const listedMemo = listed.get(`${tx_id} ${event_index}`);
        if (asset.type !== 'stx' || event_index === null) expect(memo).toBeNull();
        else if (listedMemo !== undefined) expect(memo).toEqual(listedMemo as never);
        if (memo !== null) memos += 1;
      }
    }
    expect(memos).toBeGreaterThan(10);
  });

  test('CSV records equal the JSON answer', async () => {
    for (const [principal, { movements, from_height, to_height }] of busiest()) {
      const response = await app.request(pathOf(principal, '?format=csv'));
      expect(response.headers.get('content-type')).toStartWith('text/csv');
      expect(response.headers.get('content-disposition')).toContain(`${principal}-${from_height}-${to_height}.csv`);
      const [header, ...records] = (await response.text()).trimEnd().split('\r\n');
      expect(header).toBe(
        'time,block_height,tx_id,event_index,type,asset_type,asset,value,counterparty,amount,decimals,balance,symbol,memo',
      );
      const rows = movements.map(({ time, amount, balance, decimals, symbol, tx_id, memo }) => [
        time,
        tx_id ?? '',
        `${amount},${decimals ?? ''},${balance},${symbol ?? ''},${csvLine([memo?.repr ?? null]).trimEnd()}`,
      ]);
      expect(records.map((line) => [line.split(',')[0], line.split(',')[2], line.split(',').slice(-5).join()])).toEqual(
        rows as never,
      );
    }
  });
});

test('a fork that replaces the chain ends the answer with the reason', async () => {
  const chain = new SimulatedChain({ seed: 3, accounts: 4, transactionsPerBlock: 2 });
  using open = openNew();
  const take = (events: Parameters<typeof received>[0][]) => {
    for (const event of events) open.ingest.apply(received(event));
    open.ingest.commit();
  };
  take([chain.genesis()]);
  const parents = [chain.tip.indexBlockHash];
  for (let block = 0; block < 3; block++) {
    const { events, indexBlockHash } = chain.mine(parents.at(-1)!, { newTenure: block === 0 });
    take([...events]);
    parents.push(indexBlockHash);
  }
  using snapshots = snapshotsOf(open.directory);
  const app = testApp(snapshots, {}, appOf);
  const { body: holders } = await app.json<{ results: { principal: string }[] }>('/extended/v3/tokens/stx/holders');
  const path = pathOf(holders.results[0]!.principal);
  const requests = [path, `${path}?format=csv`, `${path}?to=1`].map((target) => app.request(target));
  const [json, csv, lower] = (await Promise.all(requests)) as [Response, Response, Response];
  // Only the tip has been read yet: a part is computed when the client requests it.
  let parent = parents[1]!;
  for (let block = 0; block < 3; block++) {
    const { events, indexBlockHash } = chain.mine(parent, { newTenure: block === 0 });
    take([...events]);
    parent = indexBlockHash;
  }
  const body = (await json.json()) as Body;
  expect(Value.Errors(History, body).First()).toBeUndefined();
  expect(body).toMatchObject({ movements: [], complete: false, error: { statusCode: 409, code: 'CHAIN_REPLACED' } });
  const lines = (await csv.text()).trimEnd().split('\r\n');
  expect(lines).toHaveLength(2);
  expect(lines[1]).toStartWith('INCOMPLETE: The block at height 3 is no longer');
  // A fork above the period changes nothing of it.
  expect(((await lower.json()) as Body).complete).toBe(true);
  expect(app.logged).toEqual([]);
});

test('an index that fails during an answer ends it with a reason, and the log has the cause', async () => {
  let reads = 0;
  const failing: Snapshots = {
    ...sampleIndex(),
    read(request) {
      if (++reads > 1) throw new Error('disk on fire');
      return sampleIndex().read(request);
    },
  };
  const { json, logged } = testApp(failing);
  const { status, body } = await json(pathOf(ADDRESS));
  expect(status).toBe(200);
  expect(body).toMatchObject({ complete: false, error: { statusCode: 500 } });
  expect(JSON.stringify(body)).not.toContain('fire');
  expect(logged).toMatchObject([{ event: 'unexpected_error', part: 'request', path: pathOf(ADDRESS) }]);
});

describe('parameters', () => {
  const { json } = testApp();

  test.each([
    ['?from=2026-02-30', 'invalid date in querystring/from: no calendar has this day or time'],
    ['?to=2026-01-01T25:00:00Z', 'invalid date in querystring/to: no calendar has this day or time'],
    ['?from=yesterday', 'querystring/from must be a height, a day such as 2026-01-31'],
    ['?from=3&to=2', 'querystring/to must not be before from'],
    ['?from=2026-01-02&to=2026-01-01', 'querystring/to must not be before from'],
    ['?format=xml', 'querystring/format must be equal to one of the allowed values (json, csv)'],
  ])('%s is rejected with the name of the field', async (query, message) => {
    const body = { message: expect.stringContaining(message) };
    expect(await json(pathOf(ADDRESS, query))).toMatchObject({ status: 400, body });
  });

  test('an unknown principal has an empty history, and a mistyped one is rejected', async () => {
    expect((await json(pathOf(OTHER))).body).toMatchObject({ movements: [], complete: true, to_height: 3 });
    expect((await json(pathOf(MISTYPED))).status).toBe(400);
  });

  test('the heights of a period without blocks are null', async () => {
    const nowhere = { from_height: null, to_height: null, index_block_hash: null };
    const empty = { principal: HOLDER, ...nowhere, movements: [], complete: true };
    expect((await json(pathOf(HOLDER, '?from=1000'))).body).toEqual(empty);
  });
});

test('CSV escapes texts that a spreadsheet would run as formulas, and quotes texts that need it', () => {
  expect(csvLine(['=1+1', '+1', '-1', '@x', '\tx', 'a,b', 'say "hi"', 'a\nb', -5n, -5, null, 'plain'])).toBe(
    `'=1+1,'+1,'-1,'@x,'\tx,"a,b","say ""hi""","a\nb",-5,-5,,plain\r\n`,
  );
  expect(csvLine(['=HYPERLINK("x","y")'])).toBe(`"'=HYPERLINK(""x"",""y"")"\r\n`);
});

describe('batch requests', () => {
  const { json } = testApp();
  const balances = (body: object) => json('/stackside/v1/principals/balances', posted(body));
  const transactions = (body: object) => json('/stackside/v1/transactions/multiple', posted(body));

  test('return the same balances as the single routes, in the order of the request', async () => {
    const { status, body } = await balances({ principals: [HOLDER, OTHER, ADDRESS], fungible_tokens: [TOKEN] });
    expect(status).toBe(200);
    const single = async (path: string) => (await json(`/extended/v3/principals/${path}`)).body;
    const results = await Promise.all(
      [HOLDER, OTHER, ADDRESS].map(async (principal) => ({
        principal,
        stx: await single(`${principal}/balances/stx`),
        fungible_tokens: [await single(`${principal}/balances/ft/${encodeURIComponent(TOKEN)}`)],
      })),
    );
    expect(body).toMatchObject({ block_height: 3, results });
  });

  test('return the same transactions as the single route, and null for an unknown id', async () => {
    const [known, unknown] = [idAt(2, 1), hash(0xee)];
    const tx_ids = [known.slice(2).toUpperCase(), unknown];
    const { body } = await transactions({ tx_ids, include: ['post_conditions'] });
    const { body: transaction } = await json(`/extended/v3/transactions/${known}?include=post_conditions`);
    expect((body as { results: unknown }).results).toEqual([
      { tx_id: known, transaction },
      { tx_id: unknown, transaction: null },
    ]);
  });

  test.each([
    [{}, 'body/principals is required'],
    [{ principals: [] }, 'body/principals must NOT have fewer than 1 items'],
    [{ principals: Array(51).fill(HOLDER) }, 'body/principals must NOT have more than 50 items'],
    [{ principals: [HOLDER, MISTYPED] }, 'invalid STX address in body/principals/1'],
    [{ principals: [HOLDER, 7] }, 'body/principals/1 must be string'],
    [{ principals: [HOLDER], fungible_tokens: [TOKEN, 'coin'] }, 'body/fungible_tokens/1 must be an asset identifier'],
    [{ principals: [HOLDER], tokens: [] }, 'body/tokens is not allowed'],
  ])('reject invalid balances requests (%#) with field and index', async (body, message) => {
    expect(await balances(body)).toMatchObject({ status: 400, body: { message: expect.stringContaining(message) } });
  });

  test.each([
    [{ tx_ids: [hash(1), '0x12'] }, 'body/tx_ids/1 must be a transaction id'],
    [{ tx_ids: [hash(1)], include: ['everything'] }, 'body/include/0 must be'],
    [{ tx_ids: [hash(1)], limit: 1 }, 'body/limit is not allowed'],
  ])('reject invalid transactions requests (%#) with field and index', async (body, message) => {
    expect(await transactions(body)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) },
    });
  });
});
