/** Answers /health, /ready and /metrics from the index and the node. */
import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Operations, Readiness } from '../api/operations.ts';
import { processMetrics } from '../metrics/process.ts';
import { type ServerState, stateMetrics } from '../metrics/state.ts';
import { type NodeRpc, NodeUnreachableError } from '../node/rpc.ts';
import { fileSizes } from '../store/files/status.ts';
import { unavailable } from '../store/files/store-failure.ts';
import type { WriterHealth } from '../store/ingest/writer-health.ts';
import { NoSnapshotError } from '../store/model/read-errors.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import type { ThreadMetrics } from './thread-messages.ts';

export interface OperationsOptions {
  directory: string;
  snapshots: Snapshots;
  node: NodeRpc;
  registry: Registry;
  /** The writer's health; null where this process only reads. */
  health: Pick<WriterHealth, 'failing'> | null;
  /** The metrics of the API's threads; empty without threads. */
  threads(): Promise<ThreadMetrics[]>;
}

/**
 * Blocks that the index may be behind the node and still be ready: a node reports its own height before it has posted
 * the block.
 */
const BLOCKS_BEHIND = 2;

async function nodeHeightOf(node: NodeRpc): Promise<number | null> {
  try {
    return (await node.info()).height;
  } catch (error) {
    if (error instanceof NodeUnreachableError) return null;
    throw error;
  }
}

/** Reads from the index. @returns the value, or the reason why the index can't be read; other errors are thrown */
async function readOrReason<T>(
  reading: Promise<T>,
): Promise<{ read: T; reason: null } | { read: null; reason: string }> {
  try {
    return { read: await reading, reason: null };
  } catch (error) {
    if (error instanceof NoSnapshotError) return { read: null, reason: error.message };
    const failure = unavailable(error);
    if (failure === null) throw error;
    return { read: null, reason: `the index can't be read: ${failure.message}` };
  }
}

function whyNot(height: number | null, nodeHeight: number | null): string | null {
  if (height === null) return 'no block was indexed yet';
  if (nodeHeight === null || nodeHeight - height <= BLOCKS_BEHIND) return null;
  return `behind the node: height ${height} of ${nodeHeight}`;
}

async function readinessOf({
  snapshots,
  node,
  health,
}: Pick<OperationsOptions, 'snapshots' | 'node' | 'health'>): Promise<Readiness> {
  const newest = snapshots.read((read) => read.blocks.find('latest'));
  const [{ read: block, reason: unreadable }, nodeHeight] = await Promise.all([
    readOrReason(newest),
    nodeHeightOf(node),
  ]);
  const height = block?.height ?? null;
  const failing = health?.failing() ?? null;
  const reason =
    failing === null ? (unreadable ?? whyNot(height, nodeHeight)) : `nothing can be written: ${failing.message}`;
  return {
    ready: reason === null,
    reason,
    height,
    node_height: nodeHeight,
    tip_age_seconds: block == null ? null : Math.max(0, Math.round(Date.now() / 1000 - block.time)),
  };
}

type IndexState = Omit<ServerState, 'nodeHeight' | 'files'>;

const NO_INDEX: IndexState = { tip: null, burnBlockHeight: 0, pending: new Map() };

/** The answers to /ready and /metrics of this process, its API threads included. */
export function serverOperations(options: OperationsOptions): Operations {
  const { directory, snapshots, node, registry, threads } = options;
  const setState = stateMetrics(registry);
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
