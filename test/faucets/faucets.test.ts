/** The faucets, with small stand-ins for a Stacks and a Bitcoin node. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { p2pkh, p2wpkh, Transaction } from '@scure/btc-signer';
import { pubECDSA } from '@scure/btc-signer/utils.js';
import { getAddressFromPrivateKey } from '@stacks/transactions';
import { RULES } from '../../src/api/shared/identifiers.ts';
import { systemClock } from '../../src/base/clock.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { decodePostConditions } from '../../src/codec/post-conditions.ts';
import { decodeTransaction } from '../../src/codec/transaction.ts';
import { memoText } from '../../src/codec/utf8.ts';
import type { Environment } from '../../src/commands/serve/environment.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { noFaucets } from '../../src/faucets/faucets.ts';
import { emptyIndex, testApp } from '../api/test-app.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory } from '../support/data/ingest.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { type ReceivedRequest, type StandInNode, standInNode, TESTNET_INFO } from '../support/servers/stand-in-node.ts';

const KEYS = ['11'.repeat(32), `${'22'.repeat(32)}01`];
const ACCOUNTS = KEYS.map((key) => getAddressFromPrivateKey(key, 'testnet'));
const BTC_KEY = '33'.repeat(32);
const RECIPIENT = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
/** The usual requests. */
const STX = `stx?address=${RECIPIENT}`;
const SBTC = `sbtc?address=${RECIPIENT}`;
const CHAIN = 0x8000_0000;
const REGTEST = { bech32: 'bcrt', pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef };
const btcKey = new Uint8Array(fromHex(BTC_KEY));
const FAUCET_BTC = p2pkh(pubECDSA(btcKey, true), REGTEST);
const WRONG_BTC = 'Invalid BTC regtest address: addresses of regtest begin with bcrt1, m, n or 2';
const BTC_RECIPIENT = p2wpkh(pubECDSA(new Uint8Array(32).fill(7), true), REGTEST).address ?? '';

let node: StandInNode;
let bitcoin: StandInNode;
let directory: DataDirectory;
let server: Serving;
/** Whether the server of the last test has sent something or was stopped. Then the next test gets a new one. */
let isUsed = true;
/** State of the Bitcoin node: outputs of the faucet, and sent transactions. */
let outputs: { txid: string; vout: number; amount: number; confirmations: number; coinbase: boolean; spent?: true }[];
let sentBitcoin: string[];

const events = [...devnetEvents({ seed: 1, blocks: 3 })];
const variables = () => ({
  STACKS_CHAIN_ID: '0x80000000',
  FAUCET_PRIVATE_KEY: KEYS.join(','),
  TESTNET_SBTC_FAUCET_ENABLED: '1',
  STACKSIDE_BTC_RPC: bitcoin.url.replace('://', '://user:secret@'),
  BTC_FAUCET_PK: BTC_KEY,
});
const start = (more: Record<string, string> = {}, environment: Partial<Environment> = {}): Promise<Serving> =>
  serving({ nodeRpc: node.url }, directory.path, { ...variables(), ...more }, environment);

function bitcoinNode({ headers, body }: ReceivedRequest): Response {
  expect(headers.get('authorization')).toBe(`Basic ${btoa('user:secret')}`);
  const { method, params } = JSON.parse(new TextDecoder().decode(body));
  const answer = (result: unknown) => Response.json({ result, error: null, id: 'stackside' });
  switch (method) {
    case 'scantxoutset': {
      expect(params[0]).toBe('start');
      const mine = params[1][0] === `addr(${FAUCET_BTC.address})` ? outputs : [];
      const unspents = mine.map(({ txid, vout, amount }) => ({ txid, vout, amount, height: 1, scriptPubKey: '' }));
      return answer({ success: true, unspents, total_amount: mine.reduce((sum, { amount }) => sum + amount, 0) });
    }
    case 'gettxout': {
      expect(params[2]).toBe(true);
      const output = outputs.find(({ txid, vout }) => txid === params[0] && vout === params[1]);
      const { confirmations = 0, coinbase = false, amount: value = 0 } = output ?? {};
      return answer(output === undefined || output.spent ? null : { confirmations, coinbase, value });
    }
    case 'sendrawtransaction':
      sentBitcoin.push(params[0]);
      return answer(Transaction.fromRaw(new Uint8Array(fromHex(params[0]))).id);
    default:
      return Response.json({ result: null, error: { message: `no ${method}` } }, { status: 404 });
  }
}

