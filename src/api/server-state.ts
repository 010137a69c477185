/**
 * The state of a server, in the same words on the terminal, in the log, in `/ready`, in `/stackside/v1/status`, in
 * `stackside status` and in the console.
 */
import { count, durationInWords, sentence } from '../base/format.ts';
import type { Refusal } from '../node/event-intake.ts';
import { type ObserverProblem, observerToml } from '../node/node-config.ts';

/** The states of a server, in the order in which their conditions are tested. The first one that holds is the state. */
export const serverStates = [
  'cannot_write',
  'cannot_read',
  'wrong_chain',
  'waiting_for_the_node',
  'waiting_for_the_first_event',
  'starting',
  'stuck',
  'catching_up',
  'stale',
  'live',
] as const;
export type ServerState = (typeof serverStates)[number];

/** The words of a state, as people read them: `catching up`. */
export const stateWords = (state: ServerState): string => state.replaceAll('_', ' ');

/** A problem with its remedy, each without a period at the end, or as sentences. */
type Obstacle = Pick<Refusal, 'problem' | 'remedy'>;

export type EventSource =
  /**
   * The node posts them to this endpoint. `config` describes the observer section in the node's configuration:
   * unknown, right, or its problem.
   */
  | { kind: 'port'; endpoint: string; config: 'unknown' | 'right' | ObserverProblem }
  /** stacks-node-publisher. `failure` is the reason why no message arrives; null if messages can arrive. */
  | { kind: 'stream'; failure: string | null };

/** Everything that decides the state. Heights are Stacks block heights; times are in seconds. */
export interface StateReadings {
  /** Why writes fail, with the next step; null if they succeed. */
  writeFailure: Obstacle | null;
  /** Why the index can't be read, with the next step; null if it can. */
  readFailure: Obstacle | null;
  /** Why the node, or a block that it sent, belongs to another chain than the data; null if it doesn't. */
  wrongChain: Obstacle | null;
  /** The source of events; null in a process that accepts none. */
  source: EventSource | null;
  /** The node's height; null if it is unknown. */
  nodeHeight: number | null;
  /** Why the node's height is unknown, as a clause; null if it is known. */
  nodeFailure: string | null;
  /** Height of the newest indexed block; null before the first one. */
  height: number | null;
  /** Height of the first block of a partial history; null if the history is complete or hasn't started. */
  historyStart: number | null;
  /** Why the newest block is refused, other than for its chain; null if it was accepted. */
  refusal: Obstacle | null;
  /** The service that fills missing or first blocks; null if there is none. `failure`: why it fails. */
  filling: { failure: string | null } | null;
  /** Why the archive of --from can't be followed; null if it can, or isn't followed. */
  archiveFailure: string | null;
  /** Whether this process is a host of a cluster, whose blocks also come from the shared log. */
  isHost: boolean;
  /** How far a host of a cluster is behind the shared log, and whether the log accepts writes; null if it isn't behind. */
  log: { reason: string; isReachable: boolean } | null;
  /** Why the shared log accepts no events, so that they wait; null if it does, and without a cluster. */
  logFailure: string | null;
  /** The work of a devnet before its chain can be used, or the problem that prevents it; null for other servers. */
  preparation: Obstacle | null;
  secondsSinceStart: number;
  /** Time since the last event; null before the first one. Events before this start count. */
  secondsSinceEvent: number | null;
  /** Age of the newest block; null before the first one, and on a simulated chain, which makes blocks on request. */
  tipAge: number | null;
  /** Time since the height last changed, or a refusal began, or since the start. */
  secondsSinceMove: number;
  /** Time since the node's height rose above the unchanged height of the index; null if it isn't above. */
  secondsBehind: number | null;
  /** Growth of the node's height since the start, in blocks. */
  nodeBlocksSinceStart: number;
  /** Blocks that the index gained per second over the last minutes; null if it gained none. */
  blocksPerSecond: number | null;
}

export interface ServerStatus {
  state: ServerState;
  /** Whether answers are up to date. */
  ready: boolean;
  /** The state in sentences; null if the server is live. */
  reason: string | null;
  /** The operator's next step, in sentences. */
  next: string;
  /** Estimated time until the index is up to date; null if there is no estimate. */
  secondsLeft: number | null;
  /** The section that the node's configuration needs, as TOML, if the next step is to add it. */
  observer: string | null;
}

