// Generators of Clarity values and transactions, made with stacks.js: an implementation independent of the one tested.
import {
  Cl,
  type PostCondition as LibraryPostCondition,
  type ClarityValue as LibraryValue,
  serializeCVBytes,
} from '@stacks/transactions';
import fc from 'fast-check';
import { stacksAddress } from '../../src/codec/address.ts';
import { character } from '../support/property.ts';

/** A value of the library and its expected text, composed from the rules of the text form. */
export interface ValueCase {
  value: LibraryValue;
  repr: string;
  type: string;
}

export const bytesOf = ({ value }: ValueCase): Uint8Array => serializeCVBytes(value);

const hash160 = () => fc.uint8Array({ minLength: 20, maxLength: 20 });

/** An address with one of the four versions of a network. */
export const address = () =>
  fc.tuple(fc.constantFrom(20, 21, 22, 26), hash160()).map(([version, hash]) => stacksAddress(version, hash));

export const contractName = () =>
  fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/).map((name) => (name.endsWith('-') ? `${name}0` : name));

export const u64 = () => fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

const escapes: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', "'": "\\'", '"': '\\"', '\\': '\\\\' };

const escapeByte = (byte: number): string => {
  const character = String.fromCharCode(byte);
  if (character in escapes) return escapes[character]!;
  return byte >= 0x20 && byte <= 0x7e ? character : `\\x${byte.toString(16).padStart(2, '0')}`;
};

const escapeCodePoint = (character: string): string => {
  const utf8 = Buffer.from(character);
  return utf8.length === 1 ? escapeByte(utf8[0]!) : `\\u{${utf8.toString('hex')}}`;
};

const leaf = (): fc.Arbitrary<ValueCase> =>
  fc.oneof(
    fc
      .bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n })
      .map((n) => ({ value: Cl.int(n), repr: `${n}`, type: 'int' })),
    fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map((n) => ({ value: Cl.uint(n), repr: `u${n}`, type: 'uint' })),
    fc.nat().map((n) => ({ value: Cl.uint(n), repr: `u${n}`, type: 'uint' })),
    fc.boolean().map((b) => ({ value: Cl.bool(b), repr: `${b}`, type: 'bool' })),
    fc.constant({ value: Cl.none(), repr: 'none', type: '(optional UnknownType)' }),
    fc
      .uint8Array({ maxLength: 40 })
      .map((bytes) => ({
        value: Cl.buffer(bytes),
        repr: `0x${Buffer.from(bytes).toString('hex')}`,
        type: `(buff ${bytes.length})`,
      })),
    address().map((text) => ({ value: Cl.principal(text), repr: `'${text}`, type: 'principal' })),
    fc
      .tuple(address(), contractName())
      .map(([text, name]) => ({
        value: Cl.contractPrincipal(text, name),
        repr: `'${text}.${name}`,
        type: 'principal',
      })),
    fc
      .array(fc.nat({ max: 127 }), { maxLength: 30 })
      .map((codes) => ({
        value: Cl.stringAscii(String.fromCharCode(...codes)),
        repr: `"${codes.map(escapeByte).join('')}"`,
        type: `(string-ascii ${codes.length})`,
      })),
    fc
      .string({ unit: character, maxLength: 20 })
      .map((text) => ({
        value: Cl.stringUtf8(text),
        repr: `u"${[...text].map(escapeCodePoint).join('')}"`,
        type: `(string-utf8 ${4 * [...text].length})`,
      })),
  );

const listOf = (items: ValueCase[]): ValueCase => ({
  value: Cl.list(items.map(({ value }) => value)),
  repr: `(list${items.map(({ repr }) => ` ${repr}`).join('')})`,
  type: `(list ${items.length} ${items[0]?.type ?? 'UnknownType'})`,
});

const tupleOf = (entries: [string, ValueCase][]): ValueCase => {
  const sorted = entries.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return {
    value: Cl.tuple(Object.fromEntries(entries.map(([key, { value }]) => [key, value]))),
    repr: `(tuple${sorted.map(([key, { repr }]) => ` (${key} ${repr})`).join('')})`,
    type: `(tuple${sorted.map(([key, { type }]) => ` (${key} ${type})`).join('')})`,
  };
};

