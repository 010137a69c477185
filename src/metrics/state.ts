/** Gauges of the server's state. */
import { Gauge, type Registry } from 'prom-client';

export interface ServerState {
  /** The newest block, with its time in Unix seconds; null before the first. */
  tip: { height: number; time: number } | null;
  /** The height of the newest Bitcoin block that the node reported. */
  burnBlockHeight: number;
  /** The node's own height; null where its RPC interface can't be reached. */
  nodeHeight: number | null;
  /** Pending transactions by type. */
  pending: ReadonlyMap<string, number>;
  /** Bytes of each file of the data directory, by its name. */
  files: ReadonlyMap<string, number>;
}

/** Registers the gauges. @param now Unix milliseconds @returns a function that sets them */
export function stateMetrics(registry: Registry, now: () => number): (state: ServerState) => void {
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const height = gauge('stacks_block_height', 'Height of the newest block');
  const burnHeight = gauge('burn_block_height', 'Height of the newest Bitcoin block that the node reported');
  const age = gauge('stackside_tip_age_seconds', 'Age of the newest block, in seconds');
  const reached = gauge('stackside_node_reachable', "1 if the node's RPC interface can be reached, otherwise 0");
  const behind = gauge('stackside_blocks_behind_node', 'Blocks that the node has and the index lacks');
  const pendingCount = gauge('mempool_tx_count', 'Transactions in the mempool, by type', 'type');
  const bytes = gauge('stackside_file_bytes', 'Size of each file in the data directory, in bytes', 'file');
  return ({ tip, burnBlockHeight, nodeHeight, pending, files }) => {
    height.set(tip?.height ?? 0);
    burnHeight.set(burnBlockHeight);
    if (tip !== null) age.set(Math.max(0, now() / 1000 - tip.time));
    reached.set(nodeHeight === null ? 0 : 1);
    behind.reset();
    if (nodeHeight !== null) behind.set(Math.max(0, nodeHeight - (tip?.height ?? 0)));
    pendingCount.reset();
    for (const [type, count] of pending) pendingCount.set({ type }, count);
    bytes.reset();
    for (const [file, size] of files) bytes.set({ file }, size);
  };
}
