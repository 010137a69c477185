/** Records the answers of the chainhook routes, in the order of a chainhook's life, and of the operator's routes. */
import { Registry } from 'prom-client';
import { realEnvironment } from '../../../src/commands/serve/environment.ts';
import { serveHooks } from '../../../src/commands/serve/hooks.ts';
import { openWithHooks } from '../../../src/hooks/machine.ts';
import type { RecordedExample } from '../../../src/http/openapi.ts';
import { hookTimers } from '../../../src/metrics/hooks.ts';
import { readSettings } from '../../../src/settings/config.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { openSnapshots } from '../../../src/store/read/snapshots.ts';
import { appOf } from '../api/app.ts';
import { dataDirectory } from '../data/data-directory.ts';
import { SAME_IDENTITY } from '../data/ingest.ts';
import { until } from '../time/until.ts';
import type { Ask } from './example-candidates.ts';
import { exampleSystem } from './example-system.ts';

/** The consumer's definition: transfers of STX. */
const definition = {
  name: 'transfers',
  version: '1',
  chain: 'stacks',
  network: 'testnet',
  filters: { events: [{ type: 'stx_transfer', min_amount: '1' }] },
  options: { decode_clarity_values: true, enable_on_registration: true },
  action: { type: 'http_post', url: 'https://203.0.113.7/hook' },
};

/** So many events come while the chainhook is there. */
const SEEN = 60;

/** Secrets are drawn by chance: a fixed text stands for one. */
const SECRETS = { secret: '0'.repeat(64), signing_secret: `whsec_${'A'.repeat(43)}=` };

interface Recorder {
  answers: Record<string, RecordedExample>;
  /** Sends a request, and records the answer. */
  record(
    operationId: string,
    method: string,
    target: string,
    example?: RecordedExample,
  ): Promise<Awaited<ReturnType<Ask>>>;
}

/** Records answers. @param cut makes answers small enough for the document */
export function recorder(ask: Ask, cut: (body: unknown) => unknown): Recorder {
  const answers: Recorder['answers'] = {};
  return {
    answers,
    async record(operationId, method, target, { parameters, body } = {}) {
      const answered = await ask(target, method, body);
      if (answered.status >= 300) throw new Error(`${operationId}: ${JSON.stringify(answered)}`);
      answers[operationId] = {
        ...(parameters === undefined ? {} : { parameters }),
        ...(body === undefined ? {} : { body }),
        ...(answered.status === 204 ? {} : { answer: cut(answered.body) }),
      };
      return answered;
    },
  };
}

/**
 * Records each route of chainhooks and of the operator once.
 * @param events of a chain; the chainhook sees the last of them
 */
