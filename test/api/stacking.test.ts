/** The routes of stacking and staking over a real index: answers, 404s and rejected requests. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { type OpenApi, openApi } from '../support/api/api.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf } from '../support/data/ingest.ts';
import { alice, bob, carol, transfer } from '../support/events/handmade.ts';
import { bonds, burnBlock, keyOf, p, poxBlock, rewardSet, stacked, u } from '../support/events/pox.ts';

const [A, B] = [alice.address, bob.address];
const manager = `${carol.address}.manager`;
const MISTYPED = `${A.slice(0, -1)}${A.endsWith('0') ? '1' : '0'}`;
const KEY = `0x${'02'.repeat(33)}`;
const BITCOIN = 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss';

let directory: DataDirectory;
let api: OpenApi;
let txIds: string[];

const address = clarity.tuple({
  version: clarity.buffer(Uint8Array.of(0)),
  hashbytes: clarity.buffer(Uint8Array.fromHex('164247d6f2b425ac5771423ae6c80c754f7172b0')),
});
const stackedAt = ([first, end]: readonly [number, number]) =>
  stacked('pox-4', 'stack-stx', A, {
    'lock-amount': u(700),
    'lock-period': u(1),
    'start-burn-height': u(100),
    'unlock-burn-height': u(140),
    'signer-key': clarity.buffer(keyOf(2)),
    'start-cycle-id': u(first),
    'end-cycle-id': clarity.some(u(end)),
    'pox-addr': address,
  });

beforeAll(() => {
  const stack = stackedAt([6, 7]);
  const delegate = stacked('pox-4', 'delegate-stx', B, {
    'amount-ustx': u(5),
    'delegate-to': p(A),
    'unlock-burn-height': clarity.some(u(5_000)),
    'pox-addr': clarity.some(address),
  });
  const first = poxBlock(null, 'first', [
    [stack],
    [delegate],
    [bonds.setup(0), bonds.allow(0, A, 9), bonds.register(0, A, manager, 9)],
    [bonds.key('register', manager, keyOf(2))],
  ]);
  const signers = [1, 2].map((weight) => [keyOf(weight + 1), weight, BigInt(3 * weight)] as const);
  const second = poxBlock(first, 'second', [], rewardSet(6, signers));
  txIds = first.transactions.map(({ id }) => id);
  directory = ingestOf([first.event, second.event, burnBlock(103, 'a', null, [[BITCOIN, 12]])]);
  api = openApi(directory.path);
});
afterAll(() => {
  api[Symbol.dispose]();
  directory[Symbol.dispose]();
});

async function ask(path: string) {
  const answer = await api.get(`/extended/${path}`);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
}

describe('rejects with 400:', () => {
  test.each([
    ['v1/pox5/events', 'params/pox must be equal to one of the allowed values (pox2, pox3, pox4)'],
    ['v1/pox4/tx/12', 'Hex string is missing the "0x" prefix'],
    ['v1/burnchain/rewards/nonsense', 'Address nonsense is not a valid Bitcoin or STX address.'],
    [`v1/burnchain/rewards/${MISTYPED}/total`, `Address ${MISTYPED} is not a valid Bitcoin or STX address.`],
    ['v2/pox/cycles/6/signers/02', 'params/signer_key must be a public key: 66 hexadecimal digits'],
    ['v2/burn-blocks/x/pox-transactions', 'params/height_or_hash must be a height, a hash'],
    ['v3/staking/cycles/x/signers', 'params/cycle_number must be the number of a reward cycle, or current'],
  ])('%s', async (path, message) => {
    const { status, body } = await ask(path!);
    expect([status, body.message]).toEqual([400, expect.stringContaining(message!)]);
  });
});

describe('returns 404:', () => {
  const unmined = transfer(bob, 77, 300).id;
  test.each([
    [`v1/pox4/tx/${unmined}`, 'could not find transaction by ID'],
    [`v1/pox4/${A}/delegations?height=99`, 'no block at height: 99'],
    [`v1/pox4/${A}/delegations?unanchored=true`, 'no block at height: 3'],
    ['v1/something/events', 'Route GET:/extended/v1/something/events not found'],
    ['v2/pox/cycles/5', 'Not found'],
    ['v2/pox/cycles/5/signers', 'PoX cycle not found'],
    [`v2/pox/cycles/6/signers/${'05'.repeat(33)}`, 'Not found'],
    [`v2/pox/cycles/6/signers/${'05'.repeat(33)}/stackers`, 'PoX cycle signer not found'],
    ['v3/staking/bonds/-1', 'Bond not found'],
    ['v3/staking/bonds/99999999999', 'Bond not found'],
    [`v3/staking/bonds/0/allowlist/${B}`, 'Bond allowlist entry not found'],
    [`v3/staking/bonds/0/registrations/${B}`, 'Bond registration not found'],
    [`v3/staking/bonds/${'9'.repeat(12)}/registrations/${A}`, 'Bond registration not found'],
    [`v3/staking/cycles/${'9'.repeat(30)}/signers`, 'PoX cycle not found'],
    [`v3/staking/signers/${B}`, 'Staking signer not found'],
  ])('%s', async (path, message) => {
    const { status, body } = await ask(path);
    expect([status, body.message]).toEqual([404, message]);
  });
});

test("a contract's prints have amounts and heights as text", async () => {
  const { body } = await ask(`v1/pox4/tx/${txIds[0]}`);
  const place = { block_height: 1, tx_id: txIds[0], tx_index: 0, event_index: 0 };
  const state = { stacker: A, locked: '700', balance: '300', burnchain_unlock_height: '140' };
  const lock = { lock_amount: '700', lock_period: '1', start_burn_height: '100', unlock_burn_height: '140' };
  expect(body.results).toEqual([
    {
      ...place,
      ...state,
      pox_addr: BITCOIN,
      pox_addr_raw: '0x00164247d6f2b425ac5771423ae6c80c754f7172b0',
      name: 'stack-stx',
      data: { ...lock, signer_key: KEY, start_cycle_id: '6', end_cycle_id: '7' },
    },
  ]);
  expect((await ask(`v1/pox4/stacker/${A}`)).body.results).toEqual(body.results);
  expect((await ask(`v1/pox3/tx/${txIds[0]}`)).body).toEqual({ results: [] });
});

test('an active delegation has its end as a number', async () => {
  const amounts = { amount_ustx: '5', burn_block_unlock_height: 5_000 };
  expect((await ask(`v1/pox4/${A}/delegations`)).body.results).toEqual([
    { stacker: B, pox_addr: BITCOIN, ...amounts, block_height: 1, tx_id: txIds[1] },
  ]);
});

test('shares of weight and stake are doubles, computed in the order that clients compare', async () => {
  const { results } = (await ask('v2/pox/cycles/6/signers')).body;
  expect(results.map((row: Record<string, unknown>) => [row.weight_percent, row.stacked_amount_percent])).toEqual([
    [66.66666666666666, 66.66666666666667],
    [33.33333333333333, 33.333333333333336],
  ]);
  expect(results[1]).toMatchObject({ signing_key: KEY, solo_stacker_count: 1, pooled_stacker_count: 0 });
  const { body } = await ask(`v2/pox/cycles/6/signers/${KEY.slice(2).toUpperCase()}/stackers`);
  expect(body.results).toEqual([
    { stacker_address: A, stacked_amount: '700', pox_address: BITCOIN, stacker_type: 'solo' },
  ]);
});

test('the old paths of prints redirect to the current ones', async () => {
  for (const [from, to] of [
    ['v1/pox4_events?limit=2', 'v1/pox4/events?limit=2'],
    ['v1/pox2_events', 'v1/pox2/events'],
    [`v1/pox3_events/stacker/${A}`, `v1/pox3/stacker/${A}`],
  ]) {
    const { status, headers } = await ask(from!);
    expect([status, headers.get('location')]).toEqual([302, `/extended/${to}`]);
  }
});

test('Bitcoin rewards accept either form of address, send no-store and are deprecated', async () => {
  const { body, headers } = await ask(`v1/burnchain/rewards/${BITCOIN}/total`);
  expect(body).toEqual({ reward_recipient: BITCOIN, reward_amount: '12' });
  expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null]);
  expect(headers.get('warning')).toStartWith('299');
  expect((await ask('v1/burnchain/rewards/STB44HYPYAT2BB2QE513NSP81HTMYWBJP02HPGK6/total')).body).toEqual(body);
  expect((await ask('v1/burnchain/rewards')).headers.get('link')).toContain('/extended/v3/staking/bonds');
});

test('the ETag of a list that depends on the Bitcoin height changes with it', async () => {
  const before = (await ask('v3/staking/bonds')).headers.get('etag');
  expect(before).toMatch(/-103-[0-9a-f]+"$/);
  expect((await ask('v3/staking/bonds')).body.results[0].status).toBe('upcoming');
});

test('returns a bond, its registration, and the position of the registered principal', async () => {
  const { body } = await ask('v3/staking/bonds/0');
  expect(body).toMatchObject({
    index: 0,
    pox_version: 'pox5',
    registrations: { allowed_count: 1, registered_count: 1 },
    balances: { locked: { btc: '9', stx: '10000000' }, paid_out: { btc: '0' } },
    transaction: { tx_id: txIds[2], bitcoin_block: { height: 101 } },
  });
  expect((await ask(`v3/staking/bonds/0/registrations/${A}`)).body).toEqual({
    signer: manager,
    staker: A,
    type: 'l2',
    balances: { btc: '9', stx: '10000000' },
    l2_lockup: { tx_id: txIds[2] },
  });
  expect((await ask(`v3/principals/${A}/staking/bonds`)).body.results).toMatchObject([
    { bond_index: 0, status: 'enrolled', active: true, enrollment: { tx_id: txIds[2], btc_lockup: { amount: '9' } } },
  ]);
  expect((await ask(`v3/staking/signers/${manager}/stakers`)).body.results).toEqual([{ staker: A, types: ['btc'] }]);
});

test("returns a cycle's signers by number and as current, with the contracts that have their keys", async () => {
  const { body } = await ask('v3/staking/cycles/6/signers');
  expect((await ask('v3/staking/cycles/current/signers')).body.results).toEqual(body.results);
  expect(body.results[1]).toEqual({
    signing_key: KEY,
    weight: { amount: 1, percent: 33.33333333333333 },
    staked_stx: { amount: '3', percent: 33.333333333333336 },
    signer_managers: [
      {
        signer_manager: manager,
        registered_at: { block_height: 1, bitcoin_block_height: 101, tx_id: txIds[3] },
        granted_keys: [],
        grant_active: false,
        pending_key_update: null,
      },
    ],
  });
});

test('returns a reward cycle of pox-5 by number, current or previous', async () => {
  const mined = poxBlock(null, 'made', [
    [bonds.setup(0), bonds.allow(0, A)],
    [bonds.register(0, A, manager, 1_000)],
    [bonds.stake(B, manager, 7n, [8, 9], 180)],
  ]);
  const eight = poxBlock(mined, 'eight', [[bonds.calculate(8, 0n, 7n, [50, 20, 3]), bonds.signerClaim(8, 9)]], {
    burn_block_height: 170,
  });
  const nine = poxBlock(eight, 'nine', [], { burn_block_height: 180 });
  using index = ingestOf([mined.event, eight.event, nine.event]);
  using api = openApi(index.path);
  const cycle = async (cycleId: string) => {
    const response = await api.get(`/extended/v3/staking/cycles/${cycleId}`);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const previous = await cycle('previous');
  expect(previous.body).toEqual({
    number: 8,
    status: 'finished',
    schedule: { start: { bitcoin_height: 160 }, prepare_phase_start: null, end: { bitcoin_height: 179 } },
    locked: {
      stx: { stx_only: '7', bonds: '10000000', total: '10000007' },
      btc: { total: '1000', native: '0', sbtc: '1000' },
    },
    participants: { stakers: { stx_only: 1, bonds: 1 }, signers: 0 },
    bonds: { total: 1, indexes: [0] },
    rewards: { btc: { total: '73', waterfall: { bonds: '50', stx_only: '20', reserve_deposit: '3' }, claimed: '9' } },
  });
  expect(await cycle('8')).toEqual(previous);
  expect((await cycle('current')).body).toMatchObject({ number: 9, status: 'reward_phase' });
  const answers = await Promise.all(['10', '99999999999999999999', 'next', '-1'].map(cycle));
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 400, 400]);
  expect(answers[0]!.body).toMatchObject({ message: 'PoX cycle not found' });
});

interface Page {
  total: number;
  cursor: { next: string | null };
  results: object[];
}

test("returns the rewards of a signer's stakers in a cycle, in pages", async () => {
  const precision = 10n ** 18n;
  const mined = poxBlock(null, 'made', [
    [bonds.setup(0), bonds.allow(0, A)],
    [bonds.register(0, A, manager, 1_000)],
    [bonds.stake(A, manager, 7n, [8, 9], 180)],
    [bonds.distribute(0, 2n * precision), bonds.calculate(8, 3n * precision, 7n)],
    [bonds.claim(A, 0, 1_500, manager, 8)],
  ]);
  using index = ingestOf([mined.event]);
  using api = openApi(index.path);
  const path = `/stackside/v1/staking/signers/${manager}/cycles/8/stakers`;
  const page = async (query: string) => (await (await api.get(path + query)).json()) as Page;
  const first = await page('?limit=1');
  const second = await page(`?limit=1&cursor=${first.cursor.next}`);
  expect([first.total, second.total, second.cursor.next]).toEqual([2, 2, null]);
  expect([...first.results, ...second.results]).toEqual([
    {
      staker: A,
      type: 'stake',
      bond_index: null,
      locked: { btc: '0', stx: '7' },
      rewards: { btc: { accrued: '21', claimed: '0', claimable: '21' } },
    },
    {
      staker: A,
      type: 'bond',
      bond_index: 0,
      locked: { btc: '1000', stx: '10000000' },
      rewards: { btc: { accrued: '2000', claimed: '1500', claimable: '500' } },
    },
  ]);
});

test("returns a principal's rewards by cycle, newest first, with an ETag that changes with Bitcoin", async () => {
  const path = `/stackside/v1/principals/${A}/staking-rewards`;
  const later = poxBlock(null, 'both', [[bonds.setup(0)], [stackedAt([5, 7])]], { burn_block_height: 101 });
  const tip = poxBlock(later, 'sixth', [[bonds.stake(A, manager, 7n, [6, 9], 180)]], { burn_block_height: 125 });
  const paid = burnBlock(103, 'a', null, [[BITCOIN, 12]]);
  const answerOf = async (burnBlocks: (typeof paid)[]) => {
    using index = ingestOf([later.event, tip.event, ...burnBlocks]);
    using api = openApi(index.path);
    const answer = await api.get(path);
    const body = (await answer.json()) as { results: Record<string, unknown>[] };
    return { etag: answer.headers.get('etag'), body };
  };
  const { etag, body } = await answerOf([paid]);
  const toAddress = (btc: string) => ({ btc, claimed_btc: null, claimable_btc: null });
  const stack = { pox_version: 'pox4', type: 'solo', bond_index: null, pool: null, locked: { btc: '0', stx: '700' } };
  const inPox5 = { pox_version: 'pox5', type: 'stake', locked: { btc: '0', stx: '7' } };
  const none = { btc: '0', claimed_btc: '0', claimable_btc: '0' };
  expect(body).toMatchObject({ total: 3, limit: 20, cursor: { next: null, previous: null } });
  expect(body.results).toEqual([
    { cycle: 6, ...stack, ...inPox5, bitcoin_address: null, rewards: none },
    { cycle: 6, ...stack, bitcoin_address: BITCOIN, rewards: null },
    { cycle: 5, ...stack, bitcoin_address: BITCOIN, rewards: toAddress('12') },
  ]);
  const more = await answerOf([paid, burnBlock(125, 'b', 'a', [[BITCOIN, 30]])]);
  expect(more.body.results[1]?.rewards).toEqual(toAddress('30'));
  expect(more.etag).not.toBe(etag);
});

test('an announced Bitcoin block changes the ETag of bonds, but not of stakes', async () => {
  const staked = poxBlock(null, 'staked until 160', [
    [bonds.setup(0), bonds.stake(A, manager, 60_000_000_000n, [7, 8], 160)],
  ]);
  const end = burnBlock(160, 'the end', null, []);
  const block = poxBlock(staked, 'after the end', [], { burn_block_height: 160 });
  const answersOf = async (...events: (typeof end | typeof block.event)[]) => {
    using index = ingestOf([staked.event, ...events]);
    using api = openApi(index.path);
    const paths = [`principals/${A}/staking`, `staking/signers/${manager}/stakers`, 'staking/bonds'];
    const answers = await Promise.all(paths.map((path) => api.get(`/extended/v3/${path}`)));
    const [summary, stakers, bondList] = await Promise.all(answers.map((answer) => answer.json()));
    const facts = [
      (summary as { stx: { locked: string } }).stx.locked,
      (stakers as { total: number }).total,
      (bondList as { results: { status: string }[] }).results[0]?.status,
    ];
    return { facts, etags: answers.map(({ headers }) => headers.get('etag')) };
  };
  const [before, announced, after] = [await answersOf(), await answersOf(end), await answersOf(end, block.event)];
  expect(before.facts).toEqual(['60000000000', 1, 'upcoming']);
  expect(announced.facts).toEqual(['60000000000', 1, 'active']);
  expect(after.facts).toEqual(['0', 0, 'active']);
  expect(announced.etags.map((etag, index) => etag === before.etags[index])).toEqual([true, true, false]);
  expect(after.etags.map((etag, index) => etag === announced.etags[index])).toEqual([false, false, false]);
});

test('rewards of a segwit address are found by each spelling of it', async () => {
  const testnet = 'tb1qq6hag67dl53wl99vzg42z8eyzfz2xlkvvlryfj';
  const regtest = 'bcrt1qq6hag67dl53wl99vzg42z8eyzfz2xlkvwk6f7m';
  const { event } = poxBlock(null, 'only', []);
  using index = ingestOf([event, burnBlock(103, 'a', null, [[testnet, 12]])]);
  using own = openApi(index.path);
  const bodyOf = async (path: string) => JSON.parse(await (await own.get(`/extended/${path}`)).text());
  for (const spelling of [testnet, regtest, testnet.toUpperCase(), regtest.toUpperCase()]) {
    expect(await bodyOf(`v1/burnchain/rewards/${spelling}/total`)).toEqual({
      reward_recipient: spelling,
      reward_amount: '12',
    });
    const { results: rewards } = await bodyOf(`v1/burnchain/rewards/${spelling}`);
    expect(rewards).toMatchObject([{ reward_recipient: testnet, reward_amount: '12' }]);
    const { results: slots } = await bodyOf(`v1/burnchain/reward_slot_holders/${spelling}`);
    expect(slots).toMatchObject([{ address: testnet }]);
    const { results: outputs } = await bodyOf(`v2/addresses/${spelling}/pox-transactions`);
    expect(outputs).toMatchObject([{ recipient: testnet, amount: '12' }]);
  }
});
