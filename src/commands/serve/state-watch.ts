/** Follows the state of a server: reads its inputs, remembers when heights changed, and logs each change of the state. */
import type { Readiness } from '../../api/operations.ts';
import {
  type EventSource,
  findServerStatus,
  type ServerStatus,
  type StateEvent,
  type StateReadings,
} from '../../api/server-state.ts';
import type { Clock } from '../../base/clock.ts';
import { type Loop, type Service, startLoop } from '../../base/service.ts';
import { chainIdText, networkOf } from '../../chain/network.ts';
import { BEING_FILLED, blocksText, type Refusal } from '../../node/event-intake.ts';
import { infoOrReason, type NodeInfo, type NodeRpc } from '../../node/rpc.ts';
import type { WriterHealth } from '../../store/ingest/writer-health.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { readOrFailure } from './server-readings.ts';

export interface Filling {
  /** Why it fails; null if it doesn't. */
  failure: string | null;
  /** Target height of the filling; absent if it follows from the gap. */
  goal?: number;
  /** Why the archive of --from can't be followed; null if it can, or isn't followed. */
  archiveFailure?: string | null;
}

export interface StateWatchOptions {
  snapshots: Snapshots;
  node: NodeRpc;
  /** The chain of the setting; null if the data decides. */
  chainId: number | null;
  /** The writer's health; null if this process only reads. */
  health: Pick<WriterHealth, 'failing'> | null;
  isHost: boolean;
  /** How far a host of a cluster is behind its log; null if it isn't. */
  lag: () => StateReadings['log'];
  /** Whether the last request to the log of a cluster failed. */
  logFailure: () => string | null;
  /** The source of events; null in a process that accepts none, or before it is open. */
  source: () => EventSource | null;
  /** Why the newest block is refused; null if it was accepted, or if the missing blocks have arrived since. */
  refusal: () => Refusal | null;
  /** The filling of gaps; null if nothing fills them. */
  filling: () => Filling | null;
  /** Whether the server was started with a simulated node. */
  isSimulated: boolean;
  /** The unfinished start of a devnet; null if there is none. */
  preparation: () => StateReadings['preparation'];
  /** Unix seconds of the last event since the start; null before the first one. */
  lastEvent: () => number | null;
  /** Unix seconds of the last event before the start; null if there is none. */
  lastEventBefore: number | null;
  clock: Clock;
  log: (event: StateEvent) => void;
}

/** Milliseconds between two readings without a request. */
const EVERY_MS = 5_000;
/** Seconds over which the rate of new blocks is measured. */
const RATE_SECONDS = 120;

/** Temporary states, and the state of a server that is up to date. */
const quiet: ReadonlySet<ServerStatus['state']> = new Set(['starting', 'catching_up', 'live']);

function chainProblem(node: NodeInfo | null, chainId: number | null, location: string): StateReadings['wrongChain'] {
  if (node === null || chainId === null || node.chainId === chainId) return null;
  const [theirs, ours] = [chainIdText(node.chainId), chainIdText(chainId)];
  return {
    problem: `The node at ${location} belongs to chain ${theirs}, and the data to chain ${ours}`,
    remedy: `Name a node of chain ${ours} with --node-rpc, or use another --data directory for chain ${theirs}`,
  };
}

/** Reports blocks that couldn't be filled at the start, before the node posts a block that is refused for them. */
function unfilledProblem({ failure, goal = 0 }: Filling, height: number | null): StateReadings['refusal'] {
  if (failure === null || height === null || height >= goal) return null;
  return { problem: blocksText(height + 1, goal), remedy: BEING_FILLED };
}

/** Heights over time. All times are in seconds of the monotonic clock. */
class Movement {
  readonly #start: number;
  #movedAt: number;
  #blockAt: number | null = null;
  #behindSince: number | null = null;
  #refusedBefore = false;
  #firstNodeHeight: number | null = null;
  #heights: { time: number; height: number }[] = [];
  #height: number | null = null;
  #isRead = false;

  constructor(now: number) {
    this.#start = now;
    this.#movedAt = now;
  }