interface StateChange {
  state: ServerState;
  reason: string | null;
  next: string;
  /** The section that the node's configuration needs, as TOML. */
  observer?: string;
}

export type StateEvent =
  /** The server is live, or entered a state that ends without the operator. */
  | ({ event: 'state_changed' } & StateChange)
  /** The server entered a state that needs the operator. */
  | ({ event: 'state_degraded' } & StateChange);

/** Blocks that the index may lack: a node reports a block's height before it posts the block. */
const BLOCKS_BEHIND = 2;
/** Blocks of the node, and seconds, after which a node that sends nothing is probably not configured. */
const SILENT_BLOCKS = 3;
const SILENT_SECONDS = 120;
/** Seconds without a new block after which the index isn't catching up. */
const STANDSTILL_SECONDS = 60;
/** Seconds after which the index is stale if the node has a block that the index lacks. */
const STALE_SECONDS = 600;
/** Seconds without an event after which the index is stale if the node's height is unknown. */
const SILENT_STALE_SECONDS = 1_800;
/**
 * Age of the newest block in seconds above which the index is stale, and the alert about missing blocks fires. Blocks
 * come every few seconds, but a Bitcoin block may take an hour.
 */
export const MAX_TIP_AGE_SECONDS = 3_600;
/** Number of blocks after which a partial history no longer counts as starting. */
const STARTING_BLOCKS = 100;

const WAIT = 'Wait.';
const START_NODE = 'Start the node, or name the address of its RPC interface with --node-rpc.';
const CHECK_POSTGRES =
  "Check the cluster's PostgreSQL with stackside cluster status: it must run, accept the login and have a standby. If the primary is lost, promote a standby. Stackside continues by itself.";
const CHECK_ARCHIVE = 'Check the archive of --from. Stackside retries automatically.';

/** The step for a process that accepts no events: its blocks come from other hosts, or from another process. */
const checkWriter = ({ isHost }: StateReadings): string =>
  isHost
    ? 'Check that another host of the cluster gets events: stackside cluster status, and the state of each host.'
    : 'Check the state of the server that writes to this directory.';

type StatusText = Omit<ServerStatus, 'state'>;

const describe = (reason: string, next: string, more: Partial<StatusText> = {}): StatusText => ({
  ready: false,
  reason: sentence(reason),
  next: sentence(next),
  secondsLeft: null,
  observer: null,
  ...more,
});

/**
 * Describes a server that receives no event. The node's configuration may show the reason.
 * @param next the step if the section may be missing @param ifRight the step if the section is there
 */
function describeWait(
  { endpoint, config }: Extract<EventSource, { kind: 'port' }>,
  reason: string,
  next: string,
  ifRight: string,
): StatusText {
  if (config === 'unknown') return describe(reason, next, { observer: observerToml(endpoint) });
  if (config === 'right') return describe(reason, ifRight);
  return describe(`${reason}. ${config.problem}`, config.remedy, { observer: config.section });
}

const lagOf = ({ height, nodeHeight }: StateReadings): number =>
  nodeHeight === null ? 0 : Math.max(0, nodeHeight - (height ?? 0));

const isMoving = ({ secondsSinceMove }: StateReadings): boolean => secondsSinceMove <= STANDSTILL_SECONDS;

/** Whether missing blocks are being filled: something fills them, it doesn't fail, and blocks come. */
const isFilling = (readings: StateReadings): boolean =>
  readings.refusal !== null &&
  readings.filling !== null &&
  readings.filling.failure === null &&
  readings.nodeHeight !== null &&
  isMoving(readings);

/** Whether blocks are refused, and nothing changes this. */
const isStuck = (readings: StateReadings): boolean => readings.refusal !== null && !isFilling(readings);

const positions = ({ height, nodeHeight }: StateReadings): string =>
  nodeHeight === null
    ? `The index is at block ${count(height ?? 0)}`
    : `The index is at block ${count(height ?? 0)}, and the node is at block ${count(nodeHeight)}`;

/** Whether no event has arrived, from the node or from the log of a cluster. */
const isEmpty = ({ height, secondsSinceEvent, log }: StateReadings): boolean =>
  height === null && secondsSinceEvent === null && log === null;

