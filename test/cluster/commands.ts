/** Commands of users and of deliveries to the hosts of a simulated cluster. */

import type { Prng } from '../../src/devnet/prng.ts';
import type { DeliveryResult } from '../../src/hooks/commands/deliveries.ts';
import type { ResumeFrom } from '../../src/hooks/commands/hooks.ts';
import { readDefinition } from '../../src/hooks/definition/definition.ts';
import type { HookCommands } from '../../src/hooks/machine.ts';
import { everyDelivery } from '../../src/store/hooks/delivery-log.ts';
import type { Delivery, HookRecord } from '../../src/store/hooks/model.ts';
import type { CommandsOf } from '../../src/store/ingest/commands.ts';
import type { FaucetCommands } from '../../src/store/ingest/faucet-requests.ts';
import type { Ingest } from '../../src/store/ingest/ingest.ts';
import type { World } from '../simulation/world.ts';

export const CONSUMER = 'default';
const DAY = 24 * 3_600_000;
const filters = [
  [{ type: 'stx_event' }, { type: 'coinbase' }],
  [{ type: 'contract_call' }, { type: 'contract_deploy' }],
  [{ type: 'tenure_change' }, { type: 'nft_event' }, { type: 'ft_event' }],
];
const options = [
  { enable_on_registration: true },
  { enable_on_registration: true, expire_after_occurrences: 2 },
  { enable_on_registration: true, expire_after_evaluations: 3 },
  {},
];

/** The objects that choose and send a command of hooks. */
export interface HookTools {
  world: World;
  prng: Prng;
  hooks: CommandsOf<HookCommands>;
  store: Ingest['hooks'];
  tip: number;
}
type CommandTools = HookTools & { faucets: CommandsOf<FaucetCommands> };

/** The parts of a hook's definition that are drawn. */
const drawnParts = (prng: Prng) => ({ filters: { events: prng.pick(filters) }, options: prng.pick(options) });

function attemptAt({ world, prng }: CommandTools, statusCode: number) {
  const time = Math.floor(world.time) - prng.below(1_000);
  return { at: time, durationMs: prng.below(500), urlHost: 'receiver.invalid', statusCode, error: null, excerpt: 'so' };
}

function resultOf(tools: CommandTools, { id: delivery, webhookId, attempts }: Delivery): DeliveryResult {
  const ids = { delivery, webhookId, attempts };
  switch (tools.prng.below(6)) {
    case 0:
      return { ...ids, outcome: 'dead', attempt: attemptAt(tools, 410), reason: 'it is gone' };
    case 1:
      return {
        ...ids,
        outcome: 'failed',
        attempt: attemptAt(tools, 500),
        nextAt: Math.floor(tools.world.time) + 2_000,
      };
    case 2:
      return { ...ids, outcome: 'lost' };
    case 3:
      return { ...ids, outcome: 'paused' };
    default:
      return { ...ids, outcome: 'delivered', attempt: attemptAt(tools, 200) };
  }
}

/** Writes a result of the first delivery of each queue. */
async function writeResults(tools: CommandTools): Promise<void> {
  const { hooks, store, prng } = tools;
  const heads = store.deliveries
    .openQueues()
    .flatMap(({ hookId, queue }) => store.deliveries.head(hookId, queue) ?? []);
  if (heads.length === 0) return;
  // Now and then of a lease that has ended.
  const epoch = Math.max(0, 1 + Math.floor(tools.world.age / 700) - prng.below(2));
  await hooks.run('delivery.mark', { epoch, marks: heads.map((head) => resultOf(tools, head)) });
}

/** A turn of all that has something to do. */
async function advance({ hooks, store, prng }: CommandTools): Promise<void> {
  for (const hook of store.records.catchingUp()) {
    await hooks.runBatches('hook.advance', { of: 'catch_up', hook, most: 1_000 });
  }
  for (const backfill of store.backfills.next()) {
    const task = { of: 'backfill', backfill, most: 3 } as const;
    if (prng.chance(0.1)) await hooks.run('hook.fail', { task, reason: 'for a test' });
    else await hooks.runBatches('hook.advance', task);
  }
}

