/** The webhook receiver that runs in a developer's terminal. */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { parseSecret, type ReceiverOptions, readSecret, startHookReceiver } from '../../src/commands/hooks/listen.ts';
import { signatureHeader, signingSecret } from '../../src/hooks/delivery/signature.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

const SECRET = new Uint8Array(32).fill(7);
const NOW = Date.UTC(2026, 0, 1, 12, 30, 5);
const block = (index: number, transactions: number) => ({
  block_identifier: { index, hash: '0x' },
  transactions: new Array(transactions).fill({}),
});
const BODY = JSON.stringify({
  event: { apply: [block(11, 2), block(12, 1)], rollback: [block(11, 1)] },
  chainhook: { uuid: 'u', name: 'mine\u001b[2J' },
});

/** Starts a receiver, sends it one request, and returns its output and its response. */
async function deliver(overrides: Partial<ReceiverOptions>, init: RequestInit) {
  const lines: string[] = [];
  const clock = { ...systemClock, now: () => NOW };
  const options = { port: 0, delay: 0, printBody: false, secret: SECRET, print: (line: string) => lines.push(line) };
  const server = startHookReceiver({ ...options, clock, ...overrides });
  const response = await fetch(server.url, { method: 'POST', ...init });
  await response.text();
  await server.stop(true);
  return { status: response.status, lines };
}

const signedHeaders = (secret: Uint8Array, time = NOW, body = BODY): Record<string, string> => ({
  'webhook-id': 'evt_1',
  'webhook-timestamp': String(Math.floor(time / 1000)),
  ...signatureHeader({ secret, previous: null, rotatedAt: 0 }, 'evt_1', Buffer.from(body), time),
});
const lineOf = (signature: string, status = 204) =>
  `12:30:05  mine?[2J  rollback 11, apply 11-12, 4 transactions  ${Buffer.byteLength(BODY)} bytes  ${signature}  evt_1  answered ${status}`;

describe('a delivery', () => {
  test('is shown with its blocks, its size and the result of the signature check', async () => {
    expect(await deliver({}, { body: BODY, headers: signedHeaders(SECRET) })).toEqual({
      status: 204,
      lines: [lineOf('signature good')],
    });
    const wrong = [
      signedHeaders(new Uint8Array(32)),
      signedHeaders(SECRET, NOW - 301_000),
      signedHeaders(SECRET, NOW, `${BODY} `),
      { ...signedHeaders(SECRET), 'webhook-signature': 'v1,x' },
      { ...signedHeaders(SECRET), 'webhook-timestamp': 'now' },
    ];
    for (const headers of wrong) {
      expect((await deliver({}, { body: BODY, headers })).lines).toEqual([lineOf('SIGNATURE WRONG')]);
    }
    // During the replacement of a secret, a delivery has two signatures.
    const headers = signedHeaders(SECRET);
    const two = { ...headers, 'webhook-signature': `v1,old ${headers['webhook-signature']}` };
    expect((await deliver({}, { body: BODY, headers: two })).lines).toEqual([lineOf('signature good')]);
  });

  test('receives the given error status after the given delay', async () => {
    const waits: number[] = [];
    const after: typeof systemClock.after = (milliseconds, call) => {
      waits.push(milliseconds);
      queueMicrotask(call);
      return () => {};
    };
    const clock = { ...systemClock, now: () => NOW, after };
    const overrides = { fail: 500, delay: 3_000, printBody: true, secret: null, clock };
    expect(await deliver(overrides, { body: BODY, headers: signedHeaders(SECRET) })).toEqual({
      status: 500,
      lines: [lineOf('signature not checked', 500), BODY],
    });
    expect(waits).toEqual([3_000]);
  });

  test('may have any body', async () => {
    for (const body of ['', 'text', 'null', '[]', '{"event":{"apply":[null,1,{"transactions":3}]}}', '{"event":7}']) {
      expect([body, (await deliver({ secret: null }, { body })).status]).toEqual([body, 204]);
    }
    expect((await deliver({}, { method: 'GET' })).status).toBe(405);
  });
});

test('a secret comes from a file or a variable, as whsec_ with base64 or as hex', () => {
  using directory = dataDirectory();
  const file = join(directory.path, 'secret');
  expect(parseSecret(`${signingSecret(SECRET)}\n`, 'it')).toEqual(SECRET);
  expect(parseSecret(SECRET.toHex(), 'it')).toEqual(SECRET);
  expect([readSecret(undefined, null), readSecret(undefined, SECRET.toHex())]).toEqual([null, SECRET]);
  for (const text of ['', 'whsec_', 'whsec_a', 'abc', 'word'])
    expect(() => parseSecret(text, 'it')).toThrow(OperatorError);
  expect(() => readSecret(file, null)).toThrow("doesn't exist");
});