/** Describes a server that has all blocks of its node, but no new ones. It is ready: the node would give the same answers. */
function oldTip(readings: StateReadings): StatusText | null {
  const { tipAge, source, nodeHeight } = readings;
  if (tipAge === null || tipAge <= MAX_TIP_AGE_SECONDS) return null;
  const nodeStep = nodeHeight === null ? START_NODE : 'Check that the node is synced and has peers.';
  return describe(
    `The newest block is ${durationInWords(tipAge)} old`,
    source === null ? checkWriter(readings) : nodeStep,
    { ready: true },
  );
}

/**
 * Describes a server that gets blocks neither from a node nor from the archive of --from. It is ready until it has been silent
 * for too long.
 */
function silentSources(readings: StateReadings): StatusText | null {
  const { archiveFailure, nodeFailure, secondsSinceEvent, secondsSinceStart } = readings;
  const silence = secondsSinceEvent ?? secondsSinceStart;
  const ready = silence < SILENT_STALE_SECONDS;
  const problem = `No event has arrived for ${durationInWords(silence)}, and ${nodeFailure}`;
  if (archiveFailure !== null && silence >= STANDSTILL_SECONDS) {
    return describe(`${problem}. The archive can't be followed: ${archiveFailure}`, CHECK_ARCHIVE, { ready });
  }
  return ready ? oldTip(readings) : describe(problem, START_NODE);
}

/** Describes a server without a block whose first blocks can't be filled; null if they can. */
const failedStart = (filling: StateReadings['filling']): StatusText | null =>
  filling === null || filling.failure === null
    ? null
    : describe(
        `The first blocks can't be filled: ${filling.failure}`,
        "Check --node-rpc and the node's auth token, or the archive of --from. Stackside retries until it has a block.",
      );

const UNFILLED =
  "Check --node-rpc and the node's auth token, or the archive of --from. If the node can't return a block, give an archive that has it with --from; if the data was restored to an earlier point, use a new --data directory. Stackside retries automatically.";

/** Describes a server in one state; null if the condition of the state doesn't hold. */
type Rule = (readings: StateReadings) => StatusText | null;

