/** A host over a log in memory. */

import { type Clock, systemClock, systemRandom } from '../../src/base/clock.ts';
import type { OperatorError } from '../../src/base/errors.ts';
import type { ClusterEvent } from '../../src/cluster/events.ts';
import { ClusterHost } from '../../src/cluster/host.ts';
import type { SharedLog } from '../../src/cluster/shared-log.ts';
import { type HookCommands, openWithHooks } from '../../src/hooks/machine.ts';
import type { Connect } from '../../src/store/files/connection.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import type { FaucetCommands } from '../../src/store/ingest/faucet-requests.ts';
import { emptyDirectory } from '../support/data/ingest.ts';
import type { MemoryLog } from '../support/data/memory-log.ts';
import { until } from '../support/time/until.ts';

interface HostOptions {
  clock?: Clock;
  /** Its chain, as the setting names it. */
  chainId?: number | null;
  /** Opens its files. */
  connect?: Connect;
}

/**
 * Opens a host that follows on request.
 * @param directory its data, which then stays
 */
export function openHost(
  log: SharedLog,
  directory?: string,
  { clock = systemClock, chainId = null, connect }: HostOptions = {},
) {
  const temporary = directory === undefined ? emptyDirectory() : null;
  const path = directory ?? temporary?.path ?? '';
  const options = {
    directory: path,
    chainId,
    views: false,
    log: () => {},
    ...(connect === undefined ? {} : { connect }),
  };
  const { ingest, machine } = openWithHooks(options);
  const { entries, queue } = ingest;
  const logged: ClusterEvent[] = [];
  const ended: OperatorError[] = [];
  const seconds: number[] = [];
  const entriesOf: number[] = [];
  const host = new ClusterHost({
    log,
    entries,
    queue,
    chainId: ingest.chainId,
    clock,
    random: systemRandom,
    say: (event) => logged.push(event),
    metrics: {
      appended(time, count) {
        seconds.push(time);
        entriesOf.push(count);
      },
    },
    failed: (error) => ended.push(error),
  });
  return {
    directory: path,
    ingest,
    machine,
    host,
    hooks: commandsOf<HookCommands>(host.commander),
    faucets: commandsOf<FaucetCommands>(host.commander),
    logged,
    ended,
    /** Seconds and entries of each append. */
    seconds,
    entries: entriesOf,
    position: () => host.state().position,
    /** Follows until it has an entry. */
    async follow(id: number): Promise<void> {
      host.start();
      await until(() => host.state().position >= id || ended.length > 0, `entry ${id}`);
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      await queue.run(ingest.close);
      temporary?.[Symbol.dispose]();
    },
  };
}

/** Opens a host that has all entries of a log. @param client its client of the log */
export async function openFollower(
  log: MemoryLog,
  directory?: string,
  { client = log.client(), ...options }: HostOptions & { client?: SharedLog } = {},
) {
  const host = openHost(client, directory, options);
  await host.follow(log.head.id);
  return host;
}
