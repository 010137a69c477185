/** The v1 and v2 routes of addresses and tokens over a simulated chain: answers, errors and deprecation headers. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { nakamotoCoinbase } from '../../src/devnet/transaction.ts';
import type { ApiEvent } from '../../src/http/errors.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { openSnapshots, type Snapshots } from '../../src/store/read/snapshots.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import {
  alice,
  announcement,
  bob,
  carol,
  drop,
  block as madeBlock,
  signed,
  sponsor,
  transfer,
} from '../support/events/handmade.ts';
import { testApp } from './test-app.ts';

const BLOCKS = 60;

let directory: DataDirectory;
let snapshots: Snapshots;
let app: ReturnType<typeof checkedApp>;
const logged: ApiEvent[] = [];
/** The busiest account of the chain, an account that only sponsored, and the assets of an owner. */
let busy: string;
let sponsored: { address: string; txId: string };
let owner: { address: string; asset: string; value: string };
let burnt: { asset: string; value: string };
let block: { height: number; hash: string };
let moved: { address: string; txId: string };
let token: { asset: string; address: string };

beforeAll(() => {
  const options = { seed: 5, blocks: BLOCKS, accounts: 10, transactionsPerBlock: 8 };
  const waiting = [5, 6, 9].map((nonce) => transfer(alice, nonce, 200, undefined, bob));
  // The recipient also pays the fee.
  waiting.push(transfer(carol, 0, 300, { account: sponsor, nonce: 0 }, sponsor));
  directory = ingestOf([...simulatedEvents(options), announcement(waiting, 1_900_000_000)], {});
  snapshots = openSnapshots(directory.path);
  app = checkedApp({ snapshots, version: 'test', log: (event) => logged.push(event) });
  using db = new Database(indexPath(directory.path), { readonly: true });
  const first = <T>(text: string): T => db.query<T, []>(`${text} LIMIT 1`).get() as T;
  const most =
    'principal_transactions pt JOIN principals p ON p.id = pt.principal_id GROUP BY p.id ORDER BY count(*) DESC';
  busy = first<{ address: string }>(`SELECT p.address FROM ${most}`).address;
  sponsored = first(
    `SELECT p.address, '0x' || lower(hex(t.tx_id)) AS txId FROM principal_transactions pt
       JOIN principals p ON p.id = pt.principal_id JOIN transactions t ON t.position = pt.position
      WHERE pt.affected & 16`,
  );
  owner = first(
    `SELECT p.address, a.identifier AS asset, '0x' || lower(hex(i.value)) AS value FROM nft_instances i
       JOIN principals p ON p.id = i.owner_id JOIN assets a ON a.id = i.asset_id`,
  );
  burnt = first(
    `SELECT a.identifier AS asset, '0x' || lower(hex(e.value)) AS value FROM events e
       JOIN assets a ON a.id = e.asset_id WHERE e.kind = 11`,
  );
  block = first(`SELECT height, '0x' || lower(hex(block_hash)) AS hash FROM blocks WHERE height = 30`);
  moved = first(
    `SELECT p.address, '0x' || lower(hex(t.tx_id)) AS txId FROM events e
       JOIN transactions t ON t.position = e.position JOIN principals p ON p.id = e.recipient_id WHERE e.kind = 3`,
  );
  token = first(
    `SELECT p.address, b.identifier AS asset FROM ft_balances b JOIN principals p ON p.id = b.principal_id
      WHERE b.balance > 'A0'`,
  );
});
afterAll(() => {
  expect(logged).toEqual([]);
  snapshots.close();
  directory[Symbol.dispose]();
});

const get = async (path: string) => {
  const response = await app.handle(new Request(`http://localhost/extended/${path}`));
  type Rows = { message: string; total: number; limit: number; results: Record<string, unknown>[] };
  const body = (await response.json()) as Record<string, unknown> & Rows;
  return { status: response.status, headers: response.headers, body };
};
const ok = async (path: string) => {
  const { status, body } = await get(path);
  expect({ path, status, message: body.message }).toEqual({ path, status: 200, message: undefined as never });
  return body;
};