/** The rules by state, in the order in which they apply: the order of {@link serverStates}. */
const rules: Readonly<Record<Exclude<ServerState, 'live'>, Rule>> = {
  cannot_write({ writeFailure, log }) {
    if (log?.isReachable === false) return describe(log.reason, CHECK_POSTGRES);
    if (writeFailure === null) return null;
    return describe(
      `Nothing can be written: ${writeFailure.problem}`,
      `${sentence(writeFailure.remedy)} The server retries, and the node sends its events again.`,
    );
  },

  cannot_read: ({ readFailure }) => (readFailure === null ? null : describe(readFailure.problem, readFailure.remedy)),

  wrong_chain: ({ wrongChain }) => (wrongChain === null ? null : describe(wrongChain.problem, wrongChain.remedy)),

  waiting_for_the_node(readings) {
    const { source, nodeHeight, nodeFailure } = readings;
    if (!isEmpty(readings) || source?.kind !== 'port' || nodeHeight !== null) return null;
    return describeWait(
      source,
      `No event has arrived, and ${nodeFailure}`,
      "Start the node, with this section in its configuration. If the node's RPC has another address, name it with --node-rpc.",
      'Start the node. If its RPC has another address, name it with --node-rpc.',
    );
  },

  waiting_for_the_first_event(readings) {
    const { source, nodeHeight, secondsSinceStart, nodeBlocksSinceStart, filling } = readings;
    if (!isEmpty(readings)) return null;
    const failed = failedStart(filling);
    if (failed !== null) return failed;
    if (source === null) {
      return describe('No block is indexed yet', checkWriter(readings));
    }
    if (source.kind === 'stream') {
      return source.failure === null
        ? describe(
            'No message has arrived from stacks-node-publisher yet',
            'Check that stacks-node-publisher receives events from its node.',
          )
        : describe(`No events arrive: ${source.failure}`, 'Check --snp and its Redis.');
    }
    return nodeBlocksSinceStart >= SILENT_BLOCKS || secondsSinceStart >= SILENT_SECONDS
      ? describeWait(
          source,
          `The node is at block ${count(nodeHeight ?? 0)} but sends nothing`,
          'Is this section in its configuration, and was the node restarted since?',
          `Its configuration has the section. Was the node restarted since, and does the endpoint in it lead to ${source.endpoint}?`,
        )
      : describeWait(
          source,
          `The node is at block ${count(nodeHeight ?? 0)}, and no event has arrived yet`,
          "Add this section to the node's configuration, and restart the node.",
          'Wait for the next block of the node. Restart the node if its configuration changed since its last start.',
        );
  },

  starting(readings) {
    const { height, nodeHeight, historyStart, refusal, log, preparation, filling } = readings;
    if (preparation !== null) return describe(preparation.problem, preparation.remedy);
    if (isStuck(readings) || log !== null) return null;
    if (height === null) {
      const failed = failedStart(filling);
      if (failed !== null) return failed;
      const start = historyStart ?? (nodeHeight === null ? null : nodeHeight + 1);
      return describe(
        start === null ? "Starting at the node's next block" : `Starting at block ${count(start)}`,
        'Wait for the first block.',
      );
    }
    if (historyStart === null || height - historyStart >= STARTING_BLOCKS) return null;
    if (lagOf(readings) <= BLOCKS_BEHIND || !isMoving(readings)) return null;
    const reason = `Starting at block ${count(historyStart)}. ${positions(readings)}`;
    return describe(reason, WAIT, { ready: refusal === null, secondsLeft: leftOf(readings) });
  },

  stuck(readings) {
    const { refusal, filling } = readings;
    if (refusal === null || !isStuck(readings)) return null;
    const failure = filling?.failure ?? null;
    if (failure === null) return describe(refusal.problem, refusal.remedy);
    return describe(`${sentence(refusal.problem)} The gap can't be filled: ${failure}`, UNFILLED);
  },

  catching_up(readings) {
    const { refusal, log, logFailure } = readings;
    if (log !== null) return describe(log.reason, WAIT);
    const isBehind = lagOf(readings) > BLOCKS_BEHIND;
    if (logFailure !== null && (isBehind || refusal !== null)) {
      return describe(`${positions(readings)}. Events wait: ${logFailure}`, CHECK_POSTGRES);
    }
    if (!(isBehind && isMoving(readings)) && refusal === null) return null;
    const gap = refusal === null ? '' : `. ${sentence(refusal.problem)} Stackside fills the gap`;
    const secondsLeft = leftOf(readings);
    const remaining = secondsLeft === null ? '' : `, ${durationInWords(secondsLeft)} left`;
    return describe(`${positions(readings)}${remaining}${gap}`, WAIT, { secondsLeft });
  },

  stale(readings) {
    const { source, nodeHeight, secondsBehind, secondsSinceMove } = readings;
    if (source?.kind === 'stream' && source.failure !== null) {
      return describe(`No events arrive: ${source.failure}`, 'Check --snp and its Redis.');
    }
    if (nodeHeight === null) return silentSources(readings);
    // A server that isn't up to date doesn't count as live before the time is over.
    const isFarBehind = lagOf(readings) > BLOCKS_BEHIND;
    if (!isFarBehind && (secondsBehind ?? 0) < STALE_SECONDS) return oldTip(readings);
    const since = Math.floor(isFarBehind ? secondsSinceMove : (secondsBehind ?? 0));
    return describe(
      `${positions(readings)}. No block has arrived for ${durationInWords(since)}`,
      source === null
        ? checkWriter(readings)
        : 'After a downtime, the node may wait for three times its timeout_ms before it sends again. If it still sends nothing, check that it has the observer section in its configuration, and that it was restarted since.',
    );
  },
};

function leftOf(readings: StateReadings): number | null {
  const { blocksPerSecond } = readings;
  const lag = lagOf(readings);
  return blocksPerSecond === null || lag === 0 ? null : Math.ceil(lag / blocksPerSecond);
}

/** Decides the state of a server: the first state with a condition that holds. */
export function findServerStatus(readings: StateReadings): ServerStatus {
  for (const [state, rule] of Object.entries(rules)) {
    const status = rule(readings);
    if (status !== null) return { state: state as ServerState, ...status };
  }
  return { state: 'live', ready: true, reason: null, next: 'Nothing to do.', secondsLeft: null, observer: null };
}
