/** Responses to the node for events that can't be accepted. */
import { expect, test } from 'bun:test';
import { MAX_FOREIGN_DEPTH, parsedJson } from '../../src/base/json.ts';
import { networkOf, TESTNET_CHAIN_ID } from '../../src/chain/network.ts';
import { blockOf } from '../../src/chain/normalise.ts';
import { readPayload } from '../../src/chain/payload-reader.ts';
import { eventIntake, type IntakeOptions } from '../../src/node/event-intake.ts';
import { type ReceiverEvent, startReceiver } from '../../src/node/receiver.ts';
import { ForeignChainError } from '../../src/store/ingest/chain-identity.ts';
import { UnknownParentError } from '../../src/store/ingest/known-blocks.ts';
import { alice, block, receipt, transfer } from '../support/events/handmade.ts';
import { rawExchange } from '../support/servers/raw-http.ts';
import { until } from '../support/time/until.ts';

/** Starts a receiver of short events. */
function receiving(options: Omit<IntakeOptions, 'log'>) {
  const logged: (ReceiverEvent & { reason?: string })[] = [];
  const log = (event: ReceiverEvent): void => void logged.push(event);
  const intake = eventIntake({ ...options, log });
  const { url, stop } = startReceiver({ hostname: '127.0.0.1', port: 0, bodyLimit: 1_000, intake, log });
  return { url, logged, [Symbol.asyncDispose]: stop };
}

/** Posts one event to a receiver that fails to store it. */
async function postFailing(error: Error, options: { fill?: () => void } = {}) {
  await using receiver = receiving({ receive: () => Promise.reject(error), ...options });
  const response = await fetch(`${receiver.url}/new_block`, { method: 'POST', body: '{}' });
  return { status: response.status, body: (await response.json()) as unknown, logged: receiver.logged };
}

test('only the log contains the cause of an unexpected failure', async () => {
  const answer = await postFailing(new Error('UNIQUE constraint failed: /srv/stacks', { cause: new Error('why') }));
  expect(answer).toEqual({
    status: 500,
    body: { error: 'Unexpected error; the log has its cause' },
    logged: [{ event: 'event_failed', path: '/new_block', reason: 'UNIQUE constraint failed: /srv/stacks: why' }],
  });
});

test('a block without its parent is rejected with the message that nodes expect', async () => {
  const reason = 'DB does not contain a parent block at height 6 with index_hash 0xab';
  expect(await postFailing(new UnknownParentError(reason))).toMatchObject({ status: 500, body: { error: reason } });
});

test('the response to a block with an undecodable transaction contains the reason once', async () => {
  const payload = readPayload(
    '/new_block',
    block(null, 'one', [receipt(transfer(alice, 0, 1), 0, { raw_tx: '0x80' })]).event.text,
  );
  if (payload.kind !== 'block') throw new Error('a block is a block');
  let refusal: unknown;
  try {
    blockOf(payload.block, networkOf(TESTNET_CHAIN_ID));
  } catch (error) {
    refusal = error;
  }
  const { status, body } = await postFailing(refusal as Error);
  expect(status).toBe(400);
  expect((body as { error: string }).error).toMatch(/^Transaction 0x[0-9a-f]{64}: [^:]+$/);
});

test('the response to a block above a gap contains the missing blocks and the remedy, with and without a token', async () => {
  const error = new UnknownParentError('no parent', { from: 160, to: 171 });
  const withoutToken = await postFailing(error);
  expect(withoutToken.body).toEqual({
    error: 'no parent',
    problem: 'blocks 160–171 are missing',
    remedy: expect.stringContaining('--node-config'),
  });
  const { body } = await postFailing(error, { fill() {} });
  expect(body).toMatchObject({ problem: 'blocks 160–171 are missing', remedy: expect.stringContaining('Wait') });
});