/** Lists by offset: path, default and greatest limit. */
const lists = (): [string, number, number][] => [
  [`v1/address/${busy}/assets`, 20, 100],
  [`v1/address/${busy}/stx_inbound`, 20, 50],
  [`v1/address/${busy}/mempool`, 20, 50],
  [`v1/address/${busy}/transactions`, 20, 50],
  [`v1/address/${busy}/transactions_with_transfers`, 20, 50],
  ['v1/tokens/ft/stx/holders', 100, 200],
  [`v1/tokens/ft/${encodeURIComponent(token.asset)}/holders`, 100, 200],
  [`v1/tokens/nft/holdings?principal=${owner.address}`, 50, 200],
  [`v1/tokens/nft/history?asset_identifier=${owner.asset}&value=${owner.value}`, 50, 200],
  [`v1/tokens/nft/mints?asset_identifier=${owner.asset}`, 50, 200],
  [`v2/addresses/${busy}/transactions`, 20, 50],
  [`v2/addresses/${moved.address}/transactions/${moved.txId}/events`, 20, 50],
  [`v2/addresses/${token.address}/balances/ft`, 100, 200],
];
const others = (): string[] => [
  `v1/address/${busy}/stx`,
  `v1/address/${busy}/balances`,
  `v1/address/${busy}/nonces`,
  `v1/address/${moved.address}/${moved.txId}/with_transfers`,
  `v2/addresses/${busy}/balances/stx`,
  `v2/addresses/${token.address}/balances/ft/${encodeURIComponent(token.asset)}`,
];

test('every route matches its schema, sends a deprecation warning and links to its successor or a related route', async () => {
  for (const path of [...lists().map(([list]) => list), ...others()]) {
    const { status, headers } = await get(path);
    expect({ path, status }).toEqual({ path, status: 200 });
    expect(headers.get('warning')).toStartWith('299 - "Deprecated: ');
    expect({ path, etag: headers.get('etag') !== null }).toEqual({ path, etag: true });
    const link = headers.get('link');
    const rel = path.includes('/assets') ? 'related' : 'successor-version';
    if (path.includes('nft/mints')) expect(link).toBeNull();
    else
      expect([path, link]).toEqual([path, expect.stringMatching(new RegExp(`^</extended/v3/[^{}]+>; rel="${rel}"`))]);
  }
  const { headers } = await get(`v1/tokens/nft/history?asset_identifier=${owner.asset}&value=${owner.value}`);
  const instance = `${encodeURIComponent(owner.asset)}/${owner.value}`;
  expect(headers.get('link')).toBe(`</extended/v3/tokens/nft/${instance}/history>; rel="successor-version"`);
});

describe('rejects with 400 and the name of the parameter:', () => {
  const rejects = async (path: string, message: string) => {
    const { status, body } = await get(path);
    expect([path, status, body.message]).toEqual([path, 400, expect.stringContaining(message)]);
  };

  test('an invalid block, or one given by both height and hash', async () => {
    const [stx, inbound] = [`v1/address/${busy}/stx`, `v1/address/${busy}/stx_inbound`];
    for (const path of [stx, `v1/address/${busy}/balances`, `v1/address/${busy}/assets`, inbound]) {
      for (const until of ['0', '-1', '1.5', '0x12', `${block.hash}00`]) {
        await rejects(`${path}?until_block=${until}`, 'querystring/until_block');
      }
      await rejects(`${path}?unanchored=true&until_block=3`, "'until_block'");
    }
    for (const list of ['stx_inbound', 'transactions', 'transactions_with_transfers']) {
      await rejects(`v1/address/${busy}/${list}?height=3&until_block=3`, "'until_block' and 'height'");
    }
    const nonces = `v1/address/${busy}/nonces`;
    await rejects(`${nonces}?block_hash=${block.hash.slice(2)}`, 'querystring/block_hash must be a hash: 0x and');
    await rejects(`${nonces}?block_height=3&block_hash=${block.hash}`, 'Multiple block query parameters specified');
  });

  test('a value or a cursor that only looks right', async () => {
    await rejects(`v1/tokens/nft/history?asset_identifier=${owner.asset}&value=0x0100`, 'querystring/value');
    await rejects(`v1/tokens/nft/holdings?principal=${busy}&asset_identifiers=a`, 'querystring/asset_identifiers/0');
    await rejects(`v2/addresses/${busy}/transactions?cursor=*`, 'querystring/cursor must be a cursor from');
    await rejects(`v2/addresses/${busy}/transactions?cursor=3`, 'querystring/cursor must be a cursor');
  });
});

test.each([
  ['v1/address/BUSY/stx?until_block=UNKNOWN', 'block not found with hash'],
  ['v1/address/BUSY/nonces?block_height=5000', 'No block found for {"height":5000}'],
  ['v1/address/BUSY/nonces?block_hash=UNKNOWN', 'No block found for {"hash":"UNKNOWN"}'],
  ['v1/address/BUSY/UNKNOWN/with_transfers', 'No matching transaction found'],
  ['v2/addresses/BUSY/transactions?cursor=UNKNOWN:0:0', 'Cursor not found'],
  ['v2/addresses/BUSY/transactions/UNKNOWN/events', 'Transaction not found'],
])('%s returns 404', async (path, message) => {
  const unknown = `0x${'12'.repeat(32)}`;
  const { status, body } = await get(path.replace('BUSY', busy).replace('UNKNOWN', unknown));
  expect({ status, message: body.message }).toEqual({ status: 404, message: message.replace('UNKNOWN', unknown) });
});

