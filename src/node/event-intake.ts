/** The intake of events from any source: accepts, logs and counts them, and finds why a block is refused. */
import { type Clock, systemClock } from '../base/clock.ts';
import { TransientError } from '../base/errors.ts';
import { PayloadError } from '../chain/payload-reader.ts';
import { ForeignChainError } from '../store/ingest/chain-identity.ts';
import { DeepForkError, PartialHistoryError } from '../store/ingest/history-start.ts';
import type { Outcome, ReceivedEvent } from '../store/ingest/ingest.ts';
import { type MissingParent, UnknownParentError } from '../store/ingest/known-blocks.ts';

export interface Refusal {
  /**
   * `gap`: lower blocks are missing. `deep_fork`: the history would start again, with too many blocks rolled back.
   * `partial_history`: the block would start a partial history, and the server requires the whole chain. `wrong_chain`:
   * the block belongs to another chain.
   */
  why: 'gap' | 'deep_fork' | 'partial_history' | 'wrong_chain';
  problem: string;
  remedy: string;
  /** Heights of the missing blocks, inclusive, and the index block hash of the last one; null if there is no gap. */
  missing: { from: number; to: number; hash: Uint8Array | null } | null;
}

const WITHOUT_TOKEN =
  "Set --node-config to the node's configuration, which has its auth token: the server then fetches the blocks from the node. Or name an archive of the chain with --from; if the data was restored to an earlier point, use a new --data directory. Or import a recording with these blocks into a new --data directory";
export const BEING_FILLED = 'Wait: the server fetches the missing blocks.';
const NEW_DIRECTORY =
  'Start with a new --data directory; or restore an archive of this chain into it (stackside serve --from)';
const OTHER_CHAIN = 'Let only nodes of one chain post to this port, and use a separate --data directory for each chain';

/** Describes missing blocks. */
export const blocksText = (from: number, to: number): string =>
  from === to ? `block ${from} is missing` : `blocks ${from}–${to} are missing`;

/** Returns the reason for refusing an event because of the chain; null for any other error. @param isFilled whether gaps are filled */
export function refusalOf(error: unknown, isFilled: boolean): Refusal | null {
  if (error instanceof ForeignChainError) {
    return { why: 'wrong_chain', problem: error.message, remedy: OTHER_CHAIN, missing: null };
  }
  if (error instanceof DeepForkError) {
    return { why: 'deep_fork', problem: error.message, remedy: NEW_DIRECTORY, missing: null };
  }
  if (error instanceof PartialHistoryError) {
    return { why: 'partial_history', problem: error.message, remedy: error.remedy, missing: null };
  }
  if (!(error instanceof UnknownParentError)) return null;
  const { missing, parent } = error;
  const from = missing?.from ?? parent?.height;
  if (from === undefined) return null;
  const to = missing?.to ?? from;
  const remedy = isFilled ? BEING_FILLED : WITHOUT_TOKEN;
  const hash = parent?.indexBlockHash ?? null;
  return { why: 'gap', problem: blocksText(from, to), remedy, missing: { from, to, hash } };
}

export type IntakeEvent =
  | { event: 'event_accepted'; path: string; outcome: 'applied' | 'repeated'; ms: number }
  | { event: 'event_rejected'; path: string; reason: string }
  | { event: 'event_failed'; path: string; reason: string }
  /** The index lacks blocks of the node. */
  | { event: 'blocks_missing'; from_height: number; to_height: number; remedy: string };

/**
 * The outcome of an event. `rejected`: the event is invalid; `failed`: it can't be applied now. In both cases, the
 * source sends it again.
 */
export type EventOutcome = Outcome | 'rejected' | 'failed';

export interface EventMetrics {
  /** Counts an answered event. @param path the event's path */
  answered(path: string, outcome: EventOutcome, milliseconds: number): void;
}

const uncounted: EventMetrics = { answered() {} };

export interface IntakeOptions {
  /** Accepts an event. The event is durable when this resolves. */
  receive: (event: ReceivedEvent) => Outcome | Promise<Outcome>;
  log: (event: IntakeEvent) => void;
  metrics?: EventMetrics;
  clock?: Clock;
  /** Fills the gap below a refused block up to its parent; missing if gaps can't be filled. */
  fill?: (parent: MissingParent) => void;
  /** Called with the reason if a block is refused, and with null if a block is accepted. */
  refused?: (refusal: Refusal | null) => void;
}

/** The result of an event: either it is durable, or nothing has changed, for the reason in `error`. */
export type IntakeResult =
  | { outcome: Outcome; error: null }
  /** `refusal` is null for errors that don't concern the chain. */
  | { outcome: 'rejected' | 'failed'; error: unknown; refusal: Refusal | null };

export type Intake = (event: ReceivedEvent) => Promise<IntakeResult>;

const MAX_CAUSES = 10;

/** Returns the messages of an error and its causes, on one line. */
export function reasonOf(error: unknown): string {
  const messages: string[] = [];
  let cause = error;
  while (cause !== undefined && cause !== null && messages.length < MAX_CAUSES) {
    messages.push(cause instanceof Error ? cause.message : String(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return messages.join(': ').replace(/\s+/g, ' ');
}

/**
 * Reports whether an event failed only because the disk or the shared log is unavailable. Their writer logs this once,
 * and the source sends the event again.
 */
export const isUnavailable = (error: unknown): error is TransientError => error instanceof TransientError;

/** Makes the intake, which logs and counts events. */
export function eventIntake({
  receive,
  log,
  metrics = uncounted,
  clock = systemClock,
  fill,
  refused = () => {},
}: IntakeOptions): Intake {
  async function accept(event: ReceivedEvent): Promise<IntakeResult> {
    try {
      return { outcome: await receive(event), error: null };
    } catch (error) {
      const outcome = error instanceof PayloadError ? 'rejected' : 'failed';
      return { outcome, error, refusal: refusalOf(error, fill !== undefined) };
    }
  }

  /** Height of the last missing block that was logged; null after a block was applied. */
  let missing: number | null = null;

  /** Logs the missing blocks once, although the node repeats its block until they are filled. */
  function logMissing({ missing: gap, remedy }: Refusal): void {
    if (gap === null || gap.to === missing) return;
    missing = gap.to;
    log({ event: 'blocks_missing', from_height: gap.from, to_height: gap.to, remedy });
  }

  function logOutcome({ outcome, error }: IntakeResult, path: string, ms: number): void {
    if (outcome === 'applied' || outcome === 'repeated')
      log({ event: 'event_accepted', path, outcome, ms: Math.round(ms) });
    else if (outcome === 'rejected') log({ event: 'event_rejected', path, reason: reasonOf(error) });
    else if (!isUnavailable(error)) log({ event: 'event_failed', path, reason: reasonOf(error) });
  }

  return async (event) => {
    const start = clock.monotonic();
    const result = await accept(event);
    const ms = clock.monotonic() - start;
    metrics.answered(event.path, result.outcome, ms);
    logOutcome(result, event.path, ms);
    if (result.error !== null) {
      if (result.refusal !== null) {
        logMissing(result.refusal);
        refused(result.refusal);
      }
    } else if (event.path === '/new_block') {
      if (result.outcome === 'applied') missing = null;
      refused(null);
    }
    if (result.error instanceof UnknownParentError && result.error.parent !== null) fill?.(result.error.parent);
    return result;
  };
}
