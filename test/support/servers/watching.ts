/** The state of a server, watched with readings that a test sets and a clock that it moves. */
import { Registry } from 'prom-client';
import type { StateEvent } from '../../../src/api/server-state.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { type OperationsOptions, serverOperations } from '../../../src/commands/serve/server-readings.ts';
import { type StateWatchOptions, watchState } from '../../../src/commands/serve/state-watch.ts';
import { type NodeRpc, NodeUnreachableError } from '../../../src/node/rpc.ts';
import type { Reader } from '../../../src/store/read/index-reader.ts';
import { snapshotsBy } from '../data/snapshots-by.ts';
import { manualClock } from '../time/manual-clock.ts';

const CHAIN_ID = 0x8000_0000;

/** Watches a server whose index and node have the given heights. */
export function watching(replaced: Partial<StateWatchOptions> = {}) {
  const time = manualClock();
  const logged: StateEvent[] = [];
  const world = {
    height: null as number | null,
    nodeHeight: null as number | null,
    nodeChainId: CHAIN_ID,
    historyStart: null as number | null,
    /** Unix seconds of the newest block; null for the present time. */
    tipTime: null as number | null,
    lastEvent: null as number | null,
  };
  const reader = {
    blocks: {
      find: () =>
        world.height === null ? undefined : { height: world.height, time: world.tipTime ?? time.now() / 1_000 },
    },
    chain: { chainId: () => CHAIN_ID, historyFrom: () => world.historyStart, tip: () => null },
    mempool: { fees: () => [] },
  } as unknown as Reader;
  const node = {
    location: 'http://127.0.0.1:20443',
    async info() {
      if (world.nodeHeight === null) throw new NodeUnreachableError("the node can't be reached");
      return { chainId: world.nodeChainId, height: world.nodeHeight, burnBlockHeight: 0, indexBlockHash: null };
    },
  } as unknown as NodeRpc;
  const snapshots = replaced.snapshots ?? snapshotsBy(() => reader);
  const watch = watchState({
    node,
    chainId: null,
    health: null,
    isHost: false,
    lag: () => null,
    logFailure: () => null,
    source: () => ({ kind: 'port', endpoint: '127.0.0.1:3700', config: 'unknown' }),
    refusal: () => null,
    filling: () => null,
    isSimulated: false,
    preparation: () => null,
    lastEvent: () => world.lastEvent,
    lastEventBefore: null,
    clock: { ...systemClock, now: time.now, monotonic: time.now, every: time.every },
    log: (event) => void logged.push(event),
    ...replaced,
    snapshots,
  });
  return {
    ...watch,
    now: time.now,
    world,
    logged,
    /** Lets seconds pass, and reads the state. */
    async after(seconds: number) {
      time.tick(1_000 * seconds);
      return watch.readiness();
    },
    /** The answers to /ready and /metrics. @param directory the data whose files are measured */
    operations: (directory: string, options: Partial<OperationsOptions> = {}) =>
      serverOperations({
        directory,
        snapshots,
        node,
        readiness: watch.readiness,
        registry: new Registry(),
        threads: async () => [],
        now: time.now,
        isSimulated: replaced.isSimulated ?? false,
        ...options,
      }),
  };
}
