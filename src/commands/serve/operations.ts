/**
 * Answers /health, /ready and /metrics from the state of the index and the node: whether events can be written, and whether the
 * tip is recent enough.
 */
import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Operations, Readiness } from '../../api/operations.ts';
import { networkOf, TESTNET_CHAIN_ID } from '../../chain/network.ts';
import { processMetrics, type ServerState, stateMetrics } from '../../metrics/server.ts';
import { type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import { fileSizes } from '../../store/files/status.ts';
import { unavailable } from '../../store/files/store-failure.ts';
import type { WriterHealth } from '../../store/ingest/writer.ts';
import { NoSnapshotError } from '../../store/model/read-errors.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { spanText } from '../cli/progress.ts';
import type { ThreadMetrics } from './api-threads.ts';

interface ReadinessOptions {
  snapshots: Snapshots;
  node: NodeRpc;
  /** The writer's health; null if this process only reads. */
  health: Pick<WriterHealth, 'failing'> | null;
  /** Why a host of a cluster lags too far behind its log; null if it doesn't. */
  behind: () => string | null;
  /** Why no events come; null if they do. */
  stalled: () => string | null;
  /** The clock, in Unix milliseconds. */
  now: () => number;
}

/**
 * Blocks that the index may lag behind the node and still be ready: a node reports its own height before it has posted the
 * block.
 */
const BLOCKS_BEHIND = 2;

/** The node's height; null if its RPC interface can't be reached. */
async function nodeHeightOf(node: NodeRpc): Promise<number | null> {
  try {
    return (await node.info()).height;
  } catch (error) {
    if (error instanceof NodeUnreachableError) return null;
    throw error;
  }
}

/** Reads from the index. @returns the value, or the reason why the index can't be read; throws other errors */
export async function readOrReason<T>(
  reading: Promise<T>,
): Promise<{ read: T; reason: null } | { read: null; reason: string }> {
  try {
    return { read: await reading, reason: null };
  } catch (error) {
    if (error instanceof NoSnapshotError) return { read: null, reason: error.message };
    const failure = unavailable(error);
    if (failure === null) throw error;
    return { read: null, reason: `The index can't be read: ${failure.message}` };
  }
}

/**
 * Maximum age of mainnet's newest block, in seconds. Since epoch 3, blocks come there every few seconds, without waiting for
 * Bitcoin blocks, which may take an hour. Other networks may pause for days: a devnet mines blocks on demand.
 */
const MAINNET_TIP_AGE = 3_600;

/** Maximum age of the newest block in seconds if the node's height is unknown; null for no limit. */
const tipAgeLimit = (chainId: number): number | null =>
  networkOf(chainId).kind === 'mainnet' ? MAINNET_TIP_AGE : null;

interface Tip {
  height: number;
  /** Seconds since the block's time. */
  age: number;
  chainId: number;
}

type Finding = Pick<Readiness, 'state' | 'reason'>;
const READY: Finding = { state: 'ready', reason: null };

/** Whether the tip is recent enough. */
function freshness(tip: Tip | null, nodeHeight: number | null): Finding {
  if (tip === null) return { state: 'empty', reason: 'No block was indexed yet.' };
  if (nodeHeight !== null) {
    if (nodeHeight - tip.height <= BLOCKS_BEHIND) return READY;
    return { state: 'behind', reason: `The index is at block ${tip.height}, and the node is at block ${nodeHeight}.` };
  }
  const limit = tipAgeLimit(tip.chainId);
  if (limit === null || tip.age <= limit) return READY;
  const reason = `The newest block is ${spanText(tip.age)} old, and the node's RPC interface can't be reached.`;
  return { state: 'stale', reason };
}

/** A text that may end with the message of an error, as a sentence. */
const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The state of a server, with the reason if it isn't ready. */
async function readinessOf(options: ReadinessOptions): Promise<Readiness> {
  const { snapshots, node, health, behind, now } = options;
  const reading = snapshots.read(async (read): Promise<Tip | null> => {
    const block = read.blocks.find('latest');
    if (block === undefined) return null;
    const age = Math.max(0, Math.round(now() / 1000 - block.time));
    return { height: block.height, age, chainId: (await read.chain.chainId()) ?? TESTNET_CHAIN_ID };
  });
  const [{ read: tip, reason: unreadable }, nodeHeight] = await Promise.all([
    readOrReason(reading),
    nodeHeightOf(node),
  ]);
  const failing = health?.failing() ?? null;
  const stalled = options.stalled();
  const finding = (): Finding => {
    if (failing !== null) return { state: 'failing', reason: `Nothing can be written: ${failing.message}` };
    if (unreadable !== null) return { state: 'unreadable', reason: unreadable };
    const lag = behind();
    if (lag !== null) return { state: 'behind', reason: lag };
    if (stalled !== null) return { state: 'stalled', reason: `No events come: ${stalled}` };
    return freshness(tip, nodeHeight);
  };
  const { state, reason } = finding();
  return {
    ready: state === 'ready',
    state,
    reason: reason === null ? null : sentence(reason),
    height: tip?.height ?? null,
    node_height: nodeHeight,
    tip_age_seconds: tip?.age ?? null,
  };
}

export interface OperationsOptions {
  directory: string;
  snapshots: Snapshots;
  node: NodeRpc;
  registry: Registry;
  /** The writer's health; null if this process only reads. */
  health: Pick<WriterHealth, 'failing'> | null;
  /** Why a host of a cluster lags too far behind its log; null if it doesn't. */
  behind: () => string | null;
  /** Why no events come; null if they do. */
  stalled: () => string | null;
  /** The clock, in Unix milliseconds. */
  now: () => number;
  /** Metrics of the API threads; empty without threads. */
  threads(): Promise<ThreadMetrics[]>;
}

type IndexState = Omit<ServerState, 'nodeHeight' | 'files'>;

const NO_INDEX: IndexState = { tip: null, burnBlockHeight: 0, pending: new Map() };

/** The answers to /ready and /metrics of this process with its API threads. */
export function serverOperations(options: OperationsOptions): Operations {
  const { directory, snapshots, node, registry, threads, now } = options;
  const setState = stateMetrics(registry, now);
  processMetrics(registry);

  const readState = () =>
    snapshots.read(async (read): Promise<IndexState> => {
      const block = read.blocks.find('latest');
      const pending = new Map<string, number>();
      for (const { type, transactions } of await read.mempool.fees()) {
        pending.set(type, (pending.get(type) ?? 0) + transactions);
      }
      return {
        tip: block === undefined ? null : { height: block.height, time: block.time },
        burnBlockHeight: read.chain.tip()?.burnBlockHeight ?? 0,
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
