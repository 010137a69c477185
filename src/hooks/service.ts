/** All of the chainhooks in a process that writes: what its routes call, and what runs beside the requests. */

import { type Chance, systemChance } from '../base/chance.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Network } from '../chain/network.ts';
import { type Lease, ownLease } from '../cluster/lease-keeper.ts';
import type { HookRecord } from '../store/hooks/model.ts';
import { commandsOf } from '../store/ingest/commands.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import { alerts, noAlerts } from './alerts.ts';
import type { HookCommands } from './commands/registry.ts';
import { type HookCounters, type HookTimers, untimedHooks } from './counters.ts';
import type { Result } from './delivery/attempt.ts';
import { dispatcher } from './delivery/dispatcher.ts';
import { markWriter } from './delivery/mark-writer.ts';
import { type Post, post as sendPost } from './delivery/post.ts';
import { type DeliveryIdentity, deliveryRequest } from './delivery/request.ts';
import type { DeliveryRules } from './delivery/rules.ts';
import { type TargetGuard, type TargetRules, targetGuard } from './delivery/target.ts';
import type { HookLog } from './log-event.ts';
import { hookMachine } from './machine.ts';
import { type Maintenance, maintenance } from './maintenance.ts';
import { hookTasks } from './tasks.ts';

/** The operator's settings of chainhooks. */
export interface HookRules extends DeliveryRules {
  targets: TargetRules;
  /** Where the operator is notified of hooks that end; null for nowhere. */
  alertUrl: string | null;
  /** How long bodies of what was delivered are kept. */
  retentionMs: number;
}

/** What may be set for tests. */
export interface HookOptions {
  ingest: Ingest;
  rules: HookRules;
  log: HookLog;
  userAgent: string;
  timers?: HookTimers;
  guard?: TargetGuard;
  /** The host delivers, and does what else one host does at a time, while it holds it; its own where nothing is shared. */
  lease?: Lease;
  clock?: Clock;
  chance?: Chance;
  post?: Post;
}

/** The state of the outbox and of the hooks, for metrics. */
export interface HookGauges {
  /** Deliveries that wait, and seconds since the oldest was made. */
  pending: number;
  oldestPendingSeconds: number;
  hooks: { status: string; enabled: boolean; count: number }[];
}

export type Chainhooks = ReturnType<typeof startChainhooks>;

/** Takes part in the chain from now on, and delivers while the lease is held. */
export function startChainhooks(options: HookOptions) {
  const { ingest, rules, log, userAgent, timers = untimedHooks, guard, lease = ownLease() } = options;
  const { clock = systemClock, chance = systemChance, post = sendPost } = options;
  const { now } = clock;
  const { hooks: store, history } = ingest;
  const targets = guard ?? targetGuard(rules.targets);

  const machine = hookMachine({ store, history, network: ingest.network, timers, log, now });
  const { evaluator, counters } = machine;
  ingest.addCommands(machine.commands);
  const commands = commandsOf<HookCommands>(ingest.commander(clock));
  const { alertUrl: url } = rules;
  const { secrets } = store;
  const outgoing = { guard: targets, rules, log, userAgent, clock, chance, post };
  const operator =
    url === null ? noAlerts : alerts({ ...outgoing, url, secrets, durable: () => ingest.durable(ingest.position()) });
  const request = deliveryRequest({ ...outgoing, secrets });
  const marks = markWriter({ write: (made) => commands.run('delivery.mark', made), clock });
  const deliveries = dispatcher({
    ...{ store, rules, counters, timers, log, clock, chance, request },
    mark: marks.write,
    position: ingest.position,
    durable: ingest.durable,
    roomMade: () => tasks.wake(),
    isHeld: () => lease.isHeld(),
  });
  const tasks = hookTasks({ store, commands, log, clock });
  const upkeep: Maintenance = maintenance({ store, commands, retentionMs: rules.retentionMs, log, clock });

  // First: whatever follows may write.
  ingest.follow(machine.follower);
  machine.listen({
    queued: deliveries.wake,
    behind: tasks.wake,
    ended: operator.tell,
    recovered() {
      deliveries.wakeAll();
      tasks.wake();
    },
  });
  lease.start({
    start(epoch) {
      operator.start();
      marks.start(epoch);
      deliveries.start();
      tasks.start();
      upkeep.start();
    },
    async stop() {
      // All are told before anybody is waited for.
      await Promise.all([deliveries.stop(), operator.stop(), tasks.stop(), upkeep.stop(), marks.stop()]);
    },
  });
  /** Ends requests that are in no queue. */
  const closing = new AbortController();

  return {
    store,
    history,
    commands,
    evaluator,
    dispatcher: deliveries,
    /** A request outside the queues, which is written down nowhere. */
    request: (record: HookRecord, delivery: DeliveryIdentity, text: string): Promise<Result> =>
      request(record, delivery, text, closing.signal),
    guard: targets,
    log,
    clock,
    chance,
    network: (): Network | null => ingest.network(),
    wakeTasks: () => tasks.wake(),
    upkeep,
    /** A snapshot. */
    counters: (): HookCounters => ({ ...counters }),
    gauges(): HookGauges {
      const { count, oldest } = store.deliveries.waitingAtAll();
      const oldestPendingSeconds = oldest === null ? 0 : Math.max(0, Math.floor((now() - oldest) / 1000));
      return { pending: count, oldestPendingSeconds, hooks: store.records.counts() };
    },
    async stop(): Promise<void> {
      closing.abort();
      await lease.stop();
    },
  };
}
