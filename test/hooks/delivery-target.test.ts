/** The guard of receivers: the addresses that deliveries may go to. */
import { describe, expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { attempt } from '../../src/hooks/delivery/attempt.ts';
import { type Address, allowedNetworks, send, systemResolve, targetGuard } from '../../src/http/outgoing.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { receiver } from './server.ts';

const dns =
  (...addresses: string[]) =>
  async (): Promise<Address[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const none = { allowed: [], plainHttp: false };
const refusal = async (
  url: string,
  rules = none as Parameters<typeof targetGuard>[0],
  resolve = dns('93.184.216.34'),
) => {
  try {
    await targetGuard(rules, resolve).check(url);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

test("the system's resolver reports IPv4 and IPv6 addresses with their family", async () => {
  expect(await systemResolve('127.0.0.1')).toEqual([{ address: '127.0.0.1', family: 4 }]);
  expect(await systemResolve('::1')).toEqual([{ address: '::1', family: 6 }]);
});

describe('rejects', () => {
  test.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.0.1', '169.254.169.254', '100.64.0.1'],
    ...['0.0.0.0', '224.0.0.1', '255.255.255.255', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '::1'],
    ...['::', 'fe80::1', 'fc00::1', 'fd12:3456::1', 'ff02::1', '2001:db8::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
    ...['::ffff:a00:1', '64:ff9b::a00:1', '64:ff9b::169.254.169.254', '2002:7f00:1::', '::127.0.0.1', '::8.8.8.8'],
    ...['::ffff:0:127.0.0.1', '::ffff:0:7f00:1', '64:ff9b::127.0.0.1', '64:ff9b:1::127.0.0.1', '64:ff9b:1:a00:1::'],
    ...['2001:0:7f00:1::1', '2001::1', '2002:a00:1::', '168.63.129.16', '192.0.0.192', '198.19.255.255'],
    ...['239.255.255.255', '240.0.0.1', 'fec0::1', 'ff0e::1', '4000::1', '1::1', '2002:808:808::', '2001:0:808:808::1'],
  ])('the address %s', async (address) => {
    expect(await refusal('https://example.org/', none, dns(address))).toContain('is not public');
    // One that is not public is enough.
    expect(await refusal('https://example.org/', none, dns('93.184.216.34', address))).toContain('is not public');
    expect(await refusal(`https://${address.includes(':') ? `[${address}]` : address}/`)).toContain('is not public');
  });
  test('a name without its private address', async () => {
    expect(await refusal('https://intranet.example.org/', none, dns('93.184.216.34', '10.1.2.3'))).toBe(
      'its host intranet.example.org has an address that is not public (private)',
    );
  });
  test.each([
    ...['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '127.0.0.1.', '127.0.0.1..', '①②⑦.0.0.1', '127。0。0。1'],
    ...['[::ffff:127.0.0.1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]', 'localhost', 'LOCALHOST.', 'hook.localhost..'],
    ...['metadata.google.internal', 'metadata.google.internal.', 'printer.local.', 'router.home.arpa'],
  ])('https://%s/', async (host) => {
    expect(await refusal(`https://${host}/`)).toContain('is not public');
  });
  test('a local name that resolves to a public address, even if other networks are allowed', async () => {
    const rules = { allowed: allowedNetworks('10.0.0.0/8')!, plainHttp: false };
    expect(await refusal('https://localhost./', rules)).toContain('is not public');
    expect(await refusal('https://localhost.example.org./', rules)).toBeNull();
  });
  test.each(['fe80::1%eth0', '2606:2800:220:1::1%eth0', '0127.0.0.1', 'example.org', ''])(
    'resolver answers that are not an IP address: %p',
    async (address) => {
      expect(await refusal('https://example.org/', none, dns(address))).toContain('not an IP address');
    },
  );
  test('plain HTTP, other schemes, and URLs with a user', async () => {
    expect(await refusal('http://example.org/')).toContain('https://');
    expect(await refusal('file:///etc/passwd')).toContain('https://');
    expect(await refusal('https://user@example.org/')).toContain('user');
  });

  test('plain HTTP to a host that cannot be resolved, unless it is allowed to some address', async () => {
    const unresolved = () => Promise.reject(new Error('ENOTFOUND'));
    expect(await refusal('http://example.org/', none, unresolved)).toBe('it must begin with https://');
    expect(await refusal('http://example.org/', { ...none, plainHttp: true }, unresolved)).toBe('ENOTFOUND');
    expect(await refusal('http://example.org/', { ...none, allowed: allowedNetworks('private')! }, unresolved)).toBe(
      'ENOTFOUND',
    );
    expect(await refusal('https://example.org/', none, unresolved)).toBe('ENOTFOUND');
  });
});

describe('allows', () => {
  test('public addresses', async () => {
    expect(await refusal('https://example.org/')).toBeNull();
    expect(
      await refusal(
        'https://example.org/',
        none,
        dns('2606:2800:220:1::1', '172.32.0.1', '2a00:1450:4001::8a', '2400:cb00::1'),
      ),
    ).toBeNull();
    expect(await refusal('http://example.org/', { allowed: [], plainHttp: true })).toBeNull();
  });
  test("the operator's networks, even without TLS", async () => {
    const allowed = allowedNetworks('10.0.0.0/8, 127.0.0.1,::1')!;
    const rules = { allowed, plainHttp: false };
    for (const address of ['10.9.9.9', '127.0.0.1', '::1', '::ffff:10.1.1.1']) {
      expect(await refusal('http://hook.internal/', rules, dns(address))).toBeNull();
    }
    expect(await refusal('http://hook.internal/', rules, dns('127.0.0.2'))).toContain('is not public');
    expect(await refusal('http://example.org/', rules, dns('10.1.1.1', '93.184.216.34'))).toContain('https://');
  });
  test('a rejection names the setting that would allow the address', async () => {
    const settings = { allowed: '--hook-targets', plainHttp: '--hook-http' };
    const rules = { allowed: [], plainHttp: false, settings };
    expect(await refusal('https://hook.example/', rules, dns('10.1.1.1'))).toContain('(private; see --hook-targets)');
    expect(await refusal('https://localhost/', rules, dns('127.0.0.1'))).toContain('(see --hook-targets)');
    expect(await refusal('http://example.org/', rules, dns('93.184.216.34'))).toContain('(see --hook-http)');
  });
  test('addresses rejected as loopback or private are allowed by these words', async () => {
    const refused = '127.0.0.1 127.9.9.9 ::1 10.1.1.1 172.16.0.1 192.168.1.1 fd00::1 169.254.1.1'.split(' ');
    for (const name of ['loopback', 'private']) {
      const guard = targetGuard({ allowed: allowedNetworks(`${name.toUpperCase()}, 8.8.8.8`)!, plainHttp: false });
      for (const address of refused) {
        const url = `http://${address.includes(':') ? `[${address}]` : address}/`;
        const without = await refusal(url, { allowed: [], plainHttp: false }, dns(address));
        const passes = await guard.check(url).then(
          () => true,
          () => false,
        );
        expect({ address, passes }).toEqual({ address, passes: without?.includes(`(${name})`) ?? false });
      }
    }
  });

  test('a list of networks is parsed, or rejected as a whole', () => {
    expect(allowedNetworks('')).toEqual([]);
    expect(allowedNetworks('10.0.0.0/8, fd00::/8,')).toEqual([
      { bytes: Uint8Array.of(10, 0, 0, 0), bits: 8 },
      { bytes: Uint8Array.of(0xfd, ...new Array<number>(15).fill(0)), bits: 8 },
    ]);
    const invalid = ['10.0.0.0/33', 'example.org', 'link-local', 'loopback/8', '10.0.0.0/x', '::1/129'];
    for (const text of [...invalid, '010.0.0.0/8', '10.0.0.0/8/8']) expect(allowedNetworks(text)).toBeNull();
  });
});

const sending = (url: string) => ({
  url,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{}'),
  timeoutMs: 60_000,
  connectTimeoutMs: 60_000,
  signal: new AbortController().signal,
});

test('a delivery connects to the address that was checked, with the host name of the URL', async () => {
  using target = receiver();
  const { port } = new URL(target.url);
  let lookups = 0;
  const guard = targetGuard({ allowed: allowedNetworks('127.0.0.1')!, plainHttp: false }, async () => {
    lookups += 1;
    // From the second time on the name stands for something else.
    return [{ address: lookups === 1 ? '127.0.0.1' : '192.168.0.1', family: 4 }];
  });
  const first = await attempt(sending(`http://rebound.example:${port}/hook`), { guard, clock: systemClock, send });
  expect([first.statusCode, lookups]).toEqual([200, 1]);
  expect(target.received[0]?.headers.host).toBe(`rebound.example:${port}`);
  const second = await attempt(sending(`http://rebound.example:${port}/hook`), { guard, clock: systemClock, send });
  expect(second).toMatchObject({ statusCode: null, blocked: true, error: expect.stringContaining('(private)') });
  expect(target.received).toHaveLength(1);
});

test('redirects are not followed', async () => {
  using target = receiver();
  target.answer = () => new Response('', { status: 307, headers: { location: 'http://169.254.169.254/' } });
  const guard = targetGuard({ allowed: allowedNetworks('127.0.0.1')!, plainHttp: false });
  const result = await attempt(sending(target.url), { guard, clock: systemClock, send });
  expect([result.statusCode, target.received.length]).toEqual([307, 1]);
});

test("an unknown host name fails with the resolver's error", async () => {
  const guard = targetGuard(none, async () => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND nowhere.example'), { code: 'ENOTFOUND' });
  });
  expect(await attempt(sending('https://nowhere.example/'), { guard, clock: systemClock, send })).toMatchObject({
    statusCode: null,
    blocked: false,
    error: 'getaddrinfo ENOTFOUND nowhere.example',
  });
});

test('connecting has a shorter timeout than the answer', async () => {
  const guard = targetGuard({ allowed: allowedNetworks('127.0.0.1')!, plainHttp: false });
  const connectTimeoutMs = 200;
  using target = receiver();
  const clock = heldClock([connectTimeoutMs]);
  // The time is over before the event loop can hear of the connection.
  const after: Clock['after'] = (milliseconds, call) => {
    queueMicrotask(() => clock.pass(connectTimeoutMs));
    return clock.after(milliseconds, call);
  };
  const unconnected = await attempt(
    { ...sending(target.url), connectTimeoutMs },
    { guard, clock: { ...clock, after }, send },
  );
  expect(unconnected).toMatchObject({ statusCode: null, error: 'no connection within 0.2 s' });
  target.answer = () => {
    // A connected receiver has the whole time of the attempt.
    expect(clock.waiting(connectTimeoutMs)).toBe(0);
    return new Response('');
  };
  const answered = await attempt({ ...sending(target.url), connectTimeoutMs }, { guard, clock, send });
  expect(answered).toMatchObject({ statusCode: 200, error: null });
});
