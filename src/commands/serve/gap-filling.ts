/**
 * Fills blocks from the node, if the server has the node's token: the gap below a block that it rejects, and the gaps below the
 * node's tip at its first start.
 */
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { isTransient } from '../../base/system-errors.ts';
import { networkOf } from '../../chain/network.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import { toHex } from '../../codec/hex.ts';
import type { IntakeOptions } from '../../node/event-intake.ts';
import { ThrottledNode } from '../../node/facts.ts';
import { type FillEvent, fillTo } from '../../node/fill.ts';
import { nodeToken } from '../../node/node-config.ts';
import { IncompleteBlockError } from '../../node/replay.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import type { ReceivedEvent } from '../../store/ingest/event.ts';
import { DeepForkError } from '../../store/ingest/history-start.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { type MissingParent, UnknownParentError } from '../../store/ingest/known-blocks.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import type { Release, ServedCluster } from '../cluster/host.ts';
import type { ServerContext } from './server-context.ts';

export interface GapFillingOptions {
  /** The `auth_token` of the node. */
  authorization: string;
  node: NodeRpc;
  snapshots: Snapshots;
  ingest: Pick<Ingest, 'history' | 'network' | 'publish'>;
  receive: (event: ReceivedEvent) => unknown;
  /** Takes the lease for the work; null while another host has it. A host without a shared log always has the lease. */
  claim: () => Promise<Release | null>;
  clock: Clock;
  log: (event: FillEvent) => void;
}

/** Maximum requests to the node per second. */
const RATE = 200;
/** Milliseconds between a failure and the next try, since the node keeps posting the refused block. */
const PAUSE_MS = 10_000;

/** The lease of a host that shares no log. */
export const noLease: Release = async () => {};

/** The blocks of the node or the archive don't fit, or some are missing. */
const unfit = [DeepForkError, IncompleteBlockError, PayloadError, UnknownParentError];

/** Whether an error means that blocks can't be added now. Such an error doesn't stop the server. */
export const isChainFailure = (error: unknown): error is Error =>
  isTransient(error) || error instanceof OperatorError || unfit.some((kind) => error instanceof kind);

/** A fill of an index without a block. */
interface Start {
  /** Height of the first block. */
  from: number;
  /** Called once the index has a block. */
  started: () => void;
}

/** Fills gaps, one at a time. */
export function gapFilling(options: GapFillingOptions) {
  const { authorization, node, snapshots, ingest, receive, claim, clock, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | null = null;
  let restsUntil = Number.NEGATIVE_INFINITY;
  /** Why the last attempt failed; null if it succeeded. */
  let failure: string | null = null;
  /** Height up to which the last attempt filled. */
  let goal = 0;

  /** Accepts an event, and commits it: the fill of the next block reads it. */
  async function receiveAndCommit(event: ReceivedEvent): Promise<void> {
    await receive(event);
    ingest.publish();
  }

  async function fill(parent: MissingParent, start: Start | null): Promise<void> {
    const release = await claim();
    if (release === null) return;
    try {
      const { height: to_height, indexBlockHash } = parent;
      // A retry after a failure isn't logged.
      if (failure === null) log({ event: 'gap_filling', to_height, index_block_hash: toHex(indexBlockHash) });
      const network = ingest.network() ?? networkOf((await node.info()).chainId);
      const throttledNode = new ThrottledNode(node, { rate: RATE, clock, signal });
      const result = await fillTo(
        parent,
        { snapshots, history: ingest.history, network, receive: receiveAndCommit },
        {
          node: throttledNode,
          authorization,
          clock,
          signal,
          ...(start === null ? {} : { from: start.from }),
          progress: async () => start?.started(),
        },
      );
      failure = null;
      const { blocks, burnBlocks: burn_blocks, height, unanswered: accounts_not_compared } = result;
      log({ event: 'gap_filled', blocks, burn_blocks, height, accounts_not_compared });
    } finally {
      await release();
    }
  }

  async function attempt(parent: MissingParent, start: Start | null = null): Promise<void> {
    goal = parent.height;
    try {
      await fill(parent, start);
    } catch (error) {
      if (signal.aborted || (error instanceof DOMException && error.name === 'AbortError')) return;
      if (!isChainFailure(error)) throw error;
      const { message: reason } = error;
      const remedy = error instanceof OperatorError ? { remedy: error.remedy } : {};
      if (reason !== failure) log({ event: 'service_failing', service: 'gap_filling', reason, ...remedy });
      failure = reason;
      restsUntil = clock.monotonic() + PAUSE_MS;
    }
  }

  return {
    /** Fills up to a block that is the parent of a refused one, unless a gap is being filled. */
    fill(parent: MissingParent): void {
      if (running !== null || signal.aborted || clock.monotonic() < restsUntil) return;
      running = attempt(parent).finally(() => {
        running = null;
      });
    },
    /** The failure of the last attempt (null if it succeeded), and its target height. */
    state: (): { failure: string | null; goal: number } => ({ failure, goal }),
    /**
     * Fills an index without a block, from a height up to a block.
     * @returns a promise that resolves once the first block is accepted, or the fill ended without one
     */
    start(tip: MissingParent, from: number): Promise<void> {
      const { promise, resolve: started } = Promise.withResolvers<void>();
      running = attempt(tip, { from, started }).finally(() => {
        running = null;
        started();
      });
      return promise;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

/** Fills gaps in the chain if the node's token is known. @throws OperatorError if it can't be read */
export function serverFilling(
  { settings, environment, node, snapshots, log }: ServerContext,
  ingest: Ingest,
  cluster: ServedCluster | null,
  receive: IntakeOptions['receive'],
) {
  const authorization = nodeToken(settings);
  if (authorization === null) return null;
  return gapFilling({
    authorization,
    node,
    snapshots,
    ingest,
    receive,
    log,
    claim: async () => (cluster === null ? noLease : cluster.claim('fill')),
    clock: environment.clock,
  });
}
