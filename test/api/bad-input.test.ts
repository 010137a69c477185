/** Sends invalid values for every parameter of every route in the OpenAPI document. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isOwnPath } from '../../src/http/parameters.ts';
import { startTour } from '../client/tour.ts';
import { type GetRoute, getRoutes, isOfOperator, type Parameter, type Schema } from '../support/api/random-urls.ts';
import { assertProperty, character } from '../support/property.ts';

const tour = await startTour();
const routes = getRoutes(tour.document).filter((route) => !isOfOperator(route));

/** Valid values for each kind of parameter, which the tour's chain needn't contain. */
const HASH = `0x${'ab'.repeat(32)}`;
const ADDRESS = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';
const examples: Readonly<Record<string, string>> = {
  tx_id: HASH,
  hash: HASH,
  block_hash: HASH,
  burn_block_hash: HASH,
  height_or_hash: '1',
  principal: ADDRESS,
  address: ADDRESS,
  contract_id: `${ADDRESS}.token`,
  asset_identifier: `${ADDRESS}.token::coin`,
  value: `0x01${'00'.repeat(15)}01`,
  network: 'mainnet',
  trait_abi: '{"functions":[]}',
  name: 'nobody.btc',
  tld: 'btc',
  token_id: '1',
  zoneFileHash: 'ab'.repeat(20),
  uuid: '01234567-89ab-cdef-0123-456789abcdef',
  blockchain: 'stacks',
  pox: 'pox4',
  pool_principal: ADDRESS,
  signer_key: `0x${'02'.repeat(33)}`,
  cycle_number: '6',
  burnchain_address: 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss',
  job: '6d1c2f0a-7d55-4b4e-9c61-000000000002',
};

/** Wrong words for parameters that are a word of the path. Any other word makes a different path. */
const wrongWords: Readonly<Record<string, readonly string[]>> = { pox: ['pox1', 'pox5', 'pox!'] };

function exampleOf({ name, schema }: Parameter): string {
  const example = examples[name];
  // A principal that must be a contract.
  if (name === 'principal' && !new RegExp(schema.pattern ?? '').test(example ?? '')) return examples.contract_id!;
  if (example !== undefined) return example;
  if (schema.type === 'integer') return String(Math.max(1, schema.minimum ?? 1));
  return schema.enum?.[0] ?? schema.anyOf?.[0]?.const ?? 'x';
}

/** Invalid values of a parameter, each with the reason. */
function invalidValues({ type, anyOf, items, minimum, maximum, pattern, ...schema }: Schema): string[] {
  if (type === 'array') return items === undefined ? [] : invalidValues(items);
  if (type === 'integer') {
    const below = minimum === undefined ? [] : [String(minimum - 1)];
    const above = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? [] : [String(maximum + 1)];
    return ['x', '', '1.5', ...below, ...above];
  }
  if (type === 'boolean') return ['maybe', ''];
  if (schema.enum !== undefined || anyOf !== undefined || schema.const !== undefined) return ['nonsense!', ''];
  if (pattern !== undefined) return ['!', ''].filter((text) => !new RegExp(pattern).test(text));
  return [];
}

/** The URL of a route with its required parameters and the given values. */
function url({ path, parameters }: GetRoute, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const parameter of parameters) {
    const value = values[parameter.name] ?? exampleOf(parameter);
    if (parameter.in === 'path') filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.required || values[parameter.name] !== undefined) query.set(parameter.name, value);
  }
  return `http://localhost${filled}${query.size === 0 ? '' : `?${query}`}`;
}

const ask = (address: string) => tour.fetch(new Request(address, { redirect: 'manual' }));

test('the OpenAPI document has more than 80 routes to test', () => {
  expect(routes.length).toBeGreaterThan(80);
});

test('rejects an invalid value with 400 and the name of the parameter', async () => {
  for (const route of routes) {
    for (const parameter of route.parameters) {
      for (const value of wrongWords[parameter.name] ?? invalidValues(parameter.schema)) {
        // Nothing between two slashes is another path.
        if (parameter.in === 'path' && value === '') continue;
        const address = url(route, { [parameter.name]: value });
        const response = await ask(address);
        const text = await response.text();
        expect([address, response.status, text.includes(parameter.name)]).toEqual([address, 400, true]);
      }
    }
  }
});

