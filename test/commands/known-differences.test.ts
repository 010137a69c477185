/** Comparison of two servers: every parameter gets values, and the known differences hide no others. */
import { expect, test } from 'bun:test';
import { type Difference, differencesOf } from '../../src/commands/compare/differences.ts';
import {
  type ComparedAnswers,
  isCompared,
  type KnownReason,
  reasonFor,
  referenceReasons,
  STATUS,
} from '../../src/commands/compare/known-differences.ts';
import { makeQuestion, type Route, routes } from '../../src/commands/compare/questions.ts';
import { routesOf } from '../support/api/app.ts';
import { migrationPage, pageWithKnownDifferences } from '../support/generate/known-differences.ts';

interface Schema {
  type?: string;
  anyOf?: readonly Schema[];
  const?: unknown;
  items?: Schema;
  minimum?: number;
  maximum?: number;
}

/** Whether a parameter accepts a word, as far as its schema has words or numbers. */
function accepts({ type, anyOf, items, ...schema }: Schema, word: string): boolean {
  if (items !== undefined) return accepts(items, word);
  if (type === 'boolean') return word === 'true';
  const words = (anyOf?.map((variant) => variant.const) ?? [schema.const]).filter((value) => value !== undefined);
  const { minimum = 0, maximum = Number.POSITIVE_INFINITY } = schema;
  return words.length > 0 ? words.includes(word) : Number(word) >= minimum && Number(word) <= maximum;
}

/** Routes that only this server has, that another service answers elsewhere, or that cost too much. */
const NOT_COMPARED = /^\/(stackside|metadata|chainhooks)\b|\/faucets\/|\/contract\/by_trait$/;

test('the table has every route that both servers have, with all its parameters', () => {
  const declared = routesOf('stackside v0').filter(
    ({ method, path, hidden }) => method === 'GET' && !hidden && !NOT_COMPARED.test(path),
  );
  expect(routes.map(({ path }) => path).sort()).toEqual(declared.map(({ path }) => path).sort());
  for (const { path, detail } of declared) {
    const parameters = detail.parameters as readonly { name: string; in: string; required: boolean; schema: Schema }[];
    const inQuery = parameters.filter((parameter) => parameter.in === 'query');
    const { query } = routes.find((route) => route.path === path)!;
    expect([path, ...query.map(({ name }) => name).sort()]).toEqual([path, ...inQuery.map(({ name }) => name).sort()]);
    for (const { name, required, schema } of inQuery) {
      const { isRequired, words } = query.find((parameter) => parameter.name === name)!;
      if (required) expect([path, name, isRequired]).toEqual([path, name, true]);
      for (const word of words) expect([path, name, word, accepts(schema, word)]).toEqual([path, name, word, true]);
    }
  }
});

/** Samples with one of each kind, and any text. */
const anySample = new Proxy({}, { get: (_, name) => `the-${String(name)}` });
const anySamples = new Proxy({}, { get: () => [anySample] });

test('a question has values for the path and the required parameters, and varies the others', () => {
  const targets = (route: Route) =>
    new Set(Array.from({ length: 420 }, (_, turn) => makeQuestion(route, anySamples, turn)!.target));
  for (const route of routes) {
    const { path, query } = route;
    const sent = [...targets(route)];
    for (const target of sent) expect(target).not.toMatch(/[{}]|undefined|null/);
    expect(sent[0]?.split('?')[0]?.split('/').length).toBe(path.split('/').length);
    for (const { name, isRequired, words } of query) {
      if (name === 'cursor') continue;
      const with_ = sent.filter((target) => new RegExp(`[?&]${name}=`).test(target));
      expect([path, name, with_.length > 0]).toEqual([path, name, true]);
      if (isRequired) expect(with_.length).toBe(sent.length);
      for (const word of words) expect(with_.some((target) => `${target}&`.includes(`${name}=${word}&`))).toBe(true);
    }
  }
  expect(makeQuestion(routes[0]!, {}, 0)).toBeNull();
});

test('docs/migration.md lists the current known differences (bun run generate writes them)', async () => {
  expect(await pageWithKnownDifferences()).toBe(await Bun.file(migrationPage).text());
});