describe('at an earlier block', () => {
  test("a balance is equal by height and by hash, omits pending amounts, and equals the tip's for later heights", async () => {
    const path = `v1/address/${busy}/stx`;
    const then = await ok(`${path}?until_block=${block.height}`);
    expect(await ok(`${path}?until_block=${block.hash}`)).toEqual(then);
    expect(await ok(`${path}?until_block=${block.hash.slice(2)}`)).toEqual(then);
    expect(then).not.toHaveProperty('estimated_balance');
    const { estimated_balance, pending_balance_inbound, pending_balance_outbound, ...now } = await ok(path);
    expect([estimated_balance, pending_balance_inbound, pending_balance_outbound]).toEqual([now.balance, '0', '0']);
    expect(await ok(`${path}?until_block=99999`)).toEqual(now as never);
    expect(await ok(`${path}?until_block=`)).toEqual(now as never);
  });

  test('until_block ends a list at that block, and height limits a list to one block', async () => {
    const path = `v1/address/${busy}/transactions`;
    const heights = async (query: string) =>
      (await ok(`${path}?limit=50&${query}`)).results.map((row) => Number(row.block_height));
    expect(Math.max(...(await heights(`until_block=${block.height}`)))).toBeLessThanOrEqual(block.height);
    const [height] = await heights('');
    expect(new Set(await heights(`height=${height}`))).toEqual(new Set([height!]));
    expect(await heights('height=0')).toEqual(await heights(''));
  });

  test('nonces omit pending transactions', async () => {
    const then = await ok(`v1/address/${busy}/nonces?block_height=${block.height}`);
    expect(await ok(`v1/address/${busy}/nonces?block_hash=${block.hash}`)).toEqual(then);
    const none = { last_mempool_tx_nonce: null, detected_missing_nonces: [], detected_mempool_nonces: [] };
    expect(then).toMatchObject(none);
  });
});

test('balances, nonces and the mempool include pending transactions', async () => {
  const inbound = { balance: '0', estimated_balance: '3', pending_balance_inbound: '3', pending_balance_outbound: '0' };
  expect(await ok(`v1/address/${bob.address}/stx`)).toMatchObject(inbound);
  const stx = `v2/addresses/${alice.address}/balances/stx`;
  const outbound = { estimated_balance: '-603', pending_balance_outbound: '603' };
  expect(await ok(`${stx}?include_mempool=true`)).toMatchObject(outbound);
  expect(await ok(stx)).not.toHaveProperty('estimated_balance');
  const sent = { pending_balance_inbound: '0', pending_balance_outbound: '1' };
  expect(await ok(`v1/address/${carol.address}/stx`)).toMatchObject(sent);
  const paid = { pending_balance_inbound: '1', pending_balance_outbound: '300' };
  expect(await ok(`v1/address/${sponsor.address}/stx`)).toMatchObject(paid);
  const nonces = { last_mempool_tx_nonce: 9, last_executed_tx_nonce: null, possible_next_nonce: 10 };
  expect(await ok(`v1/address/${alice.address}/nonces`)).toMatchObject(nonces);
  const { results } = await ok(`v1/address/${bob.address}/mempool`);
  expect(results.map(({ nonce }) => nonce).sort()).toEqual([5, 6, 9]);
});

test('a pending coinbase changes nothing in the balance of its recipient', async () => {
  const coinbase = signed(alice, 0, 0, nakamotoCoinbase(new Uint8Array(32), bob.address, new Uint8Array(80)));
  const { json } = testApp(memoryIndex([madeBlock(null, 'first').event, announcement([coinbase])]));
  const balanceOf = async (address: string) => (await json(`/extended/v3/principals/${address}/balances/stx`)).body;
  expect(await balanceOf(alice.address)).toMatchObject({ mempool: {} });
  expect(await balanceOf(bob.address)).toMatchObject({ mempool: null });
});

test("a sponsor's list contains the sponsored transaction, without transfers", async () => {
  const { address, txId } = sponsored;
  const ids = async (path: string) => {
    const { results } = await ok(`${path}?limit=50`);
    return results.map((row) => row.tx_id ?? (row.tx as { tx_id: string }).tx_id);
  };
  expect(await ids(`v1/address/${address}/transactions`)).toContain(txId);
  expect(await ids(`v2/addresses/${address}/transactions`)).toContain(txId);
  expect(await ids(`v1/address/${address}/transactions_with_transfers`)).not.toContain(txId);
  expect((await get(`v1/address/${address}/${txId}/with_transfers`)).status).toBe(404);
});