test('rejects a request without a required parameter with 400 and its name', async () => {
  for (const route of routes) {
    for (const { name, required, in: place } of route.parameters) {
      if (!required || place === 'path') continue;
      const address = new URL(url(route, {}));
      address.searchParams.delete(name);
      const response = await ask(address.href);
      const text = await response.text();
      expect([address.href, response.status, text.includes(name)]).toEqual([address.href, 400, true]);
    }
  }
});

/** Older routes that look an address up without its checksum. */
const UNVERIFIED =
  /^\/(metadata|v1)\/|v1\/(contract|faucets)\/|v2\/(smart-contracts|addresses\/{principal}\/transactions)/;

test('rejects an address with a wrong checksum, except for some older routes', async () => {
  let rejected = 0;
  for (const route of routes) {
    for (const parameter of route.parameters.filter((item) => exampleOf(item).startsWith(ADDRESS))) {
      const mistyped = exampleOf(parameter).replace(ADDRESS, `${ADDRESS.slice(0, -1)}0`);
      const response = await ask(url(route, { [parameter.name]: mistyped }));
      const named = /checksum|is not a valid Bitcoin or STX address/.test(await response.text());
      const isRejected = !UNVERIFIED.test(route.path);
      expect([route.path, response.status === 400, named]).toEqual([route.path, isRejected, isRejected]);
      rejected += Number(isRejected);
    }
  }
  expect(rejected).toBeGreaterThan(50);
});

test('rejects a parameter that is given twice with 400 and its name, unless it is a list', async () => {
  for (const route of routes) {
    for (const parameter of route.parameters) {
      if (parameter.in !== 'query' || parameter.schema.type === 'array' || parameter.name.endsWith('.NAME')) continue;
      const { name } = parameter;
      const address = url(route, { [name]: exampleOf(parameter) });
      const response = await ask(`${address}&${new URLSearchParams({ [name]: exampleOf(parameter) })}`);
      const message = `${name} must be given once, not 2 times`;
      expect([address, response.status, await response.text()]).toEqual([
        ...[address, 400, expect.stringContaining(message)],
      ]);
    }
  }
});

test('routes that only Stackside has reject an unknown parameter with 400 and its name, and others ignore it', async () => {
  let ownRoutes = 0;
  for (const route of routes) {
    const address = url(route, {});
    const extra = `${address}${address.includes('?') ? '&' : '?'}nonesuch=1`;
    const [plain, response] = [await ask(address), await ask(extra)];
    const isOwn = isOwnPath(route.path);
    ownRoutes += Number(isOwn);
    const status = isOwn ? 400 : plain.status;
    const named = (await response.text()).includes('nonesuch is not a parameter of this route');
    expect({ extra, status: response.status, named }).toEqual({ extra, status, named: isOwn });
  }
  expect(ownRoutes).toBeGreaterThan(10);
});

describe('for any parameter value', () => {
  const SQL = "'; DROP TABLE blocks";
  const junk = fc.oneof(
    fc.string({ minLength: 1, unit: character }),
    fc.constantFrom('0', '-1', '1e3', '0x', '0x0', '9'.repeat(30), '%00', '..', 'null', '\u0000', SQL),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => `0x${bytes.toHex()}`),
  );

  test('no route returns a server error', async () => {
    for (const route of routes) {
      for (const parameter of route.parameters) {
        await assertProperty(
          fc.asyncProperty(junk, async (value) => {
            // Only dots would make another path.
            fc.pre(parameter.in === 'query' || !/^\.{1,2}$/.test(value));
            const response = await ask(url(route, { [parameter.name]: value }));
            const text = await response.text();
            // Chainhooks are managed by a server that accepts events, unlike this one.
            const elsewhere = response.status === 503 && route.path.startsWith('/chainhooks');
            expect([response.status < 500 || elsewhere, text]).toEqual([true, text]);
          }),
          { always: 'each value is asked for', cases: 3 },
        );
      }
    }
  });
});
