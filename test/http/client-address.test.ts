/** The address of a client comes from its connection or from trusted proxies, never from headers that the client invents. */
import { expect, test } from 'bun:test';
import { addressGroup, clientBehind, parseNetworks } from '../../src/http/hosts.ts';

const trusted = parseNetworks('127.0.0.1, 10.0.0.0/8,2001:db8::/32')!;
const none = new Headers();
const via = (text: string): Headers => new Headers({ 'x-forwarded-for': text });

test("only trusted proxies can name a client, which is the last address that isn't a trusted proxy", () => {
  const clientOf = clientBehind(trusted);
  for (const [peer, headers, client] of [
    ['203.0.113.7', none, '203.0.113.7'],
    ['203.0.113.7', via('198.51.100.1'), '203.0.113.7'],
    ['127.0.0.1', none, '127.0.0.1'],
    ['127.0.0.1', via('198.51.100.1'), '198.51.100.1'],
    ['::ffff:127.0.0.1', via('198.51.100.1'), '198.51.100.1'],
    // The address that the client sent comes first.
    ['127.0.0.1', via('192.0.2.66, 198.51.100.1'), '198.51.100.1'],
    ['127.0.0.1', via('192.0.2.66, 198.51.100.1, 10.1.2.3'), '198.51.100.1'],
    ['127.0.0.1', via('10.9.9.9, 10.1.2.3'), '10.9.9.9'],
    ['2001:db8::1', via('2001:db9::7'), '2001:db9::7'],
    ['127.0.0.1', via('nonsense'), '127.0.0.1'],
    ['127.0.0.1', via('198.51.100.1, , 10.1.2.3'), '10.1.2.3'],
    ['', via('198.51.100.1'), ''],
  ] as const) {
    const forwarded = headers.get('x-forwarded-for');
    expect([peer, forwarded, clientOf(peer, headers)]).toEqual([peer, forwarded, client]);
  }
});

test('reports an untrusted proxy, but not a client without a proxy', () => {
  const reported: string[] = [];
  const clientOf = clientBehind(trusted, (peer) => reported.push(peer));
  clientOf('203.0.113.7', none);
  clientOf('127.0.0.1', via('198.51.100.1'));
  clientOf('127.0.0.1', via('nonsense'));
  expect(reported).toEqual([]);
  clientOf('203.0.113.7', via('198.51.100.1'));
  expect(reported).toEqual(['203.0.113.7']);
});

test('an IPv6 /64 network counts as one client', () => {
  expect(addressGroup('2001:db8:1:2::1')).toBe(addressGroup('2001:db8:1:2:ffff::9'));
  expect(addressGroup('2001:db8:1:2::1')).not.toBe(addressGroup('2001:db8:1:3::1'));
  expect(addressGroup('192.0.2.1')).toBe(addressGroup('::ffff:192.0.2.1'));
  expect(addressGroup('192.0.2.1')).not.toBe(addressGroup('192.0.2.2'));
  expect(addressGroup('')).toBe('');
});