test('the STX sums of a transaction equal its transfers, plus the fee for the account that paid it', async () => {
  const { results } = await ok(`v1/address/${busy}/transactions_with_transfers?limit=50`);
  for (const item of results as unknown as {
    tx: { fee_rate: string; sender_address: string; sponsor_address?: string; tx_id: string };
    stx_sent: string;
    stx_received: string;
    stx_transfers: { amount: string; sender: string; recipient: string }[];
  }[]) {
    const { tx, stx_transfers } = item;
    const sum = (side: 'sender' | 'recipient') =>
      stx_transfers.filter((row) => row[side] === busy).reduce((total, { amount }) => total + BigInt(amount), 0n);
    const fee = (tx.sponsor_address ?? tx.sender_address) === busy ? BigInt(tx.fee_rate) : 0n;
    const [sent, received] = [String(sum('sender') + fee), String(sum('recipient'))];
    const { stx_sent, stx_received } = item;
    expect([tx.tx_id, stx_sent, stx_received]).toEqual([tx.tx_id, sent, received]);
  }
});

test("the events of an address's transaction are in order, and their counts equal its summary", async () => {
  const { results } = await ok(`v2/addresses/${busy}/transactions?limit=50`);
  for (const { tx, events } of results as unknown as {
    tx: { tx_id: string };
    events: Record<string, Record<string, number>>;
  }[]) {
    const list = await ok(`v2/addresses/${busy}/transactions/${tx.tx_id}/events?limit=50`);
    const counts = { stx: {}, ft: {}, nft: {} } as Record<string, Record<string, number>>;
    for (const kind of Object.keys(counts)) counts[kind] = { transfer: 0, mint: 0, burn: 0 };
    for (const { type, data } of list.results as unknown as {
      type: string;
      data: { type: string; sender?: string; recipient?: string };
    }[]) {
      counts[type]![data.type]! += Number(data.sender === busy) + Number(data.recipient === busy);
    }
    expect({ tx_id: tx.tx_id, events }).toEqual({ tx_id: tx.tx_id, events: counts });
    const indexes = list.results.map(({ event_index }) => Number(event_index));
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
  }
});

test('a transaction that was only in orphaned blocks has no events, even if it is pending or dropped', async () => {
  const [orphaned, waiting] = [transfer(alice, 0, 200), transfer(bob, 0, 200)];
  const first = madeBlock(null, 'first');
  const second = madeBlock(first, 'second');
  const chain = [first, madeBlock(first, 'orphan', [orphaned]), second, madeBlock(second, 'third')];
  const events = [...chain.map(({ event }) => event), announcement([waiting])];
  for (const after of [[], [announcement([orphaned])], [drop([orphaned], 'TooExpensive')]]) {
    const { json } = testApp(memoryIndex([...events, ...after]));
    const answer = (id: string) => json(`/extended/v2/addresses/${alice.address}/transactions/${id}/events`);
    const empty = { limit: 20, offset: 0, total: 0, results: [] };
    expect(await answer(orphaned.id)).toMatchObject({ status: 200, body: empty });
    expect(await answer(waiting.id)).toMatchObject({ status: 404 });
  }
});

test('token lists include whole transactions with tx_metadata, and show burnt instances', async () => {
  const holdings = `v1/tokens/nft/holdings?principal=${owner.address}`;
  const [plain] = (await ok(holdings)).results;
  const [full] = (await ok(`${holdings}&tx_metadata=true`)).results;
  expect(full).toMatchObject({ tx: { tx_id: plain?.tx_id } });
  expect(full).not.toHaveProperty('tx_id');
  expect((await ok(`${holdings}&asset_identifiers=${owner.asset}`)).total).toBeGreaterThan(0);
  const { value, asset } = owner;
  const bare = await ok(`v1/tokens/nft/history?asset_identifier=${asset}&value=${value.slice(2)}`);
  expect(bare).toEqual(await ok(`v1/tokens/nft/history?asset_identifier=${asset}&value=${value}`));
  expect(bare.results.at(-1)).toMatchObject({ asset_event_type: 'mint', sender: null });
  const { results } = await ok(`v1/tokens/nft/history?asset_identifier=${burnt.asset}&value=${burnt.value}`);
  expect(results[0]).toMatchObject({ asset_event_type: 'burn' });
  expect(results[0]).not.toHaveProperty('recipient');
});

test('the fungible token named stx returns the STX balance', async () => {
  const { balance } = await ok(`v2/addresses/${busy}/balances/stx`);
  expect(await ok(`v2/addresses/${busy}/balances/ft/stx`)).toEqual({ balance } as never);
  expect(await ok(`v2/addresses/${busy}/balances/ft/nothing`)).toEqual({ balance: '0' } as never);
});
