/** Contracts by declared functions, against a plain filter over all contracts. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { implementsTrait } from '../../src/codec/abi.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { orphanQueries } from '../../src/store/queries/blocks/orphans.ts';
import { deploymentQueries } from '../../src/store/queries/contracts/deployments.ts';
import { TooMuchWorkError } from '../../src/store/rows/statement.ts';
import { openApi } from '../support/api/api.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import { chainOf, noEntries } from '../support/data/memory-index.ts';
import { alice, block, deployment, receipt } from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';

const names = ['transfer', 'mint', 'burn', 'rare'];
const types = ['uint128', 'principal', 'bool'];

interface Declared {
  name: string;
  access: string;
  args: { name: string; type: string }[];
  outputs: { type: string };
}

const declare = (name: string, type: string): Declared => ({
  name,
  access: 'public',
  args: [{ name: 'it', type }],
  outputs: { type: 'bool' },
});

/** The functions of each contract, oldest first: all declare one kind of token, and few the rare function. */
const contracts: Declared[][] = Array.from({ length: 60 }, (_, i) =>
  names.flatMap((name, place) => {
    if (name === 'rare') return i % 20 === 0 ? [declare(name, 'bool')] : [];
    return (i + place) % 5 === 0 ? [] : [declare(name, types[i % 3]!)];
  }),
);
const nameOf = (i: number): string => `contract-${String(i).padStart(3, '0')}`;

let open: OpenIngest;
let db: Database;
beforeAll(() => {
  open = openNew();
  const rest = { variables: [], maps: [], fungible_tokens: [], non_fungible_tokens: [] };
  const block1 = block(
    null,
    'one',
    contracts.map((functions, i) =>
      receipt(deployment(alice, i, 100, nameOf(i)), i, { contract_interface: { functions, ...rest } }),
    ),
  );
  open.ingest.receive(block1.event);
  db = new Database(indexPath(open.directory), { readonly: true });
});
afterAll(() => {
  db.close();
  open[Symbol.dispose]();
});

const search = (max?: number) => deploymentQueries(db, orphanQueries(db, chainOf(db), noEntries), max);

const request = fc.record(
  {
    name: fc.constantFrom(...names, 'nobody'),
    args: fc.array(fc.record({ type: fc.constantFrom(...types) }), { maxLength: 1 }),
  },
  { requiredKeys: ['args'] },
);

test('for any trait, the page has all contracts that implement it, or is refused', async () => {
  const seen = new Seen({ whole: 10, refused: 10 });
  await assertProperty(
    fc.asyncProperty(
      fc.array(request, { maxLength: 3 }),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(12),
      fc.constantFrom(1, 5, 30, 1_000),
      async (functions, limit, offset, max) => {
        const expected = contracts
          .flatMap((list, i) =>
            implementsTrait({ functions: list }, functions) ? [`${alice.address}.${nameOf(i)}`] : [],
          )
          .reverse()
          .slice(offset, offset + limit);
        const asking = functions.flatMap(({ name }) => (name === undefined ? [] : [name]));
        const passes = (declared: unknown) => implementsTrait(declared, functions);
        try {
          const matches = search(max).withInterface(asking, passes, limit, offset);
          expect(matches.map(({ contractId }) => contractId)).toEqual(expected);
          seen.add('whole');
        } catch (error) {
          if (!(error instanceof TooMuchWorkError)) throw error;
          expect(max).toBeLessThan(contracts.length);
          seen.add('refused');
        }
      },
    ),
    { seen, cases: 100 },
  );
});

test('a search by trait reads at most as many interfaces as the limit', () => {
  let looked = 0;
  const never = () => {
    looked += 1;
    return false;
  };
  expect(() => search(10).withInterface(['transfer'], never, 1, 0)).toThrow(TooMuchWorkError);
  expect(() => search(10).withInterface([], never, 1, 0)).toThrow(TooMuchWorkError);
  expect(looked).toBe(20);
  // The search reads only the contracts with the rare function, and none that lacks one of the functions.
  looked = 0;
  expect(search(10).withInterface(['transfer', 'rare'], never, 1, 0)).toEqual([]);
  const declares = (list: Declared[], name: string) => list.some((item) => item.name === name);
  const both = contracts.filter((list) => declares(list, 'transfer') && declares(list, 'rare'));
  expect(looked).toBe(both.length);
});

test('a trait of more than 50 functions is rejected with 400', async () => {
  using api = openApi(open.directory);
  const search = (count: number) => {
    const functions = Array.from({ length: count }, () => ({ name: 'mint', args: [] }));
    return api.get(`/extended/v1/contract/by_trait?trait_abi=${encodeURIComponent(JSON.stringify({ functions }))}`);
  };
  expect((await search(50)).status).toBe(200);
  const response = await search(51);
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('at most 50 functions')]);
});
