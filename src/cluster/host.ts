/**
 * A host of a cluster: it appends the events of its node to the log that all hosts share, and follows the entries of the
 * others. Its state is a function of the log's entries up to its last one, whatever happens on the way: no clock, no lease
 * and no leader is part of the argument, only the chain, and an append that needs the head it names.
 */
import type { Chance } from '../base/chance.ts';
import { pause } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { unavailable } from '../store/files/store-failure.ts';
import type { Command, Commander } from '../store/ingest/commands.ts';
import type { Outcome, ReceivedEvent } from '../store/ingest/event.ts';
import type { WriterQueue } from '../store/ingest/writer-queue.ts';
import { LogUnavailableError } from '../store/log/shared-log.ts';
import { appender } from './appending.ts';
import { HostBehindError } from './errors.ts';
import type { ClusterMetrics, ClusterState } from './events.ts';
import { ofOneChain } from './one-chain.ts';
import { racer } from './races.ts';
import { standing } from './standing.ts';
import { type StepOptions, stepper } from './steps.ts';
import { turns } from './turns.ts';

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
  chance: Pick<Chance, 'uuid'>;
  /** The chain of the host; null before its settings, its data or a block say it. */
  chainId: () => number | null;
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
  /**
   * Sends commands, each of which is an entry of the log: when one is done, it is in the log, on the disk and in the index.
   * A command whose entry could not be appended, or of which nobody knows, ends with LogUnavailableError.
   */
  commander: Commander;
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

/** Waits until the log may have a new entry. @param signal ends the wait */
async function waitForEntries({ log, entries, clock }: ClusterHostOptions, signal: AbortSignal): Promise<void> {
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

/** A host of a cluster; it follows nothing before `start`. */
export function clusterHost(given: ClusterHostOptions): ClusterHost {
  const log = ofOneChain(given.log, given.chainId);
  const options = { ...given, log };
  const { entries, queue, clock, chance, metrics, failed } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const at = standing(options, signal);
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

  /** What ends the host where only the operator can mend what it throws. */
  const ending =
    <A extends unknown[], T>(work: (...values: A) => Promise<T>) =>
    async (...values: A): Promise<T> => {
      try {
        return await work(...values);
      } catch (error) {
        throw error instanceof OperatorError ? fail(error) : error;
      }
    };
  const append = ending(appender(log, clock, metrics));
  const race = racer({ at, say: options.say, position: () => entries.place().id, step: ending(step) });

  const order = turns({
    ...{ log, at, queue, race },
    requireRunning() {
      if (end !== null) throw fail(end);
      if (signal.aborted) throw new LogUnavailableError('this host stops');
    },
  });

  async function send(command: Command, isSlice: boolean): Promise<unknown> {
    // What is refused for the state of the tables should not be refused for an old one.
    if (!at.wasLevel()) throw new HostBehindError();
    const sent = { ...command, uuid: chance.uuid(), isSlice };
    const take = async () => entries.command(sent, clock.now() * 1_000, clock, append);
    const { result, isAppended } = await order.command(take);
    if (isAppended) at.level();
    return result;
  }

  /** What passes is waited for, and what only the operator can mend ends the host. @throws what nobody expects */
  function onFailure(error: unknown): void {
    if (error instanceof LogUnavailableError) at.failed(error);
    else if (error instanceof OperatorError) fail(error);
    else if (unavailable(error) === null) throw error;
  }

  async function run(): Promise<void> {
    /** Whether the last step came to nothing: once, an entry may have come in between. */
    let idle = false;
    while (!signal.aborted) {
      try {
        const { moved, level } = await step((job) => queue.run(job));
        if (level && !signal.aborted) await waitForEntries(options, signal);
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
      const outcome = await order.event(async () => entries.event(event, append));
      if (outcome === 'applied') at.level();
      return outcome;
    },
    commander: {
      run: (command) => send(command, false),
      slice: async (command) => (await send(command, true)) === true,
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
