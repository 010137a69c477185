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
import { until } from '../support/time/until.ts';

/**
 * Opens a host that follows on request.
 * @param directory its data, which then stays @param chainId its chain, as the setting names it @param connect opens its files
 */
export function openHost(
  log: SharedLog,
  directory?: string,
  clock: Clock = systemClock,
  chainId: number | null = null,
  connect?: Connect,
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