  /** Records heights at a time. */
  add(time: number, height: number | null, nodeHeight: number | null, isRefused: boolean): void {
    if (height !== null && height !== this.#height && this.#isRead) {
      this.#movedAt = time;
      this.#blockAt = time;
      this.#behindSince = null;
    }
    if (isRefused && !this.#refusedBefore) this.#movedAt = time;
    this.#refusedBefore = isRefused;
    this.#height = height;
    this.#isRead = true;
    if (nodeHeight === null || nodeHeight <= (height ?? 0)) this.#behindSince = null;
    else this.#behindSince ??= time;
    this.#firstNodeHeight ??= nodeHeight;
    if (height === null) return;
    this.#heights = [...this.#heights.filter((sample) => sample.time > time - RATE_SECONDS), { time, height }];
  }

  /** Forgets the rate of blocks: while events wait for the shared log, it says nothing about the time after the outage. */
  forgetRate(): void {
    this.#heights = [];
  }

  #blocksPerSecond(): number | null {
    const [first, last] = [this.#heights[0], this.#heights.at(-1)];
    if (first === undefined || last === undefined || last.height <= first.height) return null;
    return (last.height - first.height) / (last.time - first.time);
  }

  readings(now: number, nodeHeight: number | null) {
    return {
      secondsSinceStart: now - this.#start,
      secondsSinceMove: now - this.#movedAt,
      secondsBehind: this.#behindSince === null ? null : now - this.#behindSince,
      nodeBlocksSinceStart: nodeHeight === null ? 0 : nodeHeight - (this.#firstNodeHeight ?? nodeHeight),
      blocksPerSecond: this.#blocksPerSecond(),
    };
  }

  /** Time since the last block that this process saw arrive; infinite before the first one. */
  secondsSinceBlock(now: number): number {
    return this.#blockAt === null ? Number.POSITIVE_INFINITY : now - this.#blockAt;
  }
}

/** Follows the state. It is read with each request of `/ready` and, once started, also every few seconds. */
export function watchState(
  options: StateWatchOptions,
): Service & { readiness: () => Promise<Readiness>; start: () => void } {
  const { snapshots, node, clock, log } = options;
  const seconds = () => clock.monotonic() / 1_000;
  const movement = new Movement(seconds());
  let loggedState = '';
  /** Number of the readings so far, and of the newest one that ended. */
  let [readings, newest] = [0, 0];

  const readIndex = () =>
    snapshots.read((read) => ({
      tip: read.blocks.find('latest') ?? null,
      chainId: read.chain.chainId(),
      historyStart: read.chain.historyFrom(),
    }));

  function logChange({ state, reason, next, observer }: ServerStatus): void {
    // A devnet's own node sends its first event by itself.
    const isOwnStart = options.isSimulated && options.preparation() !== null && state === 'waiting_for_the_first_event';
    if (state === loggedState || isOwnStart) return;
    loggedState = state;
    const change = { state, reason, next, ...(observer === null ? {} : { observer }) };
    log({ event: quiet.has(state) ? 'state_changed' : 'state_degraded', ...change });
  }

  /** Returns what keeps blocks from the index: why the newest one is refused, or why missing ones aren't filled. */
  function obstacles(
    info: NodeInfo | null,
    { chainId, height }: { chainId: number | null; height: number | null },
  ): Pick<StateReadings, 'wrongChain' | 'refusal' | 'filling'> {
    const refusal = options.refusal();
    const filling = options.filling();
    const startFilling = height === null ? filling : null;
    if (refusal?.why === 'wrong_chain') return { wrongChain: refusal, refusal: null, filling: startFilling };
    const wrongChain = chainProblem(info, chainId, node.location);
    if (refusal !== null) return { wrongChain, refusal, filling: refusal.why === 'gap' ? filling : startFilling };
    const gap = filling === null ? null : unfilledProblem(filling, height);
    return { wrongChain, refusal: gap, filling: gap === null ? startFilling : filling };
  }

  /** Returns the age of the last event in seconds; null if there is none, or if its age means nothing. */
  function eventAge(source: EventSource | null, tipAge: number | null, chainId: number | null): number | null {
    if (source === null) {
      // A process that accepts no events judges by the newest block, except on networks that may stand still for days.
      return chainId !== null && networkOf(chainId).kind === 'mainnet' ? tipAge : null;
    }
    const last = options.lastEvent() ?? options.lastEventBefore;
    return last === null ? null : Math.max(0, Math.floor(clock.now() / 1_000) - last);
  }

  async function readiness(): Promise<Readiness> {
    const order = ++readings;
    const { read: index, failure: readFailure } = readOrFailure(readIndex);
    const { info, reason: nodeFailure } = await infoOrReason(node);
    const tip = index?.tip ?? null;
    const height = tip?.height ?? null;
    const nodeHeight = info?.height ?? null;
    const chainId = index?.chainId ?? options.chainId;
    const blockers = obstacles(info, { chainId, height });
    const now = seconds();
    const logFailure = options.logFailure();
    // A slow reading must not count as a newer one.
    const isNewest = order > newest;
    if (isNewest) {
      newest = order;
      movement.add(now, height, nodeHeight, options.refusal() !== null || blockers.refusal !== null);
      if (logFailure !== null) movement.forgetRate();
    }
    const source = options.source();
    const tipAge = tip === null ? null : Math.round(clock.now() / 1_000 - tip.time);
    const sinceEvent = eventAge(source, tipAge, chainId);
    const failing = options.health?.failing() ?? null;
    const status = findServerStatus({
      writeFailure: failing === null ? null : { problem: failing.message, remedy: failing.remedy },
      readFailure,
      ...blockers,
      archiveFailure: options.filling()?.archiveFailure ?? null,
      source,
      nodeHeight,
      nodeFailure,
      height,
      historyStart: index?.historyStart ?? null,
      isHost: options.isHost,
      log: options.lag(),
      logFailure,
      preparation: options.preparation(),
      tipAge: options.isSimulated ? null : tipAge,
      // A host of a cluster also gets blocks from the log.
      secondsSinceEvent: sinceEvent === null ? null : Math.min(sinceEvent, movement.secondsSinceBlock(now)),
      ...movement.readings(now, nodeHeight),
    });
    if (isNewest) logChange(status);
    const { state, ready, reason, next, observer, secondsLeft } = status;
    return {
      ready,
      state,
      reason,
      next,
      observer,
      height,
      node_height: nodeHeight,
      tip_age_seconds: tipAge,
      seconds_left: secondsLeft,
    };
  }

  async function turn(): Promise<null> {
    await readiness();
    return null;
  }

  let loop: Loop | null = null;
  let endReading = () => {};
  return {
    readiness,
    start() {
      loop = startLoop({ clock, everyMs: EVERY_MS, firstMs: 0, turn });
      // Calls of `every` that are due together share a wake-up of the process.
      endReading = clock.every(EVERY_MS, loop.wake);
    },
    async stop() {
      endReading();
      await loop?.stop();
    },
  };
}
