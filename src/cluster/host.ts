/**
 * A host of a cluster: it appends the events of its node to the log that all hosts share, and follows the entries of the
 * others. Its state is a function of the log's entries up to its last one, whatever happens on the way: no clock, no lease
 * and no leader is part of the argument, only the chain, and an append that needs the head it names.
 */
import { pause } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { unavailable } from '../store/files/store-failure.ts';
import type { Outcome, ReceivedEvent } from '../store/ingest/event.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import type { AppendEntry } from '../store/ingest/shared-entries.ts';
import type { WriterQueue } from '../store/ingest/writer-queue.ts';
import { LogUnavailableError } from '../store/log/shared-log.ts';
import { appender } from './appending.ts';
import { HostBehindError } from './errors.ts';
import type { ClusterMetrics, ClusterState } from './events.ts';
import { type Standing, standing } from './standing.ts';
import { type InTurn, type Step, type StepOptions, stepper } from './steps.ts';

/** Entries of others that may come before an event while it is taken; then its node is to send it again. */
const MOST_CONFLICTS = 20;
/** Milliseconds after which the log is looked at though it said nothing of a new entry: it may have lost some. */
const LOOK_MS = 5_000;
/** Milliseconds between two tries to reach the log, or to write what came of it. */
const RETRY_MS = 500;
/** Milliseconds between two looks whether an entry was followed. */
const NEXT_LOOK_MS = 20;

export interface ClusterHostOptions extends StepOptions {
  /** The order of all that is written. */
  queue: Pick<WriterQueue, 'run'>;
  metrics: ClusterMetrics;
  /** Told of what ends the host, once. */
  failed: (error: OperatorError) => void;
}

export interface ClusterHost {
  /**
   * Takes an event of the host's node: when this is done, the event is in the log, on the disk and in the index.
   * @throws LogUnavailableError where it could not be appended, and what {@link Ingest.receive} throws; the node sends the
   *   event again
   */
  receive(event: ReceivedEvent): Promise<Outcome>;
  state(): ClusterState;
  /** Whether the host has nearly all entries of the log. */
  isNear(): boolean;
  /** Resolves when the host has all entries that the log had when it was asked, or the signal is aborted. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /** Begins to follow the log. */
  start(): void;
  /** Ends what is under way, and closes the log. */
  stop(): Promise<void>;
}

/** Runs a job at once: whoever asks has the turn already. */
const atOnce: InTurn = (job) => job();

/** Makes what takes the events of a host's node. */
function eventTaker({ entries, say }: ClusterHostOptions, at: Standing, append: AppendEntry, step: Step) {
  async function takenOrParentless(event: ReceivedEvent): Promise<Outcome | 'conflict' | UnknownParentError> {
    try {
      return await entries.take(event, append);
    } catch (error) {
      if (error instanceof UnknownParentError) return error;
      throw error;
    }
  }

  return async (event: ReceivedEvent): Promise<Outcome> => {
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
      if (at.isFarBehind()) throw new HostBehindError();
      const outcome = await takenOrParentless(event);
      if (outcome instanceof UnknownParentError) {
        // Another host may have the parent: what it appended is followed first.
        if (!(await step(atOnce)).moved) throw outcome;
        continue;
      }
      if (outcome !== 'conflict') {
        if (outcome === 'applied') at.level();
        return outcome;
      }
      at.counts.conflicts += 1;
      say({ event: 'log_conflict', entry: entries.place().id + 1 });
      // Whoever lost the race follows first; the event is likely to be a repetition then.
      const { moved } = await step(atOnce);
      if (!moved) throw new LogUnavailableError('the log refuses an entry and has no other of its number');
    }
    throw new HostBehindError();
  };
}

/** A host of a cluster; it follows nothing before `start`. */
export function clusterHost(options: ClusterHostOptions): ClusterHost {
  const { log, entries, queue, clock, metrics, failed } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const at = standing(options, signal);
  const append = appender(log, clock, metrics);
  const step = stepper(options, at);
  /** What ended the host; null while it goes on. */
  let end: OperatorError | null = null;
  let following: Promise<void> = Promise.resolve();

  /** @returns what an event is refused with from now on */
  function fail(error: OperatorError): LogUnavailableError {
    if (end === null) {
      end = error;
      stopping.abort();
      failed(error);
    }
    return new LogUnavailableError('this host stops', { cause: end });
  }

  const take = eventTaker(options, at, append, async (inTurn) => {
    try {
      return await step(inTurn);
    } catch (error) {
      throw error instanceof OperatorError ? fail(error) : error;
    }
  });

  /** What passes is waited for, and what only the operator can mend ends the host. @throws what nobody expects */
  function onFailure(error: unknown): void {
    if (error instanceof LogUnavailableError) at.unreachable(error);
    else if (error instanceof OperatorError) fail(error);
    else if (unavailable(error) === null) throw error;
  }

  async function waitForEntries(): Promise<void> {
    const waiting = new AbortController();
    const stop = () => waiting.abort();
    const cancel = clock.after(LOOK_MS, stop);
    signal.addEventListener('abort', stop, { once: true });
    try {
      await log.wait(entries.place().id, waiting.signal);
    } finally {
      cancel();
      signal.removeEventListener('abort', stop);
    }
  }

  async function run(): Promise<void> {
    /** Whether the last step came to nothing: once, an entry may have come in between. */
    let idle = false;
    while (!signal.aborted) {
      try {
        const { moved, level } = await step((job) => queue.run(job));
        if (level && !signal.aborted) await waitForEntries();
        else if (!moved && idle) await pause(clock, RETRY_MS, signal);
        idle = !moved && !level;
      } catch (error) {
        onFailure(error);
        await pause(clock, RETRY_MS, signal);
      }
    }
  }

  return {
    async receive(event) {
      try {
        // An event is neither applied nor kept in the way of other writers as long as the log is away.
        if (!at.isReachable()) at.reached((await log.head()).seq);
        // What ends the host may happen while the event waits.
        return await queue.run(() => (end === null ? take(event) : Promise.reject(fail(end))));
      } catch (error) {
        if (error instanceof LogUnavailableError && !(error instanceof HostBehindError)) at.unreachable(error);
        throw error;
      }
    },
    state: at.state,
    isNear: at.isNear,
    async caughtUp(until) {
      for (let head: number | null = null; !until.aborted; ) {
        try {
          head ??= (await log.head()).seq;
          if (entries.place().id >= head) return;
        } catch (error) {
          onFailure(error);
        }
        await pause(clock, head === null ? RETRY_MS : NEXT_LOOK_MS, until);
      }
    },
    start() {
      following = run();
    },
    async stop() {
      stopping.abort();
      await log.close();
      await following;
    },
  };
}
