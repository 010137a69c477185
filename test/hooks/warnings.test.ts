/** `status.warnings` names probable mistakes in filters, and `contains` finds decoded text. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { alice, block, bob, deployment, receipt, transfer } from '../support/events/handmade.ts';
import { until } from '../support/time/until.ts';
import { definition, type HookServer, hookServer, NOWHERE } from './server.ts';

const CONTRACT = `${alice.address}.pool`;

let server: HookServer;
beforeAll(async () => {
  server = await hookServer();
  const [deployed, printed] = [deployment(alice, 0, 300), transfer(alice, 1, 300, undefined, bob)];
  const print = (event_index: number, value: Uint8Array) => ({
    txid: printed.id,
    event_index,
    committed: true,
    type: 'contract_event',
    contract_event: { contract_identifier: CONTRACT, topic: 'print', raw_value: toHex(value) },
  });
  const mined = block(null, 'warnings', [receipt(deployed, 0), receipt(printed, 1)], {
    events: [print(0, clarity.tuple({ note: clarity.utf8('say "héllo" 🦀') })), print(1, clarity.ascii('a\\b'))],
  });
  server.ingest.receive(mined.event);
});
afterAll(() => server[Symbol.asyncDispose]());

async function warningsOf(...filters: object[]): Promise<string[]> {
  const { status, body } = await server.request('POST', '/chainhooks/me', definition(NOWHERE, filters));
  expect(status).toBe(200);
  const { uuid } = body;
  const { body: stored } = await server.request('GET', `/chainhooks/me/${uuid}`);
  const { body: page } = await server.request('GET', '/chainhooks/me?limit=60');
  const listed = page.results.find((item: { uuid: string }) => item.uuid === uuid);
  expect([stored.status.warnings, listed.status.warnings]).toEqual([body.status.warnings, body.status.warnings]);
  await server.request('DELETE', `/chainhooks/me/${uuid}`);
  return body.status.warnings;
}

const NEVER = '; the filter never matches';

test.each<[warning: string, filter: object]>([
  [`sender: a contract can't send a transaction${NEVER}`, { type: 'contract_call', sender: CONTRACT }],
  [`sender: a contract can't send a transaction${NEVER}`, { type: 'contract_log', sender: CONTRACT }],
  [`topic: contracts log with the topic print only${NEVER}`, { type: 'contract_log', topic: 'event' }],
])('warns with %s: %p', async (warning, filter) => {
  expect(await warningsOf({ type: 'coinbase' }, filter)).toEqual([`filters.events.1.${warning}`]);
});

test('warns about an empty list', async () => {
  expect(await warningsOf()).toEqual(['filters.events: the list is empty; the chainhook never matches']);
});

test("doesn't warn about filters that can match", async () => {
  expect(
    await warningsOf(
      { type: 'contract_call', sender: bob.address, contract_identifier: CONTRACT, function_name: 'move' },
      { type: 'contract_log', contract_identifier: CONTRACT, topic: 'print' },
      { type: 'ft_transfer', asset_identifier: `${CONTRACT}::coin`, sender: CONTRACT },
    ),
  ).toEqual([]);
});

test.each<[contains: string, isFound: boolean]>([
  ['héllo', true],
  ['(note u"say "héllo" 🦀")', true],
  ['(note u"say \\"h\\u{c3a9}llo\\"', true],
  ['a\\b', true],
  ['a\\\\b', true],
  ['hello', false],
])('previews, backfills and changes find contains %p: %p', async (contains, isFound) => {
  const events = [{ type: 'contract_log', contains }];
  const blocks = isFound ? 1 : 0;
  const preview = { filters: { events }, from_height: 1, to_height: 1 };
  expect((await server.request('POST', '/chainhooks/preview', preview)).body.matched_blocks).toBe(blocks);
  const uuid = await server.register(NOWHERE, {}, events);
  const path = `/chainhooks/me/${uuid}/backfills`;
  const { body: job } = await server.request('POST', path, { from_height: 1, dry_run: true });
  const readJob = async () => (await server.request('GET', `${path}/${job.id}`)).body;
  await until(async () => (await readJob()).state === 'completed');
  expect((await readJob()).matched_blocks).toBe(blocks);
  await server.request('DELETE', `/chainhooks/me/${uuid}`);
  const query = new URLSearchParams({ from_height: '1', filters: JSON.stringify({ events }) });
  const { body: changes } = await server.request('GET', `/stackside/v1/changes?${query}`);
  expect(changes.results).toHaveLength(blocks);
});
