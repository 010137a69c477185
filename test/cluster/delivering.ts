/** Hooks of a simulated cluster with receivers: the commands to hosts, and the laws at the end. */
import { expect } from 'bun:test';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { parseDefinition } from '../../src/hooks/definition/definition.ts';
import type { HookCommands } from '../../src/hooks/machine.ts';
import type { HookRules } from '../../src/hooks/service.ts';
import type { HookRecord } from '../../src/store/hooks/model.ts';
import type { CommandsOf } from '../../src/store/ingest/commands.ts';
import type { Ingest } from '../../src/store/ingest/ingest.ts';
import type { Entry } from '../../src/store/log/entry.ts';
import { deliveredTheWinningChain, idsNameBodies, inOrder } from '../simulation/laws.ts';
import type { Hook } from '../simulation/operator.ts';
import type { Arrived } from '../simulation/receivers.ts';
import { winningChain } from '../support/events/winning-chain.ts';
import { CONSUMER, type HookTools, register, startBackfill } from './commands.ts';

/** An entry of the log, in the form of a journal. */
type Logged = Omit<Entry, 'chain'>;

const MAX_HOOKS = 3;
const HOUR = 3_600_000;
const filters = [
  [{ type: 'stx_event' }, { type: 'coinbase' }],
  [{ type: 'contract_call' }],
  [{ type: 'tenure_change' }],
];

/** How the hosts deliver: a delivery is never given up. */
export const rules: HookRules = {
  targets: { allowed: [], plainHttp: false },
  alertUrl: null,
  timeoutMs: 3_000,
  connectTimeoutMs: 3_000,
  budgetMs: HOUR,
  retryCapMs: 2_000,
  concurrency: 3,
  retentionMs: 7 * 24 * HOUR,
};

/** Sends a host a command that loses no delivery. @throws the hosts' error */
export async function askSome(tools: HookTools): Promise<void> {
  const { prng, hooks, store } = tools;
  const records = store.records.all(CONSUMER);
  if (records.length < MAX_HOOKS && prng.chance(0.5)) {
    return register(tools, { filters: { events: prng.pick(filters) }, options: { enable_on_registration: true } });
  }
  if (records.length === 0) return;
  const { id, uuid, consumer, status } = prng.pick(records);
  // One that has seen no block yet would begin at the tip of then.
  if (status === 'new') return;
  const change = { uuid, consumer };
  switch (prng.below(4)) {
    case 0:
      return hooks.run('hook.set_enabled', { ...change, enabled: false });
    case 1:
      return startBackfill(tools, id);
    default:
      return hooks.run('hook.set_enabled', { ...change, enabled: true, from: 'last_evaluated' });
  }
}

/** Enables all hooks where they stopped, so that everything is delivered in the end. */
export async function enableAll(hooks: CommandsOf<HookCommands>, { records }: Ingest['hooks']): Promise<void> {
  for (const { uuid, consumer } of records.all(CONSUMER)) {
    await hooks.run('hook.set_enabled', { uuid, consumer, enabled: true, from: 'last_evaluated' });
  }
}

/** Whether nothing waits, and nothing has to be made. */
export const isAtRest = ({ deliveries, records, backfills }: Ingest['hooks']): boolean =>
  deliveries.waitingOfAll().count === 0 && records.catchingUp().length === 0 && backfills.next().length === 0;

/** The tip of the chain of the entries; null if there is none. */
function tipOf(entries: readonly Logged[]): string | null {
  const newest = winningChain(entries.map(({ path, text: body }): NodeEvent => ({ path, body, time: 0 }))).at(-1);
  return newest?.path === '/new_block' ? JSON.parse(newest.body).index_block_hash : null;
}

/** The entries before a hook was registered. */
const beforeHook = (entries: readonly Logged[], uuid: string): readonly Logged[] =>
  entries.slice(
    0,
    entries.findIndex(({ path, text }) => path === '/stackside/command' && text.includes(uuid)),
  );

/**
 * Each hook has each occurrence at least once and in order, and each id names one body.
 * @param records of any host; all are equal @param entries of the log
 */
export function holdDeliveryLaws(
  records: readonly HookRecord[],
  entries: readonly Logged[],
  arrived: readonly Arrived[],
): void {
  const events = entries.map(({ path, text: body }): NodeEvent => ({ path, body, time: 0 }));
  const tip = tipOf(entries);
  idsNameBodies(arrived);
  for (const record of records) {
    const { uuid } = record;
    const since = tipOf(beforeHook(entries, uuid));
    // One that was registered last has seen no block.
    const status = record.evaluated === 0 && since === tip ? 'new' : 'streaming';
    expect({ uuid, status: record.status }).toEqual({ uuid, status });
    const { events: filters } = parseDefinition(record).filters;
    const ofHook = arrived.filter(({ hook }) => hook === uuid);
    const hook: Hook = {
      uuid,
      filters,
      path: '/hook',
      since,
      removed: false,
      backfilled: true,
      redelivered: false,
      restored: false,
    };
    deliveredTheWinningChain(hook, inOrder(ofHook), events);
  }
}