async function forget({ hooks, world, prng }: CommandTools): Promise<void> {
  const before = Math.floor(world.time) - prng.below(2_000);
  await hooks.run('upkeep.aged_bodies', { after: { createdAt: 0, id: 0 }, before, limit: 3 });
  await hooks.run('upkeep.rows', { before: before - 1_000, limit: 3 });
  await hooks.run('upkeep.deleted_hook', { before, limit: 2 });
  await hooks.run('upkeep.ledger', { below: 1 + prng.below(10), limit: 3 });
}

async function giveOrForget({ faucets, world, prng }: CommandTools): Promise<void> {
  if (prng.chance(0.2)) await faucets.run('faucet.forget', { time: Math.floor(world.time) - prng.below(DAY) });
  else await faucets.run('faucet.add', { currency: 'stx', address: `ST${prng.below(3)}`, ip: '127.0.0.1' });
}

async function changeSecret({ hooks, prng }: CommandTools): Promise<void> {
  const consumer = `consumer ${prng.below(2)}`;
  if (prng.chance(0.2)) await hooks.run('hook.remove_secret', { consumer });
  else await hooks.run('hook.set_secret', { consumer, secret: Buffer.from(prng.bytes(32)).toString('hex') });
}

/** Registers a hook. @param parts its filters and options */
export async function register(
  { hooks, world, prng }: HookTools,
  parts: { filters: object; options: object },
): Promise<void> {
  const action = { type: 'http_post', url: 'https://receiver.invalid/hook' };
  const name = `hook ${prng.below(1_000)}`;
  const definition = readDefinition(
    { name, version: '1', chain: 'stacks', network: 'testnet', action, ...parts },
    null,
  );
  await hooks.run('hook.register', { uuid: world.random.uuid(), consumer: CONSUMER, definition });
}

/** Starts a backfill of a hook with all blocks. */
export function startBackfill({ hooks, world, prng, tip }: HookTools, hook: number) {
  const range = { from: 1, to: Math.max(1, tip), dryRun: prng.chance(0.2), most: 2 };
  return hooks.run('backfill.start', { hook, job: world.random.uuid(), ...range });
}

async function changeHook(tools: CommandTools, { id, uuid, consumer }: HookRecord): Promise<void> {
  const { hooks, store, prng } = tools;
  const hook = { uuid, consumer };
  switch (prng.below(11)) {
    case 0:
      return hooks.run('hook.remove', hook);
    case 1:
    case 8:
      return hooks.run('hook.set_enabled', { ...hook, enabled: false });
    case 2:
    case 3:
    case 9:
      return hooks.run('hook.set_enabled', {
        ...hook,
        enabled: true,
        from: prng.pick<ResumeFrom>(['tip', 'last_evaluated', 1]),
      });
    case 4:
      return void (await hooks.run('hook.redefine', { ...hook, change: { filters: { events: prng.pick(filters) } } }));
    case 5:
    case 6:
      return startBackfill(tools, id);
    case 7: {
      const filter = { ...everyDelivery, states: ['failed', 'delivered', 'dead'] as const };
      return void (await hooks.run('delivery.redeliver_many', { ...hook, filter, after: 0, limit: 3, underWay: [] }));
    }
    default: {
      const stuck = store.deliveries.head(id, 'live');
      if (stuck !== undefined) await hooks.run('delivery.skip', { ...hook, delivery: stuck.webhookId, underWay: [] });
    }
  }
}

/** Number of hooks above which no more are registered. */
const MAX_HOOKS = 6;

/** Sends random commands. @throws the hosts' errors */
export async function sendSome(tools: CommandTools): Promise<void> {
  const { store, prng } = tools;
  const records = store.records.all(CONSUMER);
  const change = async (): Promise<void> => {
    await (records.length === 0 ? register(tools, drawnParts(prng)) : changeHook(tools, prng.pick(records)));
  };
  const send = prng.weighted<() => Promise<void>>([
    [records.length < MAX_HOOKS ? 3 : 0, () => register(tools, drawnParts(prng))],
    [6, change],
    [4, () => advance(tools)],
    [4, () => writeResults(tools)],
    [1, () => forget(tools)],
    [2, () => giveOrForget(tools)],
    [1, () => changeSecret(tools)],
  ]);
  await send();
}
