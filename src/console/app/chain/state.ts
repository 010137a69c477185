/** The state of the server and of the chain in words, and the steps of a new server to its first block. */
import { chainIdText, MAINNET_CHAIN_ID, TESTNET_CHAIN_ID } from '../../../chain/network.ts';
import type { ServerStatus } from '../api/api.ts';
import { ago, bytes, count, duration, milliseconds, type Tone, words } from './format.ts';

interface ChainState {
  tone: Tone;
  word: string;
  /** Details: heights and the time left, or the start of the state; null if there are none. */
  detail: string | null;
}

const TONES: Readonly<Record<ServerStatus['state'], Tone>> = {
  cannot_write: 'bad',
  cannot_read: 'bad',
  wrong_chain: 'bad',
  waiting_for_the_node: 'wait',
  waiting_for_the_first_event: 'wait',
  starting: 'wait',
  stuck: 'bad',
  catching_up: 'wait',
  stale: 'bad',
  live: 'ok',
};

/** Returns the title of a state: `Catching up`. */
export const stateTitle = (state: ServerStatus['state']): string =>
  words(state).replace(/^./, (letter) => letter.toUpperCase());

/** Returns `45,000 of 200,000, 2 h 5 min left`; null if the index isn't behind the node. */
function progress({ index: { height }, node, seconds_left: left }: ServerStatus): string | null {
  if (node.height === null || height === null || node.height <= height) return null;
  return `${count(height)} of ${count(node.height)}${left === null ? '' : `, ${duration(left)} left`}`;
}

/** Returns the age of the newest block if it is old, or if the node is unreachable; null otherwise. */
function tipDetail({ state, index: { tip_age_seconds: age }, node }: ServerStatus): string | null {
  if (age === null || (state === 'live' && node.height !== null)) return null;
  return `${node.height === null ? 'node away, ' : ''}newest block ${ago(age)}`;
}

/** Returns the state of the chain. @param isAway whether the server did not answer the last request */
export function chainState(status: ServerStatus | null, isAway: boolean): ChainState {
  if (isAway) return { tone: 'bad', word: 'Server away', detail: 'it does not answer' };
  if (status === null) return { tone: 'plain', word: 'Connecting…', detail: null };
  const { state } = status;
  const isMoving = state === 'starting' || state === 'catching_up';
  const isTip = state === 'live' || state === 'stale';
  const detail = isMoving ? progress(status) : isTip ? tipDetail(status) : null;
  const tone = state === 'live' && detail !== null ? 'wait' : TONES[state];
  return { tone, word: stateTitle(state), detail };
}

const NETWORKS: Readonly<Record<number, string>> = { [MAINNET_CHAIN_ID]: 'Mainnet', [TESTNET_CHAIN_ID]: 'Testnet' };

/** Returns the name of a chain's network; null if the chain is unknown. @param isSimulated whether its node is simulated */
export const networkName = (chainId: number | null, isSimulated = false): string | null =>
  isSimulated ? 'Devnet' : chainId === null ? null : (NETWORKS[chainId] ?? `Chain ${chainIdText(chainId)}`);

/** Describes the free space of the disk, and when it will be full at the measured rate. */
export function diskText({ free_bytes: free, growth }: ServerStatus['disk']): string {
  if (free === null) return 'index and journal; the free space is unknown';
  if (growth === null) return `${bytes(free)} free; the forecast needs an hour of measurements`;
  const { full_in_seconds: full, measured_seconds: measured, bytes_per_day: lost } = growth;
  if (full === null) return `${bytes(free)} free; the disk did not fill in the last ${duration(measured)}`;
  return `${bytes(free)} free; full in ${duration(full)} at ${bytes(lost)} a day, as in the last ${duration(measured)}`;
}

type Latency = NonNullable<ServerStatus['events']>['latency'];

type FigureText = readonly [value: string, note: string];

/** Describes how long the last events took until they were on the disk. */
export const latencyFigure = (latency: Latency): FigureText =>
  latency === null
    ? ['–', 'none came since the start']
    : [
        milliseconds(latency.median_ms),
        `median until it is on the disk; 99 of 100 within ${milliseconds(latency.p99_ms)}`,
      ];

type Archive = NonNullable<ServerStatus['archive']>;

/** Describes how far the archive of the log is. */
export const archiveFigure = (archive: Omit<Archive, 'base'>): FigureText => [
  archive.behind_entries === 0 ? 'Complete' : `Behind by ${duration(Math.ceil(archive.behind_seconds))}`,
  archive.failing
    ? `the last attempt failed; see the log. The archive has entries up to ${count(archive.entry)}`
    : `entries up to ${count(archive.entry)}`,
];

/** Describes the bases of the archive, which restores start from. @param now Unix seconds */
export function baseFigure(
  { entry, height, made_at: madeAt, making, failing }: Archive['base'],
  now: number,
): FigureText {
  const value = madeAt === null ? 'None yet' : `${duration(Math.max(0, now - madeAt))} old`;
  if (making !== null) {
    const { number, of: total, table, sent_bytes: sent } = making;
    return [value, `one is being made: table ${number} of ${total}, ${table}; ${bytes(sent)} sent`];
  }
  if (failing) return [value, 'the last attempt to make one failed; see the log'];
  if (entry === null || height === null) return [value, 'a restore begins with the first entry'];
  return [value, `of height ${count(height)}, entry ${count(entry)}`];
}

/** Returns the name of an alert in words: `StacksideCannotWrite` gives `Cannot write`. */
export const alertTitle = (name: string): string =>
  name.replace(/^Stackside(?=.)/, '').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** `now` is the step that needs the operator, or waits; only one step is. */
type Progress = 'done' | 'now' | 'later';

interface FirstStep {
  name: 'Node' | 'Chain' | 'Height' | 'Observer' | 'Events';
  progress: Progress;
  text: string;
}

/** The step that shows each of these states as its problem. */
const STEP_OF: Partial<Record<ServerStatus['state'], FirstStep['name']>> = {
  wrong_chain: 'Chain',
  waiting_for_the_node: 'Node',
};

/** Returns the steps of a server without a block. A server that only reads has no step for the observer. */
export function firstSteps({ state, node, index, events, observer, simulated_node }: ServerStatus): FirstStep[] {
  const hasEvent = events?.last_received_at != null;
  const isRightChain = state !== 'wrong_chain' && node.chain_id !== null;
  const network = networkName(node.chain_id ?? index.chain_id, simulated_node);
  const isConfigured = hasEvent || (observer === null && state.startsWith('waiting'));
  const facts: [name: FirstStep['name'], isDone: boolean, text: string][] = [
    ['Node', node.height !== null, node.height === null ? 'It doesn’t answer.' : 'It answers.'],
    ['Chain', isRightChain, network === null ? 'Unknown until the node answers.' : `${network}.`],
    [
      'Height',
      (node.height ?? 0) > 0,
      node.height === null ? 'Unknown.' : `The node is at block ${count(node.height)}.`,
    ],
  ];
  if (events !== null) {
    const text = isConfigured
      ? 'The node’s configuration has the section.'
      : `The node must post to ${events.endpoint}.`;
    facts.push(['Observer', isConfigured, text]);
  }
  facts.push(['Events', hasEvent, hasEvent ? 'Events arrive. The first block is next.' : 'None has arrived yet.']);
  const openStep = facts.find(([name, isDone]) => (STEP_OF[state] === undefined ? !isDone : name === STEP_OF[state]));
  return facts.map(([name, isDone, text]) => ({
    name,
    text,
    progress: name === openStep?.[0] ? 'now' : isDone ? 'done' : 'later',
  }));
}
