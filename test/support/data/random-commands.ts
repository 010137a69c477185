/** Random commands of a single host: chainhooks that are registered and changed, results of deliveries, payouts of faucets. */
import type { Prng } from '../../../src/devnet/prng.ts';
import type { HookCommands } from '../../../src/hooks/machine.ts';
import { HookProblem } from '../../../src/hooks/problem.ts';
import { commandsOf } from '../../../src/store/ingest/commands.ts';
import type { FaucetCommands } from '../../../src/store/ingest/faucet-requests.ts';
import type { Ingest } from '../../../src/store/ingest/ingest.ts';
import { sendSome } from '../../cluster/commands.ts';
import type { World } from '../../simulation/world.ts';

/** When all of them are sent, in Unix milliseconds. */
const NOW = 1_700_000_000_000;
const CLOCK = { now: () => NOW, monotonic: () => 0 };

/** Sends a command, which may be refused. */
export async function sendCommand(ingest: Ingest, prng: Prng): Promise<void> {
  const uuid = (): string =>
    prng
      .bytes(16)
      .toHex()
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const commander = ingest.commander(CLOCK, { uuid });
  const world = { time: NOW, age: 0, random: { uuid } } as unknown as World;
  const [hooks, faucets] = [commandsOf<HookCommands>(commander), commandsOf<FaucetCommands>(commander)];
  try {
    await sendSome({ world, prng, hooks, faucets, store: ingest.hooks, tip: ingest.history.tip().height });
  } catch (error) {
    if (!(error instanceof HookProblem)) throw error;
  }
}
