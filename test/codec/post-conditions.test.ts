import { expect, test } from 'bun:test';
import { fromHex } from '../../src/codec/hex.ts';
import { decodePostConditions } from '../../src/codec/post-conditions.ts';
import { hash160, signer } from './raw-transaction.ts';

const decode = (hex: string) => {
  const decoded = decodePostConditions(fromHex(hex));
  if (!decoded.ok) throw decoded.error;
  return decoded.value;
};

const address = `16${hash160}`;
const asset = `${address}03${'746f6b'}04${'61706573'}`;
const expectedAsset = { contract_name: 'tok', asset_name: 'apes', contract_address: signer };
const origin = { type_id: 'principal_origin' };
const five = '0000000000000005';

test.each([
  ['01', 'sent_equal_to'],
  ['02', 'sent_greater_than'],
  ['03', 'sent_greater_than_or_equal_to'],
  ['04', 'sent_less_than'],
  ['05', 'sent_less_than_or_equal_to'],
])('amount condition %s is %s, for STX, stacked STX and tokens', (code, condition_code) => {
  const hex = `0200000003${`0001${code}${five}`}${`0301${code}${five}`}${`0101${asset}${code}${five}`}`;
  expect<unknown>(decode(hex).postConditions).toEqual([
    { type: 'stx', condition_code, amount: '5', principal: origin },
    { type: 'staking', condition_code, amount: '5', principal: origin },
    { type: 'fungible', condition_code, amount: '5', principal: origin, asset: expectedAsset },
  ]);
});

test.each([
  ['10', 'sent'],
  ['11', 'not_sent'],
  ['12', 'maybe_sent'],
])('non-fungible condition %s is %s and comes after the value', (code, condition_code) => {
  expect<unknown>(decode(`0200000001${`0201${asset}0d000000026869${code}`}`).postConditions).toEqual([
    {
      type: 'non_fungible',
      condition_code,
      principal: origin,
      asset: expectedAsset,
      asset_value: { hex: '0x0d000000026869', repr: '"hi"' },
    },
  ]);
});

test.each([
  ['30', 'not_performed'],
  ['31', 'maybe_performed'],
  ['32', 'performed'],
])('pox condition %s is %s, without an amount', (code, condition_code) => {
  expect<unknown>(decode(`0200000001${`0401${code}`}`).postConditions).toEqual([
    { type: 'pox', condition_code, principal: origin },
  ]);
});

test('a principal is the origin, an address, or a contract with a separate address', () => {
  const hex = `0300000003${'040130'}${`0402${address}30`}${`0403${address}0361626330`}`;
  expect<unknown>(decode(hex).postConditions.map((item) => 'principal' in item && item.principal)).toEqual([
    origin,
    { type_id: 'principal_standard', address: signer },
    { type_id: 'principal_contract', contract_name: 'abc', address: signer },
  ]);
});

test("keys are in the API's order", () => {
  const [stx, nonFungible] = decode(`0200000002${`000101${five}`}${`0201${asset}0310`}`).postConditions;
  expect(Object.keys(stx!)).toEqual(['type', 'condition_code', 'amount', 'principal']);
  expect(Object.keys(nonFungible!)).toEqual(['type', 'condition_code', 'principal', 'asset', 'asset_value']);
});

test('amounts of 64 bits are exact', () => {
  expect(decode(`0200000001${`000101${'ff'.repeat(8)}`}`).postConditions[0]).toMatchObject({
    amount: `${2n ** 64n - 1n}`,
  });
});

test.each([
  ['', 'deny'],
  ['01', 'allow'],
  ['01f5', 'allow'],
  ['02000000', 'deny'],
  ['0300000000', 'originator'],
])('the buffer 0x%s has zero conditions and mode %s', (hex, mode) => {
  expect<unknown>(decode(hex)).toEqual({ mode, postConditions: [] });
});

test('bytes after the last condition are ignored', () => {
  expect(decode(`0200000001${'040130'}ffff`).postConditions).toHaveLength(1);
});

test('an unknown mode is returned as unknown', () => {
  expect<unknown>(decode('0400000000')).toEqual({ mode: 'unknown', postConditions: [] });
  expect<unknown>(decode('00')).toEqual({ mode: 'unknown', postConditions: [] });
});

test.each([
  ['a count of 2^32 - 1', '04ffffffff0401', [], 'ffffffff0401'],
  ['a cut condition', '0400000002040130', [{ type: 'pox', condition_code: 'not_performed', principal: origin }], ''],
  ['an address of version 32', '0400000001040220', [], '040220'],
])('after an unknown mode, %s is returned as an unknown condition', (_, hex, conditions, rest) => {
  expect<unknown>(decode(hex)).toEqual({
    mode: 'unknown',
    postConditions: [...conditions, { type: 'unknown', hex: `0x${rest}` }],
  });
});

test.each([
  ['an unknown kind', '050130'],
  ['an unknown principal', '040430'],
  ['a Clarity prefix for a principal', `0405${address}30`],
  ['a non-fungible code on an amount', `000110${five}`],
  ['an amount code on a non-fungible', `0201${asset}0301`],
  ['a pox code on an amount', `000130${five}`],
  ['an amount code on pox', '040101'],
  ['a value that is none', `0201${asset}0f10`],
])('from %s on, the remaining bytes are one unknown condition', (_, hex) => {
  const { postConditions } = decode(`0200000003${'040130'}${hex}${'040130'}`);
  expect<unknown>(postConditions).toEqual([
    { type: 'pox', condition_code: 'not_performed', principal: origin },
    { type: 'unknown', hex: `0x${hex}040130` },
  ]);
});

test.each([
  ['an address of version 32', `0200000001040220${hash160}30`],
  ['a cut amount', '0200000001000101000000'],
  ['fewer conditions than announced', '0200000002040130'],
  ['a count of 2^32 - 1', '02ffffffff040130'],
])('%s is rejected', (_, hex) => {
  expect(decodePostConditions(fromHex(hex)).ok).toBe(false);
});
