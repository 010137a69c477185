/** The chainhooks of a process that writes: the functions for routes, and the background work. */

import { type Clock, type RandomSource, systemClock, systemRandom } from '../base/clock.ts';
import type { Network } from '../chain/network.ts';
import { type Lease, ownLease } from '../cluster/lease-keeper.ts';
import { type Send, send as sendRequest, type TargetGuard, type TargetRules, targetGuard } from '../http/outgoing.ts';
import type { HookRecord } from '../store/hooks/model.ts';
import { isPaused } from '../store/hooks/records.ts';
import { type Commander, commandsOf } from '../store/ingest/commands.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import { alerts } from './delivery/alerts.ts';
import { type AttemptResult, type DeliveryIdentity, type DeliveryRules, deliveryRequest } from './delivery/attempt.ts';
import { type Dispatcher, dispatcher } from './delivery/dispatcher.ts';
import { deliveryResults, resultWriter } from './delivery/results.ts';
import { type Sealing, secretReader } from './delivery/sealing.ts';
import type { HookCommands, HookMachine } from './machine.ts';
import { type HookCounters, type HookLog, type HookTimers, untimedHooks } from './reporting.ts';
import { retention } from './retention.ts';
import type { PausedReason } from './routes/schemas.ts';
import { hookTasks } from './tasks.ts';

export interface HookRules extends DeliveryRules {
  targets: TargetRules;
  /** URL for alerts to the operator about hooks that end; null for alerts to their owners only. */
  alertUrl: string | null;
  /** Retention of the bodies of delivered deliveries, in milliseconds. */
  retentionMs: number;
}

/** Options of {@link startChainhooks}; the optional ones are for tests and clusters. */
interface HookOptions {
  ingest: Ingest;
  rules: HookRules;
  log: HookLog;
  userAgent: string;
  timers?: HookTimers;
  /** The machine that the index was opened with. */
  machine: HookMachine;
  /** Sends commands to the log that hosts share; by default, to the host's own. */
  commander?: Commander;
  sealing: Sealing;
  guard?: TargetGuard;
  /** Returns the Bitcoin height of the lowest block that forks can start from, on a devnet. */
  lowestFork?: (() => number) | undefined;
  /** The lease to deliver. Only the host that holds it delivers, catches up and deletes old rows. By default, this host holds it. */
  lease?: Lease;
  clock?: Clock;
  random?: RandomSource;
  send?: Send;
}

export interface HookGauges {
  /** Number of waiting deliveries, and the age of the oldest in seconds. */
  pending: number;
  oldestPendingSeconds: number;
  hooks: { status: string; enabled: boolean; count: number }[];
}

export type Chainhooks = ReturnType<typeof startChainhooks>;

/** Starts the chainhooks, which deliver while the lease is held. */
export function startChainhooks(options: HookOptions) {
  const { ingest, rules, log, userAgent, timers = untimedHooks, guard, sealing } = options;
  const { clock = systemClock, random = systemRandom, send = sendRequest } = options;
  const { now } = clock;
  const { hooks: store, history } = ingest;
  const { lease = ownLease(store.records.epoch) } = options;
  const targets = guard ?? targetGuard(rules.targets);

  const { engine } = options.machine;
  const { counters } = engine;
  const commands = commandsOf<HookCommands>(options.commander ?? ingest.commander(clock, random));
  const { alertUrl: url } = rules;
  const secrets = secretReader(store.secrets, sealing, log);
  secrets.report();
  const outgoing = { guard: targets, rules, log, userAgent, clock, random, send };
  const notices = alerts({ ...outgoing, url, secrets, logIdentity: store.logIdentity });
  const request = deliveryRequest({ ...outgoing, secrets });
  const writer = resultWriter({
    write: (results) => commands.run('delivery.mark', results),
    areMoreComing: () => deliveries.hasRequests(),
    clock,
  });
  const results = deliveryResults({ writer, rules, counters, log, clock, random });
  const deliveries: Dispatcher = dispatcher({
    store,
    rules,
    timers,
    log,
    clock,
    random,
    request,
    results,
    roomMade: () => tasks.wake(),
    hasLease: () => lease.hasLease(),
    canSign: secrets.canSign,
  });
  const tasks = hookTasks({ store, commands, log, clock });
  const { retentionMs } = rules;
  const upkeep = retention({ store, commands, retentionMs, log, clock, lowestFork: options.lowestFork });

  engine.listen({
    evaluated: timers.evaluated,
    queued: deliveries.wake,
    tasksReady: tasks.wake,
    hookStopped: notices.hookStopped,
    recovered() {
      deliveries.wakeAll();
      tasks.wake();
    },
  });
  lease.start({
    start(epoch) {
      secrets.report();
      notices.start();
      writer.start(epoch);
      deliveries.start();
      tasks.start();
      upkeep.start();
    },
    async stop() {
      // All start to stop before the first one is awaited.
      await Promise.all([deliveries.stop(), notices.stop(), tasks.stop(), upkeep.stop(), writer.stop()]);
    },
    lacks: () => (secrets.unreadable().length === 0 ? null : "this host can't read all signing secrets"),
  });
  /** Ends requests of no queue when the process stops. */
  const closing = new AbortController();

  return {
    store,
    history,
    /** Commits all acknowledged events, so that `store` and `history` show them. */
    publish: ingest.publish,
    commands,
    sealing,
    secrets,
    /** Returns the reason why the deliveries of a hook wait on this host; null if they don't wait. */
    pausedReason(record: HookRecord): PausedReason | null {
      if (isPaused(record)) return 'log_restored';
      return lease.hasLease() && !secrets.isReadable(record.consumer) ? 'secret_unreadable' : null;
    },
    dispatcher: deliveries,
    /** Sends a request outside the queues. Its result is not stored. */
    request: (record: HookRecord, delivery: DeliveryIdentity, text: string): Promise<AttemptResult> =>
      request(record, delivery, text, closing.signal),
    guard: targets,
    clock,
    random,
    network: (): Network | null => ingest.network(),
    upkeep,
    counters: (): HookCounters => ({ ...counters }),
    gauges(): HookGauges {
      const { count, oldest } = store.deliveries.waitingOfAll();
      const oldestPendingSeconds = oldest === null ? 0 : Math.max(0, Math.floor((now() - oldest) / 1000));
      return { pending: count, oldestPendingSeconds, hooks: store.records.counts() };
    },
    async stop(): Promise<void> {
      closing.abort();
      await lease.stop();
    },
  };
}
