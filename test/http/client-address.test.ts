/** The address of a client is that of its connection, or the one that trusted proxies name, whatever it invents. */
import { expect, test } from 'bun:test';
import { addressGroup, clientBehind, parseNetworks } from '../../src/http/client-address.ts';

const trusted = parseNetworks('127.0.0.1, 10.0.0.0/8,2001:db8::/32')!;
const none = new Headers();
const by = (text: string): Headers => new Headers({ 'x-forwarded-for': text });

test('only trusted proxies name a client, and the last that is none of them is it', () => {
  const clientOf = clientBehind(trusted);
  for (const [peer, headers, client] of [
    ['203.0.113.7', none, '203.0.113.7'],
    ['203.0.113.7', by('198.51.100.1'), '203.0.113.7'],
    ['127.0.0.1', none, '127.0.0.1'],
    ['127.0.0.1', by('198.51.100.1'), '198.51.100.1'],
    ['::ffff:127.0.0.1', by('198.51.100.1'), '198.51.100.1'],
    // What the client itself sent comes first.
    ['127.0.0.1', by('192.0.2.66, 198.51.100.1'), '198.51.100.1'],
    ['127.0.0.1', by('192.0.2.66, 198.51.100.1, 10.1.2.3'), '198.51.100.1'],
    ['127.0.0.1', by('10.9.9.9, 10.1.2.3'), '10.9.9.9'],
    ['2001:db8::1', by('2001:db9::7'), '2001:db9::7'],
    ['127.0.0.1', by('nonsense'), '127.0.0.1'],
    ['127.0.0.1', by('198.51.100.1, , 10.1.2.3'), '10.1.2.3'],
    ['', by('198.51.100.1'), ''],
  ] as const) {
    expect([peer, headers.get('x-forwarded-for'), clientOf(peer, headers)]).toEqual([
      peer,
      headers.get('x-forwarded-for'),
      client,
    ]);
  }
});

test('a proxy that is not trusted is told, a client without a proxy is not', () => {
  const told: string[] = [];
  const clientOf = clientBehind(trusted, (peer) => told.push(peer));
  clientOf('203.0.113.7', none);
  clientOf('127.0.0.1', by('198.51.100.1'));
  clientOf('127.0.0.1', by('nonsense'));
  expect(told).toEqual([]);
  clientOf('203.0.113.7', by('198.51.100.1'));
  expect(told).toEqual(['203.0.113.7']);
});

test('networks are read, or none of them', () => {
  expect(parseNetworks('')).toEqual([]);
  for (const text of ['10.0.0.0/33', 'localhost', '10.0.0.1;10.0.0.2', '::1/200'])
    expect(parseNetworks(text)).toBeNull();
});

test('an IPv6 network of a site counts as one client', () => {
  expect(addressGroup('2001:db8:1:2::1')).toBe(addressGroup('2001:db8:1:2:ffff::9'));
  expect(addressGroup('2001:db8:1:2::1')).not.toBe(addressGroup('2001:db8:1:3::1'));
  expect(addressGroup('192.0.2.1')).toBe(addressGroup('::ffff:192.0.2.1'));
  expect(addressGroup('192.0.2.1')).not.toBe(addressGroup('192.0.2.2'));
  expect(addressGroup('')).toBe('');
});
