/** Filters that can never match are named in `status.warnings`, and `contains` finds decoded text. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { alice, block, bob, deployment, receipt, transfer } from '../support/events/handmade.ts';
import { until } from '../support/time/until.ts';
import { definition, type HookServer, hookServer, NOWHERE } from './server.ts';

const CONTRACT = `${alice.address}.pool`;
const OTHER = `${alice.address}.other`;
const MAX = 2n ** 128n;
const buy = { type: 'contract_call', contract_identifier: CONTRACT, function_name: 'buy' };

const contractInterface = {
  functions: [
    { name: 'move', access: 'public', args: [], outputs: { type: 'bool' } },
    { name: 'look', access: 'read_only', args: [], outputs: { type: 'bool' } },
    {
      name: 'buy',
      access: 'public',
      args: [
        { name: 'id', type: 'uint128' },
        { name: 'note', type: { optional: { buffer: { length: 4 } } } },
        { name: 'key', type: { buffer: { length: 4 } } },
        { name: 'to', type: 'trait_reference' },
        { name: 'later', type: { another: 1 } },
        { name: 'text', type: { 'string-ascii': { length: 9 } } },
        { name: 'on', type: 'bool' },
        { name: 'odd', type: { buffer: null } },
      ],
      outputs: { type: 'bool' },
    },
    { name: 'inner', access: 'private', args: [], outputs: { type: 'bool' } },
  ],
  variables: [],
  maps: [],
  fungible_tokens: [{ name: 'coin' }],
  non_fungible_tokens: [
    { name: 'ape', type: 'uint128' },
    { name: 'odd', type: { tuple: {} } },
    { name: 'name', type: { tuple: [{ name: 'label', type: { buffer: { length: 9 } } }] } },
  ],
};

let server: HookServer;
beforeAll(async () => {
  server = await hookServer();
  const [deployed, printed] = [deployment(alice, 0, 300), transfer(alice, 1, 300, undefined, bob)];
  const print = (event_index: number, value: Uint8Array) => ({
    txid: printed.id,
    event_index,
    committed: true,
    type: 'contract_event',
    contract_event: { contract_identifier: CONTRACT, topic: 'print', raw_value: toHex(value) },
  });
  const mined = block(
    null,
    'warnings',
    [receipt(deployed, 0, { contract_interface: contractInterface }), receipt(printed, 1)],
    { events: [print(0, clarity.tuple({ note: clarity.utf8('say "héllo" 🦀') })), print(1, clarity.ascii('a\\b'))] },
  );
  server.ingest.receive(mined.event);
});
afterAll(() => server[Symbol.asyncDispose]());

async function warningsOf(...filters: object[]): Promise<string[]> {
  const { status, body } = await server.request('POST', '/chainhooks/me', definition(NOWHERE, filters));
  expect(status).toBe(200);
  const { uuid } = body;
  const { body: stored } = await server.request('GET', `/chainhooks/me/${uuid}`);
  const { body: page } = await server.request('GET', '/chainhooks/me?limit=60');
  const listed = page.results.find((item: { uuid: string }) => item.uuid === uuid);
  expect([stored.status.warnings, listed.status.warnings]).toEqual([body.status.warnings, body.status.warnings]);
  await server.request('DELETE', `/chainhooks/me/${uuid}`);
  return body.status.warnings;
}

const NEVER = '; the filter never matches';
const FAILED_ONLY = '; the filter can only match failed calls';
const LONG_NAME = `${alice.address}.${'a'.repeat(41)}`;

test.each<[warning: string, filter: object]>([
  [`sender: a contract can't send a transaction${NEVER}`, { type: 'contract_call', sender: CONTRACT }],
  [`sender: a contract can't send a transaction${NEVER}`, { type: 'contract_log', sender: CONTRACT }],
  [
    `sender: only ${alice.address} can deploy ${CONTRACT}${NEVER}`,
    { type: 'contract_deploy', contract_identifier: CONTRACT, sender: bob.address },
  ],
  [
    `contract_identifier: the name of a deployed contract has at most 40 characters${NEVER}`,
    { type: 'contract_log', contract_identifier: LONG_NAME },
  ],
  [`topic: contracts log with the topic print only${NEVER}`, { type: 'contract_log', topic: 'event' }],
  [`value: this is not a Clarity value${NEVER}`, { type: 'nft_event', value: '0xff' }],
  [`value: this is not a Clarity value${NEVER}`, { type: 'nft_event', value: '0x0303' }],
  [`value: this is not a Clarity value${NEVER}`, { type: 'nft_event', value: `u${MAX}` }],
  ...['0xzz', '0xabc', '0x'].map((equals): [string, object] => [
    'memo.equals: hex needs an even number of digits after 0x; only a memo with exactly this text matches',
    { type: 'stx_transfer', memo: { equals } },
  ]),
  ...['(some u7', '(ok (list u1)', '(some u7))', '(tuple (a "x)")'].map((equals): [string, object] => [
    'argument.equals: the parentheses are unbalanced; only a string argument with exactly this text matches',
    { type: 'contract_call', argument: { index: 0, equals } },
  ]),
  [
    `min_amount: the amount is above 2^128-1, the largest that Clarity has${NEVER}`,
    { type: 'ft_transfer', min_amount: String(MAX) },
  ],
  [
    `asset_identifier: ${CONTRACT}::ape is a non-fungible token${NEVER}`,
    { type: 'ft_transfer', asset_identifier: `${CONTRACT}::ape` },
  ],
  [
    `asset_identifier: ${CONTRACT}::coin is a fungible token${NEVER}`,
    { type: 'nft_event', asset_identifier: `${CONTRACT}::coin` },
  ],
  [
    `asset_identifier: ${CONTRACT} doesn't define a fungible token gold${NEVER}`,
    { type: 'ft_event', asset_identifier: `${CONTRACT}::gold` },
  ],
  ...['fly', 'inner'].map((function_name): [string, object] => [
    `function_name: ${CONTRACT} doesn't have a public function ${function_name}${FAILED_ONLY}`,
    { type: 'contract_call', contract_identifier: CONTRACT, function_name },
  ]),
  [
    `argument.index: buy of ${CONTRACT} has 8 arguments${FAILED_ONLY}`,
    { ...buy, argument: { index: 8, equals: 'u1' } },
  ],
  [
    `argument.index: move of ${CONTRACT} has 0 arguments${FAILED_ONLY}`,
    { ...buy, function_name: 'move', argument: { index: 0, equals: 'u1' } },
  ],
  ...(
    [
      [0, '-7', 'id', 'uint'],
      [0, '0x0000000000000000000000000000000007', 'id', 'uint'],
      [0, 'true', 'id', 'uint'],
      [1, '0x02000000010a', 'note', '(optional (buff 4))'],
      [2, 'u7', 'key', '(buff 4)'],
      [3, '7', 'to', 'trait_reference'],
      [5, '7', 'text', '(string-ascii 9)'],
      [5, 'é', 'text', '(string-ascii 9)'],
      [6, 'yes', 'on', 'bool'],
    ] as const
  ).map(([index, equals, name, type]): [string, object] => [
    `argument.equals: the argument ${name} has the type ${type}${FAILED_ONLY}`,
    { ...buy, argument: { index, equals } },
  ]),
  [
    `value: the values of ${CONTRACT}::ape have the type uint${NEVER}`,
    { type: 'nft_event', asset_identifier: `${CONTRACT}::ape`, value: -7 },
  ],
  [
    `value: the values of ${CONTRACT}::name have the type (tuple (label (buff 9)))${NEVER}`,
    { type: 'nft_transfer', asset_identifier: `${CONTRACT}::name`, value: 'u7' },
  ],
  [`memo.equals: a memo has at most 34 bytes${NEVER}`, { type: 'stx_transfer', memo: { equals: 'a'.repeat(35) } }],
  [`memo.contains: a memo has at most 34 bytes${NEVER}`, { type: 'stx_transfer', memo: { contains: 'é'.repeat(18) } }],
  ...[{ equals: 'order 7 ' }, { equals: 'order\u00007' }, { contains: 'r  7' }, { contains: '7\n' }].map(
    (memo): [string, object] => [
      `memo.${Object.keys(memo)[0]}: the readable text of a memo has single blanks, no control characters and trimmed ends${NEVER}`,
      { type: 'stx_transfer', memo },
    ],
  ),
])('warns with %s: %p', async (warning, filter) => {
  expect(await warningsOf({ type: 'coinbase' }, filter)).toEqual([`filters.events.1.${warning}`]);
});

test('warns about an empty list', async () => {
  expect(await warningsOf()).toEqual(['filters.events: the list is empty; the chainhook never matches']);
});

test("doesn't warn about filters that can match", async () => {
  expect(
    await warningsOf(
      { type: 'contract_call', sender: bob.address, contract_identifier: CONTRACT, function_name: 'move' },
      { type: 'contract_call', contract_identifier: CONTRACT, function_name: 'look' },
      { type: 'contract_call', contract_identifier: OTHER, function_name: 'fly' },
      { type: 'contract_deploy', contract_identifier: CONTRACT, sender: alice.address },
      ...[
        [0, '7'],
        [0, '0x0100000000000000000000000000000007'],
        [1, 'none'],
        [1, '(some 0x0a)'],
        [2, '0x0a'],
        [3, `'${CONTRACT}`],
        [4, 'anything'],
        [5, '"7"'],
        [6, 'false'],
        [7, 'u1'],
      ].map(([index, equals]) => ({ ...buy, argument: { index, equals } })),
      { ...buy, contract_identifier: OTHER, argument: { index: 200, equals: 'u1' } },
      { type: 'contract_call', argument: { index: 0, equals: '(tuple (a "x(") (b (list u1 \'ST1)))' } },
      { type: 'contract_call', argument: { index: 0, equals: 'a (text' } },
      { type: 'stx_transfer', memo: { equals: 'order 0xzz', contains: '0xzz' } },
      { type: 'stx_transfer', memo: { equals: 'order 7', contains: ' 7' } },
      { type: 'stx_transfer', memo: { contains: 'order ' } },
      { type: 'stx_transfer', memo: { equals: `0x${'61'.repeat(34)}`, contains: 'é'.repeat(17) } },
      { type: 'nft_transfer', asset_identifier: `${CONTRACT}::ape`, value: 7 },
      { type: 'nft_transfer', asset_identifier: `${CONTRACT}::odd`, value: 7 },
      {
        type: 'nft_transfer',
        asset_identifier: `${CONTRACT}::name`,
        value: toHex(clarity.tuple({ label: clarity.buffer(new Uint8Array(1)) })),
      },
      { type: 'contract_log', contract_identifier: CONTRACT, topic: 'print' },
      { type: 'ft_transfer', asset_identifier: `${CONTRACT}::coin`, min_amount: String(MAX - 1n), sender: CONTRACT },
      { type: 'nft_transfer', asset_identifier: `${CONTRACT}::ape`, value: `u${MAX - 1n}` },
      { type: 'nft_transfer', asset_identifier: `${OTHER}::ape`, value: '0x03' },
    ),
  ).toEqual([]);
});

test.each<[contains: string, isFound: boolean]>([
  ['héllo', true],
  ['(note u"say "héllo" 🦀")', true],
  ['(note u"say \\"h\\u{c3a9}llo\\"', true],
  ['a\\b', true],
  ['a\\\\b', true],
  ['hello', false],
])('previews, backfills and changes find contains %p: %p', async (contains, isFound) => {
  const events = [{ type: 'contract_log', contains }];
  const blocks = isFound ? 1 : 0;
  const preview = { filters: { events }, from_height: 1, to_height: 1 };
  expect((await server.request('POST', '/chainhooks/preview', preview)).body.matched_blocks).toBe(blocks);
  const uuid = await server.register(NOWHERE, {}, events);
  const path = `/chainhooks/me/${uuid}/backfills`;
  const { body: job } = await server.request('POST', path, { from_height: 1, dry_run: true });
  const readJob = async () => (await server.request('GET', `${path}/${job.id}`)).body;
  await until(async () => (await readJob()).state === 'completed');
  expect((await readJob()).matched_blocks).toBe(blocks);
  await server.request('DELETE', `/chainhooks/me/${uuid}`);
  const query = new URLSearchParams({ from_height: '1', filters: JSON.stringify({ events }) });
  const { body: changes } = await server.request('GET', `/stackside/v1/changes?${query}`);
  expect(changes.results).toHaveLength(blocks);
});
