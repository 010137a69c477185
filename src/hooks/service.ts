/** All of the chainhooks in a process that writes: what its routes call, and what runs beside the requests. */

import { type Chance, systemChance } from '../base/chance.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Network } from '../chain/network.ts';
import { commandsOf } from '../store/ingest/commands.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import { alerts, noAlerts } from './alerts.ts';
import type { HookCommands } from './commands/registry.ts';
import { type HookCounters, type HookTimers, untimedHooks } from './counters.ts';
import { dispatcher } from './delivery/dispatcher.ts';
import { type Post, post as sendPost } from './delivery/post.ts';
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

/** Takes part in the chain from now on, and begins to deliver. */
export function startChainhooks(options: HookOptions) {
  const { ingest, rules, log, userAgent, timers = untimedHooks, guard } = options;
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
  const operator =
    url === null
      ? noAlerts
      : alerts({
          url,
          secrets,
          guard: targets,
          rules,
          log,
          userAgent,
          clock,
          chance,
          post,
          durable: () => ingest.durable(ingest.position()),
        });
  const deliveries = dispatcher({
    store,
    async mark(one) {
      const [counts] = await commands.run('delivery.mark', { epoch: 0, marks: [one] });
      return counts === true;
    },
    position: ingest.position,
    durable: ingest.durable,
    roomMade: () => tasks.wake(),
    guard: targets,
    rules,
    counters,
    timers,
    log,
    userAgent,
    clock,
    chance,
    post,
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
  deliveries.start();
  tasks.start();
  upkeep.start();

  return {
    store,
    history,
    commands,
    evaluator,
    dispatcher: deliveries,
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
      await upkeep.stop();
      await tasks.stop();
      await deliveries.stop();
      await operator.stop();
    },
  };
}
