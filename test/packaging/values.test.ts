/** Literals that `stackside/test` makes for arguments. */
import { expect, test } from 'bun:test';
import { cl } from '../../src/testing/values.ts';

const ADDRESS = 'ST1SJ3DTE5DN7X54YDH5D64R3BCB6A2AG2ZQ8YPD5';

test('makes literals of values in the range of their types', () => {
  expect([cl.uint(0), cl.uint(2n ** 128n - 1n), cl.int(-5), cl.int(-(2n ** 127n))]).toEqual([
    'u0',
    `u${2n ** 128n - 1n}`,
    '-5',
    `${-(2n ** 127n)}`,
  ]);
  expect([cl.principal(ADDRESS), cl.principal(`${ADDRESS}.shop`)]).toEqual([`'${ADDRESS}`, `'${ADDRESS}.shop`]);
  expect([cl.buffer(''), cl.buffer('0x01ff'), cl.buffer('01ff'), cl.buffer(Uint8Array.of(1))]).toEqual([
    ...(['0x', '0x01ff', '0x01ff', '0x01'] as const),
  ]);
  expect([cl.ascii('a "b"\n'), cl.utf8('ü')]).toEqual(['"a \\"b\\"\\n"', 'u"ü"']);
});

test.each([
  [() => cl.uint(2 ** 60), RangeError, 'from 2^53 on, numbers are rounded. Write a bigint, such as 5n.'],
  [() => cl.int(1.5), RangeError, "cl.int can't take the number 1.5."],
  [() => cl.uint(-1), RangeError, `cl.uint takes 0 to ${2n ** 128n - 1n}, not -1.`],
  [() => cl.uint(2n ** 128n), RangeError, `not ${2n ** 128n}.`],
  [() => cl.int(2n ** 127n), RangeError, `not ${2n ** 127n}.`],
  [() => cl.ascii('ü'), TypeError, 'cl.ascii takes ASCII characters, not "ü".'],
  [() => cl.principal('ST1'), TypeError, 'cl.principal takes an address or a contract identifier, not "ST1".'],
  [() => cl.principal('wallet_1'), TypeError, 'not "wallet_1".'],
  [() => cl.buffer('0x1'), TypeError, 'cl.buffer takes whole bytes in hex, not "0x1".'],
] as const)("refuses a value that its type can't have: %p", (make, type, message) => {
  expect(make).toThrow(type);
  expect(make).toThrow(message);
});