export async function hookExamples(
  events: readonly ReceivedEvent[],
  asking: (app: ReturnType<typeof appOf>) => Ask,
  cut: (body: unknown) => unknown,
  version: string,
): Promise<Record<string, RecordedExample>> {
  using temporary = dataDirectory();
  const { path: directory } = temporary;
  const { ingest, machine } = openWithHooks({ directory, chainId: null, log: () => {}, random: SAME_IDENTITY });
  for (const event of events.slice(0, -SEEN)) ingest.apply(event);
  ingest.commit();
  const seconds = Math.floor((events.at(-1)?.receivedAt ?? 0) / 1_000_000);
  let ids = 0;
  const snapshots = openSnapshots(directory);
  const { hooks, api } = serveHooks({
    snapshots,
    settings: {
      ...readSettings({ data: directory, logLevel: 'silent', hookTargets: '203.0.113.0/24' }, {}),
      hookAccess: 'open',
    },
    ingest,
    machine,
    log: () => {},
    timers: hookTimers(new Registry()),
    environment: {
      ...realEnvironment,
      clock: { ...realEnvironment.clock, now: () => seconds * 1_000, monotonic: () => 0 },
      random: { number: () => 0, uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}` },
      send: async () => ({ status: 200, headers: {}, body: Buffer.from('ok'), ended: 'whole' }),
    },
  });
  try {
    const operator = { consumer: 'default', isOperator: true };
    const access = { ...api.access, callerOf: () => operator, consumerOf: () => operator.consumer };
    const app = appOf({ snapshots, version, log: () => {}, hooks: { ...api, access }, system: exampleSystem });
    const ask = asking(app);
    const { record, answers } = recorder(ask, cut);
    await record('getSystem', 'GET', '/stackside/v1/system');
    await record('getAlerts', 'GET', '/stackside/v1/alerts');
    await record('getSystemLog', 'GET', '/stackside/v1/log');
    await record('getHosts', 'GET', '/stackside/v1/hosts');
    const coin = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7.river-coin';
    await record('refreshTokens', 'POST', '/stackside/v1/tokens/refresh', {
      body: { contract_id: coin, token_ids: ['1'] },
    });
    await record('makeArchiveBase', 'POST', '/stackside/v1/archive/base');
    const sql = '/stackside/v1/sql';
    await record('getSqlViews', 'GET', sql);
    const query = 'SELECT block_height, tx_count FROM v1_blocks WHERE tx_count > ?1';
    await record('runSql', 'POST', sql, { body: { query, parameters: [5] } });
    const inspections = '/stackside/v1/inspections';
    await record('getInspections', 'GET', inspections);
    await record('startInspection', 'POST', inspections, { body: { kind: 'check' } });
    await record('cancelInspection', 'DELETE', inspections);
    await record(
      'getChanges',
      'GET',
      '/stackside/v1/changes?include=transactions&include=decoded_values&from_height=20',
      { parameters: { from_height: 20, include: ['transactions', 'decoded_values'] } },
    );
    const root = '/chainhooks/me';
    await record('getChainhooksStatus', 'GET', '/chainhooks');
    const { body: hook } = await record('registerChainhook', 'POST', root, { body: definition });
    const { uuid } = hook;
    const hookPath = `${root}/${uuid}`;
    const isIdle = async () => (await ask(hookPath)).body.status.pending_deliveries === 0;
    for (const event of events.slice(-SEEN)) ingest.receive(event);
    await until(async () => (await ask(`${hookPath}/deliveries`)).body.total > 0 && (await isIdle()), 'deliveries');
    await record('getChainhookConsumers', 'GET', '/chainhooks/consumers');
    await record('getChainhooks', 'GET', root);
    await record('getChainhook', 'GET', hookPath, { parameters: { uuid } });
    const { body: log } = await record('getDeliveries', 'GET', `${hookPath}/deliveries`, { parameters: { uuid } });
    const { id, apply } = log.results[0];
    const height = apply[0].height;
    const delivery = { parameters: { uuid, id } };
    await record('getDelivery', 'GET', `${hookPath}/deliveries/${id}`, delivery);
    const range = { from_height: height, to_height: height };
    await record('previewDefinition', 'POST', '/chainhooks/preview', {
      body: { filters: definition.filters, block_height: height },
    });
    await record('previewChainhook', 'POST', `${hookPath}/preview`, {
      parameters: { uuid },
      body: { block_height: height },
    });
    await record('testChainhook', 'POST', `${hookPath}/test`, { parameters: { uuid }, body: { block_height: height } });
    await record('evaluateChainhook', 'POST', `${hookPath}/evaluate`, {
      parameters: { uuid },
      body: { block_height: height },
    });
    const { body: job } = await record('startBackfill', 'POST', `${hookPath}/backfills`, {
      parameters: { uuid },
      body: range,
    });
    const backfill = { parameters: { uuid, job: job.id } };
    await until(
      async () => (await ask(`${hookPath}/backfills/${job.id}`)).body.finished_at !== null,
      'the end of the backfill',
    );
    await until(isIdle, 'all deliveries');
    await record('getBackfills', 'GET', `${hookPath}/backfills`, { parameters: { uuid } });
    await record('getBackfill', 'GET', `${hookPath}/backfills/${job.id}`, backfill);
    await record('cancelBackfill', 'DELETE', `${hookPath}/backfills/${job.id}`, backfill);
    await until(isIdle, 'all deliveries');
    await record('redeliver', 'POST', `${hookPath}/deliveries/${id}/redeliver`, delivery);
    await until(isIdle, 'all deliveries');
    await record('redeliverMany', 'POST', `${hookPath}/deliveries/redeliver`, {
      parameters: { uuid },
      body: { state: ['delivered'], ...range },
    });
    answers.skipDelivery = delivery;
    await record('updateChainhook', 'PATCH', hookPath, { parameters: { uuid }, body: { name: 'all transfers' } });
    const enabled = { enabled: false };
    await record('enableChainhook', 'PATCH', `${hookPath}/enabled`, { parameters: { uuid }, body: enabled });
    await record('bulkEnableChainhooks', 'PATCH', `${root}/enabled`, {
      body: { ...enabled, filters: { uuids: [uuid] } },
    });
    await record('rotateConsumerSecret', 'POST', `${root}/secret`);
    await record('getConsumerSecret', 'GET', `${root}/secret`);
    for (const named of ['rotateConsumerSecret', 'getConsumerSecret']) answers[named] = { answer: SECRETS };
    await record('deleteConsumerSecret', 'DELETE', `${root}/secret`);
    await record('deleteChainhook', 'DELETE', hookPath, { parameters: { uuid } });
    return answers;
  } finally {
    snapshots.close();
    await hooks.stop();
  }
}
