/** Times as texts: the machine's time zone has no effect, and the parser rejects invalid days. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { utcMicroseconds } from '../../src/base/utc-time.ts';
import { retryAfter } from '../../src/http/outgoing.ts';
import { receivedAtOf } from '../../src/node/snp/protocol.ts';

const zone = process.env.TZ;
beforeAll(() => {
  process.env.TZ = 'America/New_York';
});
afterAll(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const NOON = Date.UTC(2026, 0, 31, 12) * 1_000;

test.each([
  ['2026-01-31T12:00:00Z', NOON],
  ['2026-01-31T12:00:00', NOON],
  ['2026-01-31 12:00:00', NOON],
  ['2026-01-31 12:00', NOON],
  ['2026-01-31 12:00:00.25+00', NOON + 250_000],
  ['2026-01-31T12:00:00.123456', NOON + 123_456],
  ['2026-01-31T07:00:00-05:00', NOON],
  ['2026-01-31T17:30:00+0530', NOON],
  ['2026-01-31', NOON - 12 * 3_600_000_000],
  ['Sat, 31 Jan 2026 12:00:00 GMT', NOON],
  ['Sat Jan 31 12:00:00 2026', NOON],
  ['Sat Jan 31 2026 07:00:00 GMT-0500', NOON],
  ['2027-02-30', null],
  ['2027-02-29T00:00:00Z', null],
  ['2026-01-31T24:00:00Z', null],
  ['2026-13-01', null],
  ['2026-01-31T12', null],
  ['1.5', null],
  ['yesterday', null],
  ['', null],
])('%p is %p', (text, microseconds) => expect(utcMicroseconds(text)).toBe(microseconds));

describe('in a time zone other than UTC', () => {
  test('the machine has that time zone', () => expect(new Date(2026, 0, 1).getTimezoneOffset()).toBe(300));

  test("a publisher's time without a zone is UTC", () => {
    const message = { id: '1-0', sequence: 1, path: '/new_block', body: '{}', timestamp: '2026-01-31 12:00:00' };
    expect(receivedAtOf(message, NOON / 1_000 + 86_400_000)).toBe(NOON);
  });

  test("a receiver's Retry-After date without a zone is UTC", () => {
    expect(retryAfter('Sat Jan 31 12:01:00 2026', NOON / 1_000)).toBe(60_000);
    expect(retryAfter('1.5', NOON / 1_000)).toBeNull();
  });
});
