/** Chainhooks without a server, with a clock and a resolver of the test. */
import { Database, SQLiteError } from 'bun:sqlite';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { Lease } from '../../src/cluster/lease-keeper.ts';
import type { Sealing } from '../../src/hooks/delivery/sealing.ts';
import { hookBackfills } from '../../src/hooks/routes/backfills.ts';
import { deliveryLog } from '../../src/hooks/routes/deliveries.ts';
import type { HookReader, ReadHooks } from '../../src/hooks/routes/family.ts';
import { management } from '../../src/hooks/routes/hooks.ts';
import { consumerSecrets } from '../../src/hooks/routes/secret.ts';
import { trials } from '../../src/hooks/routes/trials.ts';
import { type HookRules, startChainhooks } from '../../src/hooks/service.ts';
import {
  allowedNetworks,
  type Send,
  send as sendRequest,
  type TargetGuard,
  targetGuard,
} from '../../src/http/outgoing.ts';
import type { LogEvent } from '../../src/log.ts';
import { everyDelivery } from '../../src/store/hooks/delivery-log.ts';
import type { Delivery, HookRecord } from '../../src/store/hooks/model.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory } from '../support/data/ingest.ts';
import { sealing as testSealing } from '../support/data/sealing.ts';
import { openedHooks } from './opened.ts';

export const CONSUMER = 'default';

/** Time that only the test moves. */
interface MovedTime {
  /** Unix milliseconds. */
  time: number;
}

interface Overrides {
  rules?: Partial<HookRules>;
  guard?: TargetGuard;
  clock?: MovedTime;
  /** Timers of one call (default: the real clock). */
  after?: Clock['after'];
  lease?: Lease;
  send?: Send;
  sealing?: Sealing;
  /** A directory that stays. */
  directory?: string;
}

const HOUR = 3_600_000;
export const loopback = allowedNetworks('127.0.0.0/8') ?? [];

/** Deliveries go to receivers on this machine; a failed one waits for two seconds of the clock, then longer. */
export function directHooks(overrides: Overrides = {}) {
  const {
    rules = {},
    guard,
    lease,
    send = sendRequest,
    sealing = testSealing,
    clock = { time: 1_800_000_000_000 },
    after = systemClock.after,
    directory,
  } = overrides;
  const temporary = directory === undefined ? emptyDirectory() : null;
  const path = directory ?? temporary?.path ?? '';
  const logged: LogEvent[] = [];
  const log = (event: LogEvent) => {
    logged.push(event);
  };
  const { ingest, machine, tables } = openedHooks({ directory: path, chainId: null, log });
  const hooks = startChainhooks({
    ingest,
    machine,
    rules: {
      targets: { allowed: loopback, plainHttp: false },
      alertUrl: null,
      timeoutMs: 60_000,
      connectTimeoutMs: 60_000,
      budgetMs: 24 * HOUR,
      retryCapMs: 300_000,
      concurrency: 32,
      retentionMs: 7 * 24 * HOUR,
      ...rules,
    },
    log,
    userAgent: 'stackside/test',
    clock: { ...systemClock, now: () => clock.time, after },
    guard: guard ?? targetGuard({ allowed: loopback, plainHttp: false }),
    ...(lease === undefined ? {} : { lease }),
    send,
    sealing,
  });
  /** Returns the committed state. */
  const now = (): HookReader => ({ hooks: ingest.hooks, height: () => ingest.history.tip().height });
  const read: ReadHooks = (look) => look(now());
  const managed = management(hooks, read);
  const secrets = consumerSecrets(hooks, read);
  const backfills = hookBackfills(hooks, read);
  const { records, deliveries } = hooks.store;

  let stopped = false;
  async function stop(): Promise<void> {
    if (stopped) return;
    stopped = true;
    await hooks.stop();
    ingest.close();
  }

  const record = (uuid: string): HookRecord => {
    const hook = records.find(uuid, CONSUMER);
    if (hook === undefined) throw new Error('there is no such hook');
    return hook;
  };

  return {
    directory: path,
    clock,
    logged,
    ingest,
    hooks,
    managed: {
      ...managed,
      get: (consumer: string, uuid: string) => managed.get(now(), consumer, uuid),
      rotateSecret: secrets.rotate,
    },
    log: deliveryLog(hooks, read),
    trial: {
      ...trials(hooks, read),
      backfill: backfills.start,
      backfills: (consumer: string, uuid: string) => backfills.page(now(), consumer, uuid, 20, null),
      getBackfill: (consumer: string, uuid: string, job: string) => backfills.get(now(), consumer, uuid, job),
      cancelBackfill: backfills.cancel,
    },
    record,
    /** @returns its uuid */
    register: async (definition: object): Promise<string> => (await managed.register(CONSUMER, definition)).uuid,
    /** All deliveries of a hook, in order. */
    deliveries: (uuid: string): Delivery[] => deliveries.inOrder(record(uuid).id, everyDelivery, 0, 100_000),
    states: (uuid: string) => deliveries.inOrder(record(uuid).id, everyDelivery, 0, 100_000).map(({ state }) => state),
    feed(events: Iterable<ReceivedEvent>): void {
      for (const event of events) ingest.receive(event);
    },
    /** Makes waiting deliveries in the live queue check the clock again. */
    wake: (uuid: string) => hooks.dispatcher.wake(record(uuid).id, 'live'),
    /** The tables of the writer that applies entries. A test may write to them, or make its functions fail. */
    tables,
    /** Interrupts a hook, as a failed step does. */
    interrupt: (uuid: string) =>
      hooks.commands.run('hook.fail', {
        task: { of: 'catch_up', hook: record(uuid).id, most: 1 },
        reason: 'for a test',
      }),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      temporary?.[Symbol.dispose]();
    },
  };
}
export type DirectHooks = ReturnType<typeof directHooks>;

/** The driver's error while another process locks the database. */
export function busyError(): SQLiteError {
  using directory = dataDirectory();
  using holder = new Database(join(directory.path, 'busy.db'));
  using other = new Database(join(directory.path, 'busy.db'));
  holder.run('BEGIN EXCLUSIVE');
  try {
    other.run('BEGIN EXCLUSIVE');
  } catch (error) {
    if (error instanceof SQLiteError) return error;
    throw error;
  }
  throw new Error('the database was not busy');
}
