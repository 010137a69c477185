/** Answers /health, /ready and /metrics. */
import { AggregatorRegistry } from 'prom-client';
import type { Operations } from '../../api/operations.ts';
import { unavailable } from '../../base/store-failure.ts';
import { processMetrics, type ServerState, stateMetrics } from '../../metrics/server.ts';
import { infoOrNull, type NodeRpc } from '../../node/rpc.ts';
import { fileSizes } from '../../store/files/status.ts';
import { NoSnapshotError } from '../../store/model/read-errors.ts';
import type { ThreadMetrics } from './api-threads.ts';
import type { Base } from './base.ts';

const nodeHeightOf = async (node: NodeRpc): Promise<number | null> => (await infoOrNull(node))?.height ?? null;

/** Reads from the index. @returns the value, or the reason why the index can't be read; throws other errors */
export function readOrReason<T>(reading: () => T): { read: T; reason: null } | { read: null; reason: string } {
  try {
    return { read: reading(), reason: null };
  } catch (error) {
    if (error instanceof NoSnapshotError) return { read: null, reason: error.message };
    const failure = unavailable(error);
    if (failure === null) throw error;
    return { read: null, reason: `The index can't be read: ${failure.message}` };
  }
}

export interface OperationsOptions extends Pick<Base, 'snapshots' | 'node' | 'registry'> {
  directory: string;
  readiness: Operations['readiness'];
  /** The clock, in Unix milliseconds. */
  now: () => number;
  /** Whether the server was started with a simulated node, which makes blocks on request: they may have any age. */
  isSimulated: boolean;
  /** Metrics of the API threads; empty without threads. */
  threads(): Promise<ThreadMetrics[]>;
}

type IndexState = Omit<ServerState, 'nodeHeight' | 'files'>;

const NO_INDEX: IndexState = { tip: null, burnBlockHeight: 0, pending: new Map() };

/** The answers to /ready and /metrics of this process with its API threads. */
export function serverOperations(options: OperationsOptions): Operations {
  const { directory, snapshots, node, registry, readiness, threads, now, isSimulated } = options;
  const setState = stateMetrics(registry, isSimulated ? null : now);
  processMetrics(registry);

  const readState = () =>
    snapshots.read((read): IndexState => {
      const block = read.blocks.find('latest');
      const pending = new Map<string, number>();
      for (const { type, transactions } of read.mempool.fees()) {
        pending.set(type, (pending.get(type) ?? 0) + transactions);
      }
      return {
        tip: block === undefined ? null : { height: block.height, time: block.time },
        burnBlockHeight: read.chain.tip()?.burnBlockHeight ?? 0,
        pending,
      };
    });

  const stateOfIndex = (): IndexState => readOrReason(readState).read ?? NO_INDEX;

  return {
    readiness,

    async metrics() {
      const [state, nodeHeight, others] = await Promise.all([stateOfIndex(), nodeHeightOf(node), threads()]);
      setState({ ...state, nodeHeight, files: fileSizes(directory) });
      if (others.length === 0) return registry.metrics();
      return AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...others]).metrics();
    },
  };
}
