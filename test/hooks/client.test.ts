/** Calls every function of the published client against a server. */
import { expect, test } from 'bun:test';
import { ChainhooksClient } from '@hirosystems/chainhooks-client';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { received as event } from '../support/data/ingest.ts';
import { until } from '../support/time/until.ts';
import { answerMistake, mendedNodes, payloadMistake } from './schemas.ts';
import { definition, filtersOf, hookServer, type Received, receiver, started } from './server.ts';

const events = [...devnetEvents({ seed: 3, blocks: 12, accounts: 12, transactionsPerBlock: 6, forkEvery: 0 })];

test('the published client registers, lists, gets, updates, enables, evaluates, deletes, and keeps a secret', async () => {
  await using server = await hookServer();
  using target = receiver();
  const client = new ChainhooksClient({ baseUrl: server.url });
  server.feed(events.slice(0, -6).map(event));

  expect(await client.getStatus()).toEqual({ server_version: 'stackside v0 (test:test)', status: 'ready' });
  const hook = await client.registerChainhook(definition(target.url, filtersOf('coinbase')) as never);
  expect(answerMistake('hook', hook)).toBeNull();
  expect(hook.definition).toEqual(definition(target.url, filtersOf('coinbase')) as never);
  const counts = { evaluated_block_count: 0, occurrence_count: 0 };
  const never = { last_evaluated_at: null, last_occurrence_block_height: null };
  expect(hook.status).toMatchObject({ status: 'new', enabled: false, ...never, ...counts });
  const decoding = { ...started, decode_clarity_values: true };
  const enabled = await client.registerChainhook(definition(target.url, filtersOf('stx_event'), decoding) as never);
  expect(enabled.status.enabled).toBe(true);

  const page = await client.getChainhooks({ limit: 1, offset: 0 });
  expect(answerMistake('page', page)).toBeNull();
  expect([page.total, page.limit, page.offset, page.results.length]).toEqual([2, 1, 0, 1]);
  expect((await client.getChainhooks({ offset: 2 })).results).toEqual([]);
  expect((await client.getChainhook(hook.uuid)).uuid).toBe(hook.uuid);

  const renamed = await client.updateChainhook(hook.uuid, { name: 'renamed' });
  expect([renamed.definition.name, renamed.definition.filters]).toEqual(['renamed', hook.definition.filters]);
  expect(await client.updateChainhook(hook.uuid, {})).toEqual(renamed);

  expect(await client.getConsumerSecret()).toMatchObject({ secret: null });
  const { secret } = await client.rotateConsumerSecret();
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect((await client.getConsumerSecret()).secret).toBe(secret);

  await client.enableChainhook(hook.uuid, true);
  expect((await client.getChainhook(hook.uuid)).status).toMatchObject({ enabled: true, status: 'new' });
  server.feed(events.slice(-6).map(event));
  await until(() => target.received.length > 0, 'a delivery');
  expect(target.received[0]?.headers.authorization).toBe(`Bearer ${secret}`);
  expect((await client.getChainhook(hook.uuid)).status).toMatchObject({ enabled: true, status: 'streaming' });

  await client.enableChainhook(hook.uuid, false);
  await client.evaluateChainhook(hook.uuid, { block_height: 1 });
  const isEvaluation = ({ headers }: Received) => headers['x-chainhook-reason'] === 'evaluate';
  await until(() => target.received.some(isEvaluation), 'an evaluation');

  const uuids = [hook.uuid, enabled.uuid];
  const setAll = (enabled: boolean, filters: object) => client.bulkEnableChainhooks({ enabled, filters });
  expect(await setAll(false, { webhook_url: target.url })).toEqual({ updated_uuids: uuids });
  expect((await client.getChainhook(enabled.uuid)).status.enabled).toBe(false);
  expect(await setAll(true, { statuses: ['expired'] })).toEqual({ updated_uuids: [] });
  const streaming = { uuids: [hook.uuid], statuses: ['streaming'] };
  expect(await setAll(true, streaming)).toEqual({ updated_uuids: [hook.uuid] });

  await client.deleteConsumerSecret();
  await client.deleteConsumerSecret();
  expect((await client.getConsumerSecret()).secret).toBeNull();
  await client.deleteChainhook(hook.uuid);
  expect(client.getChainhook(hook.uuid)).rejects.toThrow('404');
  expect((await client.getChainhooks()).total).toBe(1);

  expect(mendedNodes).toBeGreaterThan(0);
  for (const { payload } of target.received) expect(payloadMistake(payload)).toBeNull();
});