test('a block of another chain is rejected with the remedy, and the next accepted block clears the refusal', async () => {
  const refusals: unknown[] = [];
  let error: Error | null = new ForeignChainError(
    'the block belongs to chain 0x00000001, but this data to chain 0x80000000',
  );
  const intake = eventIntake({
    receive() {
      if (error !== null) throw error;
      return 'applied';
    },
    log() {},
    refused: (refusal) => void refusals.push(refusal),
  });
  const block = { path: '/new_block', text: '{}', receivedAt: 0 };
  await intake(block);
  error = null;
  await intake({ ...block, path: '/new_burn_block' });
  await intake(block);
  expect(refusals).toEqual([expect.objectContaining({ why: 'wrong_chain', missing: null }), null]);
  const { status, body } = await postFailing(new ForeignChainError('another'));
  expect([status, body]).toEqual([400, { error: 'another', remedy: expect.stringContaining('--data') }]);
});

test("missing blocks that the node won't send again are logged once, with the remedy", async () => {
  const logged: { event: string }[] = [];
  const missing = { from: 5, to: 9 };
  let isFilled = false;
  const intake = eventIntake({
    receive: () => {
      if (isFilled) return 'applied';
      throw new UnknownParentError('no parent', missing);
    },
    log: (event) => void logged.push(event),
  });
  for (let times = 0; times < 3; times++) await intake({ path: '/new_block', text: '{}', receivedAt: 0 });
  // While the server fills blocks, fewer are missing.
  missing.from = 7;
  await intake({ path: '/new_block', text: '{}', receivedAt: 0 });
  expect(logged.filter(({ event }) => event === 'blocks_missing')).toEqual([
    {
      event: 'blocks_missing',
      from_height: 5,
      to_height: 9,
      remedy: expect.stringContaining('import a recording'),
    } as { event: string },
  ]);
  missing.to = 10;
  await intake({ path: '/new_block', text: '{}', receivedAt: 0 });
  expect(logged.filter(({ event }) => event === 'blocks_missing').length).toBe(2);
  // A fork may have a gap that ends at the height of a filled one.
  for (isFilled of [true, false]) await intake({ path: '/new_block', text: '{}', receivedAt: 0 });
  expect(logged.filter(({ event }) => event === 'blocks_missing').length).toBe(3);
});

test.each([1_001, 1_000_000])('an event of %d bytes in chunks is rejected and logged as too long', async (length) => {
  await using receiver = receiving({ receive: () => 'applied' });
  const { url, logged } = receiver;
  const head = 'POST /new_block HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked';
  const chunk = `${length.toString(16)}\r\n${' '.repeat(length)}\r\n0\r\n\r\n`;
  expect((await rawExchange(url, `${head}\r\n\r\n${chunk}`)).status).toBe(413);
  await until(() => logged.length > 0, 'the line of the log');
  expect(logged.map(({ event, reason = '' }) => [event, reason.split(':')[0]])).toEqual([
    ['event_rejected', 'The body must not be longer than 1000 bytes'],
  ]);
});

test('an event with too many nested levels is rejected before it is parsed', async () => {
  const accepted: string[] = [];
  const intake = eventIntake({
    receive: ({ path, text }) => {
      readPayload(path, text);
      accepted.push(text);
      return 'applied';
    },
    log: () => {},
  });
  const nest = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const sent = (text: string) => intake({ path: '/new_kind', text, receivedAt: 0 });
  expect((await sent('['.repeat(20_000_000))).outcome).toBe('rejected');
  expect((await sent(nest(MAX_FOREIGN_DEPTH + 1))).outcome).toBe('rejected');
  expect((await sent(nest(MAX_FOREIGN_DEPTH))).outcome).toBe('applied');
  expect(accepted).toEqual([nest(MAX_FOREIGN_DEPTH)]);
});

test('JSON from another server with too many nested levels is not parsed', () => {
  const nest = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  expect(parsedJson(nest(MAX_FOREIGN_DEPTH))).toBeDefined();
  expect(parsedJson(nest(MAX_FOREIGN_DEPTH + 1))).toBeUndefined();
});
