/** Answers /health, /ready and /metrics from the index and the node. */
import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Operations } from '../../api/operations.ts';
import { processMetrics } from '../../metrics/process.ts';
import { type ServerState, stateMetrics } from '../../metrics/state.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import { fileSizes } from '../../store/files/status.ts';
import type { WriterHealth } from '../../store/ingest/writer.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { nodeHeightOf, readinessOf, readOrReason } from './readiness.ts';
import type { ThreadMetrics } from './thread-messages.ts';

export interface OperationsOptions {
  directory: string;
  snapshots: Snapshots;
  node: NodeRpc;
  registry: Registry;
  /** The writer's health; null where this process only reads. */
  health: Pick<WriterHealth, 'failing'> | null;
  /** Why a host of a cluster is too far behind its log; null where it isn't. */
  behind: () => string | null;
  /** Why no events come, in words; null where they do. */
  stalled: () => string | null;
  /** The `--max-tip-age` setting. */
  maxTipAge: number | null;
  /** The clock, in Unix milliseconds. */
  now: () => number;
  /** The metrics of the API's threads; empty without threads. */
  threads(): Promise<ThreadMetrics[]>;
}

type IndexState = Omit<ServerState, 'nodeHeight' | 'files'>;

const NO_INDEX: IndexState = { tip: null, burnBlockHeight: 0, pending: new Map() };

/** The answers to /ready and /metrics of this process, its API threads included. */
export function serverOperations(options: OperationsOptions): Operations {
  const { directory, snapshots, node, registry, threads, now } = options;
  const setState = stateMetrics(registry, now);
  processMetrics(registry);

  const readState = () =>
    snapshots.read(async (read): Promise<IndexState> => {
      const block = await read.blocks.find('latest');
      const pending = new Map<string, number>();
      for (const { type, transactions } of await read.mempool.fees()) {
        pending.set(type, (pending.get(type) ?? 0) + transactions);
      }
      return {
        tip: block === undefined ? null : { height: block.height, time: block.time },
        burnBlockHeight: (await read.chain.tip())?.burnBlockHeight ?? 0,
        pending,
      };
    });

  const stateOfIndex = async (): Promise<IndexState> => (await readOrReason(readState())).read ?? NO_INDEX;

  return {
    readiness: () => readinessOf(options),

    async metrics() {
      const [state, nodeHeight, others] = await Promise.all([stateOfIndex(), nodeHeightOf(node), threads()]);
      setState({ ...state, nodeHeight, files: fileSizes(directory) });
      if (others.length === 0) return registry.metrics();
      return AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...others]).metrics();
    },
  };
}
