/** A host over a log in memory, as a test opens it. */
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { OperatorError } from '../../src/base/errors.ts';
import type { ClusterEvent } from '../../src/cluster/events.ts';
import { clusterHost } from '../../src/cluster/host.ts';
import { openIngest } from '../../src/store/ingest/ingest.ts';
import type { SharedLog } from '../../src/store/log/shared-log.ts';
import { dataDirectory } from '../support/data-directory.ts';
import { until } from '../support/until.ts';

/** Opens a host that follows once it is told to. @param directory its data, which then stays */
export function openHost(log: SharedLog, directory?: string, clock: Clock = systemClock) {
  const own = directory === undefined ? dataDirectory() : null;
  const path = directory ?? own?.path ?? '';
  const ingest = openIngest({ directory: path, journal: true, chainId: null, shared: true, log: () => {} });
  const { entries, queue } = ingest;
  if (entries === null) throw new Error('it shares no log');
  const said: ClusterEvent[] = [];
  const ended: OperatorError[] = [];
  const seconds: number[] = [];
  const host = clusterHost({
    log,
    entries,
    queue,
    clock,
    say: (event) => said.push(event),
    metrics: { appended: (time) => seconds.push(time) },
    failed: (error) => ended.push(error),
  });
  return {
    directory: path,
    ingest,
    host,
    said,
    ended,
    /** Seconds of each append. */
    seconds,
    position: () => host.state().position,
    /** Follows until it has an entry. */
    async follow(seq: number): Promise<void> {
      host.start();
      await until(() => host.state().position >= seq || ended.length > 0, `entry ${seq}`);
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      await queue.run(ingest.close);
      own?.[Symbol.dispose]();
    },
  };
}