const wrap = (inner: ValueCase, how: 'some' | 'ok' | 'err'): ValueCase => {
  const repr = `(${how} ${inner.repr})`;
  if (how === 'some') return { value: Cl.some(inner.value), repr, type: `(optional ${inner.type})` };
  if (how === 'ok') return { value: Cl.ok(inner.value), repr, type: `(response ${inner.type} UnknownType)` };
  return { value: Cl.error(inner.value), repr, type: `(response UnknownType ${inner.type})` };
};

/** Any Clarity value, nested a few levels. */
export const clarityValue = (): fc.Arbitrary<ValueCase> =>
  fc.letrec<{ any: ValueCase }>((tie) => ({
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf(),
      fc
        .tuple(tie('any'), fc.constantFrom('some' as const, 'ok' as const, 'err' as const))
        .map(([v, how]) => wrap(v, how)),
      fc.array(tie('any'), { maxLength: 4 }).map(listOf),
      fc
        .uniqueArray(fc.tuple(fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9?!-]{0,12}$/), tie('any')), {
          maxLength: 4,
          selector: ([key]) => key,
        })
        .map(tupleOf),
    ),
  })).any;

const comparators = ['eq', 'gt', 'gte', 'lt', 'lte'] as const;
const amountCodes = {
  eq: 'sent_equal_to',
  gt: 'sent_greater_than',
  gte: 'sent_greater_than_or_equal_to',
  lt: 'sent_less_than',
  lte: 'sent_less_than_or_equal_to',
} as const;
const nonFungibleCodes = { sent: 'sent', 'not-sent': 'not_sent', 'maybe-sent': 'maybe_sent' } as const;
const poxCodes = {
  'will-not-perform': 'not_performed',
  'may-perform': 'maybe_performed',
  'will-perform': 'performed',
} as const;

/** A post-condition of the library and the object the API must show for it. */
export interface PostConditionCase {
  condition: LibraryPostCondition;
  expected: unknown;
}

const principalCase = () =>
  fc.oneof(
    fc.constant({ text: 'origin', expected: { type_id: 'principal_origin' } }),
    address().map((text) => ({ text, expected: { type_id: 'principal_standard', address: text } })),
    fc
      .tuple(address(), contractName())
      .map(([text, name]) => ({
        text: `${text}.${name}`,
        expected: { type_id: 'principal_contract', contract_name: name, address: text },
      })),
  );

const assetCase = () =>
  fc
    .tuple(address(), contractName(), contractName())
    .map(([owner, contract, asset]) => ({
      text: `${owner}.${contract}::${asset}` as const,
      expected: { contract_name: contract, asset_name: asset, contract_address: owner },
    }));

/** Any post-condition of the five kinds. */
export const postCondition = (): fc.Arbitrary<PostConditionCase> =>
  fc.oneof(
    fc
      .tuple(
        fc.constantFrom('stx' as const, 'staking' as const),
        principalCase(),
        fc.constantFrom(...comparators),
        u64(),
      )
      .map(([type, principal, condition, amount]) => ({
        condition: { type: `${type}-postcondition` as const, address: principal.text, condition, amount },
        expected: { type, condition_code: amountCodes[condition], amount: `${amount}`, principal: principal.expected },
      })),
    fc
      .tuple(principalCase(), assetCase(), fc.constantFrom(...comparators), u64())
      .map(([principal, asset, condition, amount]) => ({
        condition: { type: 'ft-postcondition' as const, address: principal.text, condition, asset: asset.text, amount },
        expected: {
          type: 'fungible',
          condition_code: amountCodes[condition],
          amount: `${amount}`,
          principal: principal.expected,
          asset: asset.expected,
        },
      })),
    fc
      .tuple(principalCase(), assetCase(), fc.constantFrom('sent', 'not-sent', 'maybe-sent'), clarityValue())
      .map(([principal, asset, condition, id]) => ({
        condition: {
          type: 'nft-postcondition' as const,
          address: principal.text,
          condition,
          asset: asset.text,
          assetId: id.value,
        },
        expected: {
          type: 'non_fungible',
          condition_code: nonFungibleCodes[condition],
          principal: principal.expected,
          asset: asset.expected,
          asset_value: { hex: `0x${Buffer.from(bytesOf(id)).toString('hex')}`, repr: id.repr },
        },
      })),
    fc
      .tuple(principalCase(), fc.constantFrom('will-not-perform', 'may-perform', 'will-perform'))
      .map(([principal, condition]) => ({
        condition: { type: 'pox-postcondition' as const, address: principal.text, condition },
        expected: { type: 'pox', condition_code: poxCodes[condition], principal: principal.expected },
      })),
  );