test('each difference has the path of its field, and equal parts are not reported', () => {
  const paths = (ours: unknown, theirs: unknown) => differencesOf(ours, theirs).map(({ location }) => location);
  expect(paths({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toEqual([]);
  expect(paths({ a: 1, gone: null }, { a: 2, come: 0 })).toEqual(['a', 'gone', 'come']);
  expect(paths({ a: { b: [{ c: 1 }] } }, { a: { b: [{ c: '1' }] } })).toEqual(['a.b[0].c']);
  // Items with an id are compared at any position.
  const rows = ['x', 'y', 'z'].map((tx_id, fee) => ({ tx_id, fee }));
  expect(paths({ results: rows }, { results: rows.slice(1) })).toEqual(['results[0]']);
  expect(paths({ results: rows }, { results: [{ tx_id: 'n', fee: 9 }, ...rows] })).toEqual(['results[0]']);
  expect(paths({ results: rows }, { results: rows.with(1, { tx_id: 'y', fee: 9 }) })).toEqual(['results[1].fee']);
  const [turned] = differencesOf(rows, [rows[1], rows[0], rows[2]]);
  expect(turned).toMatchObject({ path: '[*]', isOrder: true, ours: rows[0], theirs: rows[1] });
  // Other items are compared by position, without the common start and end of both lists.
  expect(paths([1, 2, 3, 4], [1, 3, 4])).toEqual(['[1]']);
  expect(paths([1, 2, 3], [1, 5, 3])).toEqual(['[1]']);
  const repeated = [1, 2].map((e) => ({ tx_id: 'x', e }));
  expect(paths(repeated, repeated.slice(0, 1))).toEqual(['[1]']);
  // Keys that are data aren't field names.
  const found = (value: boolean) => ({ [`0x${'1'.repeat(64)}`]: { found: value } });
  expect(differencesOf(found(true), found(false))[0]?.path).toBe('[*].found');
  expect(paths(34.942555898536, 34.942555898535)).toEqual([]);
  expect(paths([0.5, 3], [0.50001, 4])).toEqual(['[0]', '[1]']);
  expect(differencesOf(Array(999).fill(1), Array(999).fill(2))).toHaveLength(200);
});

test('cursors, versions and receipt times are compared only by presence and type', () => {
  const counts = (path: string, ours: unknown, theirs: unknown, route = '/extended/v3/transactions') =>
    isCompared({ path, location: path, ours, theirs, isOrder: false }, route);
  expect(counts('cursor.next', 'a', 'b')).toBe(false);
  expect(counts('cursor.next', 'a', null)).toBe(true);
  expect(counts('next_cursor', undefined, null)).toBe(true);
  expect(counts('results[*].receipt_time', 1, 2)).toBe(false);
  expect(counts('results[*].block_time', 1, 2)).toBe(true);
  expect(counts('server_version', 'a', 'b')).toBe(false);
  expect(counts('last_1h', 1.5, 2, '/extended/v2/blocks/average-times')).toBe(false);
  expect(counts('last_1h', 1.5, '2', '/extended/v2/blocks/average-times')).toBe(true);
  expect(counts('tx_ages.contract_call.p25', 1, null, '/extended/v1/tx/mempool/stats')).toBe(false);
});

/** A difference in a route's responses, with its context. */
type Case = [
  route: string,
  path: string,
  ours: unknown,
  theirs: unknown,
  within?: Partial<ComparedAnswers> & { isOrder?: boolean },
];

const v3 = '/extended/v3/principals/{principal}/transactions';
const v3Tx = '/extended/v3/transactions/{tx_id}';
const v2Txs = '/extended/v2/blocks/{height_or_hash}/transactions';
const inbound = '/extended/v1/address/{principal}/stx_inbound';
const nonces = '/extended/v1/address/{principal}/nonces';
const v3Stx = '/extended/v3/principals/{principal}/balances/stx';
const v3Ft = '/extended/v3/principals/{principal}/balances/ft';
const holders = '/extended/v3/tokens/ft/{asset_identifier}/holders';
const search = '/extended/v1/search/{id}';
const cycleSigners = '/extended/v2/pox/cycles/{cycle_number}/signers';
const bond = '/extended/v3/staking/bonds/{bond_index}';
const transfers = '/extended/v1/address/{principal}/{tx_id}/with_transfers';
const stx = '/extended/v1/address/{principal}/stx';
const poxEvents = '/extended/v1/{pox}/events';
const v3Signers = '/extended/v3/staking/cycles/{cycle_number}/signers';
const canonical = { result: { tx_data: { canonical: true } } };
const rows = (count: number) => Array.from({ length: count }, (_, index) => ({ tx_id: String(index) }));

/** Two cases for each known difference, in order: one that it covers, then a similar one that it doesn't. */
const cases: Case[] = [
  [v3, 'total', 5, 0, { ours: { results: [] } }],
  [v3, 'total', 5, 0, { ours: { results: [{}] } }],
  ['/extended/v1/microblock', 'total', 5, 1, { theirs: { results: rows(3) } }],
  ['/extended/v1/microblock', 'total', 5, 4, { theirs: { results: rows(3) } }],
  [v3, 'results[*]', undefined, {}, { ours: { limit: 20 }, theirs: { limit: 100 } }],
  [v3, 'results[*]', undefined, {}, { target: `${v3}?limit=20`, ours: { limit: 20 }, theirs: { limit: 100 } }],
  [v3, 'cursor.current', 'a', null, { theirs: { results: [] } }],
  [v3, 'cursor.current', 'a', null, { theirs: { results: [{}] } }],
  ['/extended/v2/blocks', 'next_cursor', 'a', null, { target: '/extended/v2/blocks?offset=2' }],
  ['/extended/v2/blocks', 'next_cursor', 'a', null],
  ['/extended/v2/burn-blocks', 'total', 37, 255],
  ['/extended/v2/burn-blocks', 'total', 255, 37],
  ['/extended/v2/block-tenures/{tenure_height}/blocks', STATUS, 200, 404],
  ['/extended/v2/block-tenures/{tenure_height}/blocks', STATUS, 404, 200],
  [v3Tx, STATUS, 200, 404, { target: '/extended/v3/transactions/aa' }],
  [v3Tx, STATUS, 200, 404, { target: '/extended/v3/transactions/0xaa' }],
  [v3Tx, STATUS, 200, 404, { target: '/extended/v3/transactions/0xaa', ours: { status: 'dropped_replace_by_fee' } }],
  [v3Tx, STATUS, 200, 404, { target: '/extended/v3/transactions/0xaa', ours: { status: 'success' } }],
  [`${v3Tx}/events`, STATUS, 404, 400],
  [`${v3Tx}/events`, STATUS, 404, 200],
  [v2Txs, STATUS, 200, 404, { ours: { results: [] } }],
  [v2Txs, STATUS, 200, 404, { ours: { results: [{}] } }],
  [v2Txs, 'results[*].contract_call.function_args[*].type', 'uint', '(optional uint)'],
  [v2Txs, 'results[*].contract_call.function_args[*].hex', '0x01', '0x02'],
  [v2Txs, 'total', 2, 3, { ours: { results: rows(2) }, theirs: { results: rows(2) } }],
  [v2Txs, 'total', 2, 3, { ours: { results: rows(2) }, theirs: { results: rows(3) } }],
  ['/extended/v2/blocks/{height_or_hash}', 'tx_count', 9, 2, { ours: { height: 1 } }],
  ['/extended/v2/blocks/{height_or_hash}', 'tx_count', 9, 2, { ours: { height: 2 } }],
  [v3, 'results[*]', { transaction: { block: { height: 1 } } }, undefined],
  [v3, 'results[*]', { transaction: { block: { height: 2 } } }, undefined],
  ['/extended/v1/tx', 'total', 9, 8],
  ['/extended/v1/tx', 'total', 8, 9],
  ['/extended/v1/tx', 'results[*]', {}, undefined, { target: '/extended/v1/tx?nonce=0' }],
  ['/extended/v1/tx', 'results[*]', {}, undefined, { target: '/extended/v1/tx?nonce=01' }],
  ['/extended/v1/microblock', 'results[*]', {}, undefined],
  ['/extended/v1/microblock', 'results[*].block_height', 1, 2],
  ['/extended/v1/block', 'results[*].microblocks_streamed[*]', undefined, '0x01'],
  ['/extended/v1/block', 'results[*].microblocks_accepted[*]', undefined, '0x01'],
  [inbound, 'results[*].amount', '1', '2', { theirs: { results: [{ amount: '1' }, { amount: '1' }] } }],
  [inbound, 'results[*].amount', '1', '2', { theirs: { results: [{ amount: '2' }, { amount: '1' }] } }],
  [transfers, 'stx_sent', '1', '2', { ours: { tx: { sponsored: true } } }],
  [transfers, 'stx_sent', '1', '2', { ours: { tx: { sponsored: false } } }],
  [nonces, 'last_executed_tx_nonce', null, 0],
  [nonces, 'last_executed_tx_nonce', 1, 0],
  [nonces, 'possible_next_nonce', 3, 7, { target: `${nonces}?block_height=3` }],
  [nonces, 'last_executed_tx_nonce', 3, 7],
  [v3Stx, 'available', '1', '9', { ours: { locked: { amount: '8' } }, theirs: { locked: null } }],
  [v3Stx, 'available', '1', '9', { ours: { locked: { amount: '8' } }, theirs: { locked: { amount: '7' } } }],
  [stx, 'lock_height', 3, 4, { target: `${stx}?until_block=9` }],
  [stx, 'balance', '3', '4', { target: `${stx}?until_block=9` }],
  [v3Ft, 'results[*]', {}, {}, { isOrder: true }],
  [v3Ft, 'results[*]', {}, undefined, { ours: { total: 1, results: rows(1) } }],
  [holders, 'results[*]', undefined, { balance: '0' }],
  [holders, 'results[*]', undefined, { balance: '1' }],
  [holders, 'results[*]', { balance: '4' }, { balance: '4' }, { isOrder: true }],
  [holders, 'results[*]', { balance: '4' }, { balance: '5' }, { isOrder: true }],
  [search, 'result.tx_data.block_hash', 'a', 'b', { ours: canonical, theirs: { result: {} } }],
  [search, 'result.tx_data.block_hash', 'a', 'b', { ours: canonical, theirs: canonical }],
  ['/extended/v1/stx_supply', 'unlocked_percent', '0.00', 'NaN'],
  ['/extended/v1/stx_supply', 'unlocked_percent', '0.00', '0.01'],
  ['/extended/v1/tx/{tx_id}', 'poison_microblock.microblock_header_1', 'a', 'b'],
  ['/extended/v1/tx/{tx_id}', 'token_transfer.amount', 'a', 'b'],
  [poxEvents, 'results[*].data.first_cycle_locked', '1', '2', { ours: { results: [{ name: 'handle-unlock' }] } }],
  [poxEvents, 'results[*].data.first_cycle_locked', '1', '2', { ours: { results: [{ name: 'stack-stx' }] } }],
  ['/extended/v1/burnchain/rewards', 'results[*]', undefined, {}],
  ['/extended/v1/burnchain/rewards', 'results[*].reward_amount', '1', '2'],
  [`${cycleSigners}/{signer_key}/stackers`, 'results[*]', undefined, { stacker_type: 'pooled' }],
  [`${cycleSigners}/{signer_key}/stackers`, 'results[*]', undefined, { stacker_type: 'solo' }],
  [v3Signers, STATUS, 200, 404, { target: '/extended/v3/staking/cycles/12/signers' }],
  [v3Signers, STATUS, 200, 404, { target: '/extended/v3/staking/cycles/current/signers' }],
  [bond, 'balances.paid_out.btc', '24', '0'],
  [bond, 'balances.paid_out.btc', '24', '23'],
  [bond, 'transaction.bitcoin_block.height', 215, 255],
  [bond, 'transaction.bitcoin_block.height', 215, 214],
  [`${bond}/allowlist`, 'results[*]', undefined, {}, { target: `${bond}/allowlist?cursor=a` }],
  [`${bond}/allowlist`, 'results[*]', undefined, {}],
  ['/v1/names/{name}', 'expire_block', 10, 20],
  ['/v1/names/{name}', 'expire_block', 20, 10],
  ['/v1/names/{name}', 'address', 'a', 'b', { ours: { status: 'name-import' } }],
  ['/v1/names/{name}', 'address', 'a', 'b', { ours: { status: 'name-register' } }],
];

function reasonOf([route, path, ours, theirs, within = {}]: Case): KnownReason | null {
  const { isOrder = false, ...rest } = within;
  const difference: Difference = { path, location: path.replaceAll('[*]', '[0]'), ours, theirs, isOrder };
  return reasonFor(referenceReasons, difference, { route, target: route, ours: {}, theirs: {}, ...rest });
}

test('each known difference matches its example and not a similar one', () => {
  expect(cases.length).toBe(2 * referenceReasons.length);
  for (const [index, reason] of referenceReasons.entries()) {
    const [match, mismatch] = [cases[2 * index]!, cases[2 * index + 1]!];
    expect([reason.here, reasonOf(match)?.here]).toEqual([reason.here, reason.here]);
    expect([reason.here, reasonOf(mismatch)?.here ?? null]).toEqual([reason.here, null]);
    // A field that no reason covers is never a known difference.
    expect(reasonOf([match[0], 'results[*].whatever', 1, 2])).toBeNull();
  }
});