beforeAll(() => {
  node = standInNode();
  bitcoin = standInNode();
  bitcoin.answer('/', bitcoinNode);
  directory = emptyDirectory(true);
});
beforeEach(async () => {
  node.answer('/v2/info', () => Response.json({ ...TESTNET_INFO, network_id: CHAIN }));
  node.answer('/v2/pox', () => Response.json({ min_amount_ustx: 90_000_000_001 }));
  node.answer('/v2/fees/transaction', () => Response.json({ estimations: [{ fee: 100 }, { fee: 222 }, { fee: 900 }] }));
  node.answer('/v2/transactions', () => Response.json('ab'.repeat(32)));
  outputs = [{ txid: '01'.repeat(32), vout: 0, amount: 1, confirmations: 101, coinbase: true }];
  sentBitcoin = [];
  if (!isUsed) return;
  await server?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
  directory = emptyDirectory(true);
  server = await start();
  isUsed = false;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const used of [node, bitcoin, directory]) used[Symbol.dispose]();
});

async function post(path: string, init: RequestInit = {}, to = server) {
  const response = await to.get(`/extended/v1/faucets/${path}`, { method: 'POST', ...init });
  isUsed ||= to === server && response.status !== 400;
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

function sent(body: Record<string, string>) {
  const decoded = decodeTransaction(fromHex(body.txRaw ?? ''));
  if (!decoded.ok) throw decoded.error;
  return decoded.value;
}
const broadcasts = () => node.requests.filter(({ path }) => path === '/v2/transactions');

describe('STX', () => {
  test('sends 500 STX from one of the accounts, on the node’s chain', async () => {
    const { status, body } = await post(STX);
    expect(status).toBe(200);
    const { chainId, payload, origin } = sent(body);
    expect(body.success as unknown).toBe(true);
    expect(body.txId).toMatch(/^0x[0-9a-f]{64}$/);
    expect(body.txRaw).toMatch(/^[0-9a-f]+$/);
    expect(chainId).toBe(CHAIN);
    expect(payload).toMatchObject({ type: 'token_transfer', recipient: RECIPIENT, amount: 500_000_000n });
    expect(ACCOUNTS).toContain(origin.address);
    expect(origin.nonce).toBe(0n);
    expect(toHex(broadcasts().at(-1)!.body)).toBe(`0x${body.txRaw}`);
  });

  test('pays the middle fee estimate, or the default fee without an estimate', async () => {
    expect(feeOf(await post(STX))).toBe(222n);
    node.answer('/v2/fees/transaction', () => new Response('no estimate', { status: 400 }));
    expect(feeOf(await post(STX))).toBe(200n);
  });

  test('sends the stacking minimum plus a fifth, only once', async () => {
    const { body } = await post(`stx?address=${RECIPIENT}&stacking=true`);
    expect(sent(body).payload).toMatchObject({ amount: 108_000_000_001n });
    expect(await post(`stx?address=${RECIPIENT}&stacking=true`)).toMatchObject({ status: 429 });
    node.answer('/v2/pox', undefined);
    const other = await post(`stx?address=${ACCOUNTS[0]}&stacking=true`);
    expect(sent(other.body).payload).toMatchObject({ amount: 500_000_000n });
  });

  test('sends from another account if the first is rejected', async () => {
    let tries = 0;
    node.answer('/v2/transactions', () =>
      ++tries === 1
        ? Response.json({ error: 'transaction rejected', reason: 'ConflictingNonceInMempool' }, { status: 400 })
        : Response.json('cd'.repeat(32)),
    );
    expect((await post(STX)).status).toBe(200);
    expect(tries).toBe(2);
  });

  test('sends nothing if no account can, and returns 503 or 500', async () => {
    const reject = (reason: string) =>
      node.answer('/v2/transactions', () => Response.json({ error: 'transaction rejected', reason }, { status: 400 }));
    reject('NotEnoughFunds');
    const before = broadcasts().length;
    expect(await post(STX)).toEqual(rejected(503, 'The faucet is temporarily out of funds, please try again later'));
    expect(broadcasts().length - before).toBe(2);
    reject('BadTransactionVersion');
    expect(await post(STX)).toEqual(rejected(500, 'Faucet request failed, please try again later'));
    await using alone = await serving({}, undefined, variables());
    expect(await post(STX, {}, alone)).toEqual(
      rejected(503, 'Faucet is temporarily unavailable, please try again later'),
    );
  });
});

const refused = (error: string) => ({ error, success: false }) as never;
const rejected = (status: number, error: string) => ({ status, body: refused(error) });
const feeOf = ({ body }: { body: Record<string, string> }): bigint => sent(body).origin.fee;

test('sends sBTC with a post-condition for the exact amount', async () => {
  const { status, body } = await post(SBTC);
  expect(status).toBe(200);
  const transaction = sent(body);
  const contractId = 'ST1F7QA2MDF17S807EPA36TSS8AMEFY4KA9TVGWXT.sbtc-token';
  expect(transaction.payload).toMatchObject({ type: 'contract_call', contractId, functionName: 'transfer' });
  const conditions = decodePostConditions(transaction.postConditions);
  if (!conditions.ok) throw conditions.error;
  const condition = { type: 'fungible', condition_code: 'sent_equal_to', amount: '10000' };
  expect(conditions.value).toMatchObject({ mode: 'deny', postConditions: [condition] });
});

describe('BTC', () => {
  /** Returns the outputs of the last sent transaction, by address. */
  const paid = () => {
    const raw = new Uint8Array(fromHex(sentBitcoin.at(-1) ?? ''));
    const transaction = Transaction.fromRaw(raw, { allowUnknownOutputs: true });
    const outputs = Array.from({ length: transaction.outputsLength }, (_, i) => ({
      to: transaction.getOutputAddress(i, REGTEST),
      sats: transaction.getOutput(i).amount ?? 0n,
    }));
    return { inputs: transaction.inputsLength, outputs: outputs };
  };

  test.each([
    [10_000n, ''],
    [1_000_000n, '&large=true'],
    [50_000_000n, '&xlarge=true'],
  ])('sends %d sats for a request with the size "%s"', async (sats, query) => {
    const { status, body } = await post(`btc?address=${BTC_RECIPIENT}${query}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ raw_tx: sentBitcoin.at(-1)!, txid: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const [first, change] = paid().outputs;
    expect(first).toEqual({ to: BTC_RECIPIENT, sats });
    expect(change?.to).toBe(FAUCET_BTC.address);
    const fee = 100_000_000n - sats - (change?.sats ?? 0n);
    const rate = Number(fee) / (sentBitcoin.at(-1)!.length / 2);
    expect(rate).toBeGreaterThan(49);
    expect(rate).toBeLessThan(60);
  });

  test('spends only outputs that can be spent, and as many as necessary', async () => {
    outputs = [
      { txid: '01'.repeat(32), vout: 0, amount: 9, confirmations: 100, coinbase: true },
      { txid: '02'.repeat(32), vout: 0, amount: 8, confirmations: 1, coinbase: false },
      { txid: '03'.repeat(32), vout: 0, amount: 7, confirmations: 50, coinbase: false, spent: true },
      { txid: '04'.repeat(32), vout: 1, amount: 0.006, confirmations: 2, coinbase: false },
      { txid: '05'.repeat(32), vout: 0, amount: 0.007, confirmations: 101, coinbase: true },
    ];
    expect((await post(`btc?address=${BTC_RECIPIENT}&large=true`)).status).toBe(200);
    expect(paid().inputs).toBe(2);
    outputs.pop();
    expect(await post(`btc?address=${BTC_RECIPIENT}&large=true`)).toMatchObject({ status: 503 });
  });

  test('accepts the address in the body, as JSON or a form', async () => {
    const json = { body: JSON.stringify({ address: BTC_RECIPIENT }), headers: { 'content-type': 'application/json' } };
    expect((await post('btc', json)).status).toBe(200);
    expect((await post('btc', { body: new URLSearchParams({ address: BTC_RECIPIENT }) })).status).toBe(200);
  });

  test('returns the balance of an address with a deprecation warning', async () => {
    const response = await server.get(`/extended/v1/faucets/btc/${FAUCET_BTC.address}`);
    expect(await response.json()).toEqual({ balance: 1 });
    expect(response.headers.get('warning')).toContain('Deprecated');
    const wrong = await server.get('/extended/v1/faucets/btc/1BoatSLRHtKNngkdXEeobR76b53LETtpyT');
    expect([wrong.status, await wrong.json()]).toEqual([400, refused(WRONG_BTC)]);
  });

  test("returns 503 if the Bitcoin node can't be reached", async () => {
    const unreachable = { ...variables(), STACKSIDE_BTC_RPC: 'http://user:secret@127.0.0.1:1' };
    await using alone = await serving({ nodeRpc: node.url }, undefined, unreachable);
    expect(await post(`btc?address=${BTC_RECIPIENT}`, {}, alone)).toMatchObject({ status: 503 });
  });
});

describe('bad faucet requests', () => {
  const invalid = 'invalid STX address in querystring/address';
  const bothSizes = 'cannot simultaneously request a large and xlarge amount';
  const cases: [path: string, init: RequestInit, error: string][] = [
    ['stx', {}, 'address required'],
    ['sbtc', {}, 'address required'],
    ['btc', {}, 'address required'],
    ['stx?address=nonsense', {}, `querystring/address must be ${RULES.principal}`],
    [
      'stx?address=ST000000000000000000002AMW42J',
      {},
      `${invalid}: its checksum is wrong, so a character may be mistyped`,
    ],
    ['sbtc?address=SP000000000000000000002Q6VF78', {}, `${invalid}: addresses of test networks begin with ST or SN`],
    ['btc?address=bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', {}, WRONG_BTC],
    [`btc?address=${BTC_RECIPIENT}&large=true&xlarge=true`, {}, bothSizes],
    [`stx?address=${RECIPIENT}&stacking=yes`, {}, 'querystring/stacking must be boolean'],
    ['stx', { body: 'x'.repeat(10_001) }, 'Request body is too large'],
    ['stx', { body: '{', headers: { 'content-type': 'application/json' } }, 'Body is not valid JSON'],
  ];
  test.each(cases)('POST %s %o', async (path, init, error) => {
    expect(await post(path, init)).toEqual(rejected(400, error));
  });

  test('an address only in the body of an STX request returns 400 with an example of the right request', async () => {
    const { status, body } = await post('stx', { body: new URLSearchParams({ address: RECIPIENT }) });
    expect(status).toBe(400);
    expect(body.error).toStartWith('POST body is no longer supported');
    const url = `${server.api}/extended/v1/faucets/stx?address=<address>`;
    expect(body.help).toBe(`Example curl request: curl -X POST '${url}'`);
  });

  test('a sixth request for an address in five minutes returns 429, for each currency and also after a restart', async () => {
    let now = 1_735_689_600_000;
    const clock = { ...systemClock, now: () => now };
    await server[Symbol.asyncDispose]();
    server = await start({}, { clock });
    for (let n = 0; n < 5; n++) expect((await post(STX)).status).toBe(200);
    const tooMany = rejected(429, 'Too many requests');
    expect(await post(STX)).toEqual(tooMany);
    expect((await post(`stx?address=${ACCOUNTS[1]}`)).status).toBe(200);
    expect((await post(SBTC)).status).toBe(200);
    await server[Symbol.asyncDispose]();
    server = await start({}, { clock });
    expect(await post(STX)).toEqual(tooMany);
    now += 300_001;
    expect((await post(STX)).status).toBe(200);
    await server[Symbol.asyncDispose]();
    server = await start({ TESTNET_FAUCETS_RATE_LIMIT_ENABLED: 'false' });
    expect((await post(STX)).status).toBe(200);
  });

  test("transactions that the node rejected don't count towards the limit", async () => {
    node.answer('/v2/transactions', () => new Response('no', { status: 400 }));
    for (let n = 0; n < 6; n++) expect((await post(STX)).status).toBe(500);
  });

  test('simultaneous requests count one after the other', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => post(STX)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  });
});

describe('faucets return 403', () => {
  const json = { 'content-type': 'application/json' };
  /** Requests that an open faucet would reject with 400. */
  const mistakes: [query: string, init: RequestInit][] = [
    ['', {}],
    ['?address=nobody', {}],
    [`?address=${RECIPIENT}&stacking=2&large=true&xlarge=true`, {}],
    ['', { body: '{', headers: json }],
    ['', { body: `{"address":"${RECIPIENT}"}`, headers: json }],
    ['', { body: 'x'.repeat(20_000) }],
  ];
  /** Returns the responses of each faucet to every request, valid or invalid. */
  const postAll = async (to: Serving) => {
    const errors: (string | undefined)[] = [];
    for (const [name, address] of Object.entries({ stx: RECIPIENT, sbtc: RECIPIENT, btc: BTC_RECIPIENT })) {
      const right = await post(`${name}?address=${address}`, {}, to);
      for (const [query, init] of mistakes) expect(await post(name + query, init, to)).toEqual(right);
      expect(right.status).toBe(403);
      errors.push(right.body.error);
    }
    const balance = await to.get('/extended/v1/faucets/btc/nonsense');
    expect([balance.status, await balance.json()]).toEqual([403, refused(errors[2] ?? '')]);
    return errors;
  };

  test('on mainnet', async () => {
    await using mainnet = await serving({}, undefined, { ...variables(), STACKS_CHAIN_ID: '1' });
    expect(await post(STX, {}, mainnet)).toEqual(rejected(403, 'Faucet is not available'));
    expect(await postAll(mainnet)).toEqual(Array(3).fill('Faucet is not available'));
  });

  test('if none is configured', async () => {
    await using bare = await serving({ network: 'testnet' });
    expect(await postAll(bare)).toEqual([
      'STX faucet is not available',
      'sBTC faucet is not available',
      'BTC Faucet is not configured.',
    ]);
  });

  test('for sBTC unless it is switched on', async () => {
    await using off = await serving({}, undefined, { ...variables(), TESTNET_SBTC_FAUCET_ENABLED: '0' });
    expect(await post(SBTC, {}, off)).toEqual(rejected(403, 'sBTC faucet is not available'));
  });

  test('in read mode, while a server with API threads still answers', async () => {
    isUsed = true;
    await server[Symbol.asyncDispose]();
    await using writer = await serving({ nodeRpc: node.url, threads: '1' }, directory.path, variables());
    await writer.post(events);
    await using reader = await serving({ mode: 'read' }, directory.path, variables());
    expect(await postAll(reader)).toEqual(Array(3).fill('Faucet is not available'));
    expect((await post(STX, {}, writer)).status).toBe(200);
  });
});

test("the client's real IP address is stored even if X-Forwarded-For has another", async () => {
  await post(STX, { headers: { 'x-forwarded-for': '203.0.113.9, 10.0.0.1' } });
  await post(STX);
  using db = new Database(`${directory.path}/index.db`, { readonly: true });
  const ips = db.query<{ ip: string }, []>('SELECT ip FROM faucet_requests ORDER BY rowid').all();
  expect(ips.map(({ ip }) => ip)).toEqual(['127.0.0.1', '127.0.0.1']);
});

test('the memo of a transfer mentions the faucet', async () => {
  const { payload } = sent((await post(STX)).body);
  expect('memo' in payload && payload.memo !== null ? memoText(payload.memo) : '').toContain('faucet');
});

test('records the address of a client that leaves after it sent the body', async () => {
  let isGone = false;
  const addresses: string[] = [];
  const send = async (_recipient: string, _stacking: boolean, address: string) => {
    addresses.push(address);
    return { txId: `0x${'ab'.repeat(32)}`, txRaw: '00' };
  };
  const { request } = testApp(emptyIndex(), {
    faucets: { ...noFaucets, stx: () => ({ send }) },
    addressOf: () => (isGone ? '' : '192.0.2.1'),
  });
  const pull = (controller: ReadableStreamDefaultController) => {
    isGone = true;
    controller.close();
  };
  const body = new ReadableStream({ pull }, { highWaterMark: 0 });
  const { status } = await request(`/extended/v1/faucets/stx?address=${RECIPIENT}`, { method: 'POST', body });
  expect([status, isGone, addresses]).toEqual([200, true, ['192.0.2.1']]);
});
