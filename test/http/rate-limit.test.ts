/** Rate limits: the requests that a client may send in any minute, regardless of other clients and of its number of addresses. */
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { ApiError } from '../../src/http/errors.ts';
import {
  MAX_PER_MINUTE,
  type RateLimiterOptions,
  RateTable,
  rateLimiter,
  readKeysIn,
  readKeysOf,
} from '../../src/http/rate-limit.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { assertProperty } from '../support/property.ts';

const BEGAN = Date.parse('2026-01-01');

function table() {
  const time = { now: BEGAN };
  return { time, table: new RateTable(RateTable.memory(BEGAN), () => time.now) };
}

test('a client may use its whole minute at once, then one request at a time', () => {
  const { time, table: counts } = table();
  const client = { id: 'a', network: 'a', perMinute: 60 };
  for (let n = 1; n <= 60; n++) {
    expect(counts.charge(client, 1)).toMatchObject({ isAllowed: true, remaining: 60 - n, reset: n });
  }
  expect(counts.charge(client, 1)).toEqual({ isAllowed: false, perMinute: 60, remaining: 0, reset: 60, retryAfter: 1 });
  expect(counts.charge({ ...client, id: 'b' }, 1).isAllowed).toBe(true);
  time.now += 999;
  expect(counts.charge(client, 1).isAllowed).toBe(false);
  time.now += 1;
  expect(counts.charge(client, 1).isAllowed).toBe(true);
  time.now += 60_000;
  expect(counts.charge(client, 1)).toMatchObject({ isAllowed: true, remaining: 59 });
});

test('the largest limit is exact to a thousandth', () => {
  const { table: counts } = table();
  const client = { id: 'a', network: 'a', perMinute: MAX_PER_MINUTE };
  let allowed = 0;
  while (counts.charge(client, 1).isAllowed) allowed++;
  expect(allowed).toBeWithin(MAX_PER_MINUTE * 0.999, MAX_PER_MINUTE + 1);
});

test('an expensive request counts as several, and waits until all of its cost is available', () => {
  const { time, table: counts } = table();
  const client = { id: 'a', network: 'a', perMinute: 30 };
  expect(counts.charge(client, 10)).toMatchObject({ isAllowed: true, remaining: 20 });
  expect(counts.charge(client, 21)).toMatchObject({ isAllowed: false, remaining: 20, retryAfter: 2 });
  expect(counts.charge(client, 100)).toMatchObject({ isAllowed: false, retryAfter: 20 });
  time.now += 20_000;
  expect(counts.charge(client, 100)).toMatchObject({ isAllowed: true, remaining: 0 });
});

test('no minute has more than twice the limit, and a client within the limit is never rejected', () => {
  const steps = fc.array(fc.record({ after: fc.nat(20_000), cost: fc.integer({ min: 1, max: 5 }) }), { maxLength: 60 });
  assertProperty(
    fc.property(fc.integer({ min: 5, max: 200 }), steps, (perMinute, requests) => {
      const { time, table: counts } = table();
      const allowed: { at: number; cost: number }[] = [];
      let used = 0;
      for (const { after, cost } of requests) {
        time.now += after;
        used = Math.max(0, used - (after * perMinute) / 60_000);
        const quota = counts.charge({ id: 'one', network: 'one', perMinute }, cost);
        // Shares are whole 1024ths of a millisecond.
        if (used + cost <= perMinute * 0.999) expect(quota.isAllowed).toBe(true);
        if (used + cost > perMinute * 1.001) expect(quota.isAllowed).toBe(false);
        if (!quota.isAllowed) continue;
        used += cost;
        allowed.push({ at: time.now, cost });
      }
      for (const { at } of allowed) {
        const inMinute = allowed.filter((item) => item.at >= at && item.at < at + 60_000);
        expect(inMinute.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(2 * perMinute);
      }
    }),
    { always: 'a client is counted' },
  );
});

test('a network with more addresses than slots is limited, and clients of other networks are not', () => {
  const { time, table: counts } = table();
  const isAllowed = (id: number, network: string): boolean =>
    counts.charge({ id: `${network} ${id}`, network, perMinute: 1 }, 1).isAllowed;
  let allowed = 0;
  // Each request takes the whole minute of another address.
  for (let n = 0; n < 300_000; n++) allowed += Number(isAllowed(n, 'one'));
  expect(allowed).toBeWithin(100_000, 140_000);
  const later = Array.from({ length: 100 }, (_, n) => 300_000 + n);
  // The seed of the table decides which addresses and networks share a slot.
  expect(later.filter((n) => isAllowed(n, 'one')).length).toBeLessThan(10);
  expect(later.filter((n) => isAllowed(n, `other ${n}`)).length).toBeGreaterThan(90);
  time.now += 60_000;
  expect(later.filter((n) => isAllowed(n, 'one'))).toEqual(later);
});

test('a client in a full table keeps its count', () => {
  const { table: counts } = table();
  const client = { id: 'first', network: 'a', perMinute: 2 };
  counts.charge(client, 2);
  for (let n = 0; n < 300_000; n++) counts.charge({ id: `address ${n}`, network: 'b', perMinute: 1 }, 1);
  expect(counts.charge(client, 1).isAllowed).toBe(false);
});

test('a thousand clients are counted separately', () => {
  const { table: counts } = table();
  const charge = (n: number) => counts.charge({ id: `key ${n}`, network: `key ${n}`, perMinute: 5 }, 1);
  for (let round = 1; round <= 5; round++) {
    for (let n = 0; n < 1_000; n++) {
      expect(charge(n)).toMatchObject({ isAllowed: true, remaining: 5 - round });
    }
  }
  for (let n = 0; n < 1_000; n++) expect(charge(n).isAllowed).toBe(false);
});

test('threads share the counts, and setting the clock back clears them', () => {
  const memory = RateTable.memory(BEGAN);
  const time = { now: BEGAN };
  const [first, second] = [new RateTable(memory, () => time.now), new RateTable(memory, () => time.now)];
  const client = { id: 'a', network: 'a', perMinute: 2 };
  expect([first, second, first].map((counts) => counts.charge(client, 1).isAllowed)).toEqual([true, true, false]);
  time.now -= 3_600_000;
  expect(second.charge(client, 1).isAllowed).toBe(true);
});

const KEYS = readKeysIn(
  '# readers\nalice first-key-of-alice 5\nbob sha256:' +
    new Bun.CryptoHasher('sha256').update('key-of-bob').digest('hex'),
  'keys',
);

function limiter(options: Partial<RateLimiterOptions> = {}) {
  const counted: [string | null, boolean][] = [];
  const metrics = { counted: (key: string | null, isAllowed: boolean) => void counted.push([key, isAllowed]) };
  return { counted, limiter: rateLimiter({ perMinute: 2, keys: KEYS, table: table().table, metrics, ...options }) };
}
const key = (text: string) => new Headers({ 'x-api-key': text });

test('addresses and keys have separate limits, and an unknown key is ignored', () => {
  const { limiter: limits, counted } = limiter();
  const ask = (headers: Headers, address = '192.0.2.1') => {
    try {
      return limits.charge(limits.clientOf(headers, address), 1);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error;
    }
  };
  expect(ask(new Headers())).toEqual({ 'ratelimit-policy': '"address";q=2;w=60', ratelimit: '"address";r=1;t=30' });
  expect(ask(key('wrong'))).toMatchObject({ ratelimit: '"address";r=0;t=60' });
  expect(ask(new Headers())).toMatchObject({ status: 429, headers: { 'retry-after': '30' } });
  expect(ask(new Headers(), '192.0.2.2')).toMatchObject({ ratelimit: '"address";r=1;t=30' });
  for (let left = 4; left >= 0; left--) {
    expect(ask(key('first-key-of-alice'))).toMatchObject({ 'ratelimit-policy': '"key";q=5;w=60' });
  }
  expect(ask(new Headers({ authorization: 'Bearer first-key-of-alice' }))).toMatchObject({ status: 429 });
  expect(ask(key('key-of-bob'))).toMatchObject({ 'ratelimit-policy': '"key";q=2;w=60' });
  expect(counted.filter(([name, isAllowed]) => name === 'alice' && !isAllowed)).toHaveLength(1);
});

test('an IPv6 address counts with its /64, and networks are an IPv6 /32 or an IPv4 /16', () => {
  const { limiter: limits } = limiter();
  const keysOf = (address: string) => {
    const { id, network } = limits.clientOf(new Headers(), address);
    return [id, network];
  };
  expect(keysOf('2001:db8:1:2:3::4')).toEqual(['address 20010db800010002', '20010db8']);
  expect(keysOf('192.0.2.1')).toEqual(['address c0000201', 'c000']);
  expect(keysOf('::ffff:192.0.2.1')).toEqual(['address c0000201', 'c000']);
});

test('with a limit of 0 for addresses, only requests with a key are answered', () => {
  const { limiter: limits } = limiter({ perMinute: 0 });
  expect(() => limits.clientOf(new Headers(), '192.0.2.1')).toThrow(ApiError);
  expect(() => limits.clientOf(key('wrong'), '192.0.2.1')).toThrow('with a read key');
  expect(limits.charge(limits.clientOf(key('key-of-bob'), ''), 1)).toBeNull();
  expect(limits.charge(limits.clientOf(key('first-key-of-alice'), ''), 1)).toMatchObject({
    ratelimit: '"key";r=4;t=12',
  });
});

test('a key file with the same key twice is rejected with both lines', () => {
  const digest = new Bun.CryptoHasher('sha256').update('key-of-bob').digest('hex');
  for (const second of ['carol key-of-bob', 'bob key-of-bob 7', `carol sha256:${digest}`]) {
    expect(() => readKeysIn(`bob key-of-bob\n\n${second}`, 'keys')).toThrow(
      'Line 3 of keys has the same key as line 1.',
    );
  }
  expect(readKeysIn('bob key-of-bob\nbob next-key-of-bob', 'keys')).toHaveLength(2);
});

test('a missing file or a file without a key is rejected if only keys may read', () => {
  using directory = dataDirectory();
  const file = join(directory.path, 'keys');
  writeFileSync(file, '# alice first-key-of-alice\n');
  expect(readKeysOf(file, 600)).toEqual([]);
  expect(readKeysOf(file, null)).toEqual([]);
  expect(() => readKeysOf(file, 0)).toThrow(`${file} has no keys, and --rate-limit 0 requires one.`);
  expect(readKeysOf(null, 600)).toEqual([]);
  expect(() => readKeysOf(null, 0)).toThrow('--rate-limit 0 requires read keys.');
});

test('a key file is read, or rejected with the line number', () => {
  expect(KEYS.map(({ name, perMinute }) => [name, perMinute])).toEqual([
    ['alice', 5],
    ['bob', null],
  ]);
  for (const text of [
    ...['alice', 'alice short', 'alice a-long-key 0', 'alice a-long-key 9999999', 'alice a-long-key 5 6'],
    'a a-long-key x',
  ]) {
    expect(() => readKeysIn(`# one\n${text}`, 'keys')).toThrow('Line 2 of keys is not a name, a key');
  }
});
