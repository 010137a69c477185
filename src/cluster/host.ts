/**
 * A host of a cluster: it appends the events of its node to the log that all hosts share, and follows the entries of other
 * hosts. Its state is a function of the log's entries up to its last one. That needs no clock, lease or leader, only the chain
 * values, and appends that fail unless the log's head is the one they name.
 *
 *     events and commands that wait together: apply · append if this host's last entry is the head · commit, answer
 *     another host's entry is the head: roll back · follow it · apply again, which usually finds a repetition
 *     nothing to append: read the entries after the last one · apply, many in a transaction · wait for more
 */

import { type Clock, microseconds, pause, type RandomSource } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { type Loop, startLoop } from '../base/service.ts';
import { isTransient, StoreUnavailableError, unavailable } from '../base/system-errors.ts';
import { chainIdText, chainWords } from '../chain/network.ts';
import type { Command, Commander } from '../store/ingest/commands.ts';
import type { Outcome, ReceivedEvent } from '../store/ingest/event.ts';
import type { HostEntries } from '../store/ingest/ingest.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import { type Change, type ChangeResult, ForeignEntryError } from '../store/ingest/writer.ts';
import { WriterQueue } from '../store/ingest/writer-queue.ts';
import { type Entry, type Head, sameChain } from '../store/log/entry.ts';
import { appendAndConfirm, explainMismatch, heal } from './comparing.ts';
import type { ClusterLog, ClusterMetrics, ClusterState } from './events.ts';
import {
  type AppendResult,
  DamagedLogError,
  LogUnavailableError,
  LogUnknownOutcomeError,
  type SharedLog,
} from './shared-log.ts';

/** Milliseconds until the log is tried again after a failure. */
const RETRY_MS = 500;
/** Milliseconds until a host checks again whether an entry was followed. */
const NEXT_LOOK_MS = 20;
/** Maximum entries that a host may lack and still accept events; they are followed in one batch. */
const NEAR = 500;
/** Maximum bytes of texts that are read and applied in one batch. */
const CHUNK_BYTES = 8_000_000;
/** Maximum entries of other hosts that may come first before an event or a command is refused. */
const MAX_CONFLICTS = 20;
/** Maximum events and commands that are appended together, and maximum bytes of events: applying them holds up other work. */
const MAX_BATCH = { submissions: 100, bytes: 1_000_000 };

/**
 * The error for a log that has the events of another chain than this host's data directory or settings.
 * @param logChain the chain of the log @param ownChain the other chain @param holder subject of the sentence that names the
 *   other chain
 */
export const otherChainError = (logChain: number, ownChain: number, holder: string): OperatorError =>
  new OperatorError(
    `The cluster's log belongs to ${chainWords(logChain)}, but ${holder} to ${chainWords(ownChain)}.`,
    `Check --network and the node. A host of the log has --network ${chainIdText(logChain)} and a data directory that ` +
      'no other chain used. Use another --cluster-prefix for the log of another chain.',
  );

/** The host has to follow more entries first; the node will send its event again. */
const hostBehind = () => new LogUnavailableError("this host is behind the cluster's log");

/** Returns the error of an event without its parent. @throws any other error */
function orphanOrThrow(error: unknown): UnknownParentError {
  if (error instanceof UnknownParentError) return error;
  throw error;
}

const hostStops = (cause: unknown) => new LogUnavailableError('this host stops', { cause });

export interface ClusterHostOptions {
  log: SharedLog;
  entries: HostEntries;
  /** The order of all writers of the process. */
  queue: Pick<WriterQueue, 'run'>;
  clock: Clock;
  random: Pick<RandomSource, 'uuid'>;
  /** The host's chain; null before its settings, its data or a block name it. */
  chainId: () => number | null;
  say: ClusterLog;
  metrics: ClusterMetrics;
  /** Called once, with the error that ends the host. */
  failed: (error: OperatorError) => void;
}

/** An event or a command that waits to be appended. */
interface Submission {
  change: Change;
  resolve: (outcome: ChangeResult) => void;
  reject: (error: unknown) => void;
}

const bytesOf = ({ change }: Submission): number => ('event' in change ? change.event.text.length : 0);

/** Takes the first waiting jobs, as many as are appended together; at least one. */
function takeBatch(waiting: Submission[]): Submission[] {
  let [count, bytes] = [0, 0];
  for (const submission of waiting) {
    bytes += bytesOf(submission);
    if (count > 0 && (count === MAX_BATCH.submissions || bytes > MAX_BATCH.bytes)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/** Runs a job while nothing else writes. */
type InTurn = <T>(job: () => Promise<T>) => Promise<T>;

/** Runs a job at once: the caller has the writer's turn. */
const atOnce: InTurn = (job) => job();

/**
 * Tracks whether the log answers and accepts writes, and how far the host is behind. PostgreSQL may answer reads and accept no
 * writes, such as without a standby. Times are milliseconds of the monotonic clock.
 */
class LogStatus {
  /** `corrupt`: the log answers, but its entry at this host's last one is missing or damaged. */
  #state: 'unknown' | 'answering' | 'corrupt' | 'silent' = 'unknown';
  /** Number of the log's newest entry in its last answer; null before the first answer. */
  #head: number | null = null;
  #answeredAt: number;
  /** Since when writes fail; null if the last write succeeded. */
  #writesFailingSince: number | null = null;
  /** The text of the last failure; null if the log is reachable. */
  #failure: string | null = null;
  /** When the host last had all entries of the log; null before the first time. */
  #levelAt: number | null = null;
  readonly #startedAt: number;

  constructor(
    readonly clock: Pick<Clock, 'monotonic'>,
    readonly say: ClusterLog,
    /** Aborted when the host stops, which isn't logged as a failure of the log. */
    readonly stopping: AbortSignal,
  ) {
    this.#startedAt = clock.monotonic();
    this.#answeredAt = this.#startedAt;
  }

  get isAnswering(): boolean {
    return this.#state === 'answering' || this.#state === 'corrupt';
  }

  /** Whether the host ever had all entries of the log. */
  get wasLevel(): boolean {
    return this.#levelAt !== null;
  }

  /** Returns how many entries the host lacks: negative if the log lost entries, infinite before the first answer. */
  behind(position: number): number {
    return (this.#head ?? Number.POSITIVE_INFINITY) - position;
  }

  get #isReachable(): boolean {
    return this.isAnswering && this.#writesFailingSince === null;
  }

  /** Records an answer of the log. @param head number of the log's newest entry */
  answered(head: number): void {
    if (this.#state !== 'corrupt') this.#state = 'answering';
    this.#head = head;
    this.#answeredAt = this.clock.monotonic();
    this.#resume();
  }

  /** Records that the log has new durable entries. */
  accepted(): void {
    this.#writesFailingSince = null;
    this.#resume();
  }

  #resume(): void {
    if (!this.#isReachable || this.#failure === null) return;
    this.#failure = null;
    if (!this.stopping.aborted) this.say({ event: 'service_resumed', service: 'shared_log' });
  }

  /** Records that the log has the entries of the host, and no others. */
  level(position: number): void {
    this.answered(position);
    this.#state = 'answering';
    this.#levelAt = this.#answeredAt;
  }

  /** Records why the log can't be used. Each failure is logged once. */
  failed(error: LogUnavailableError): void {
    if (error.cause instanceof DamagedLogError) {
      const { entry, fault, remedy } = error.cause;
      if (this.#state !== 'corrupt') this.say({ event: 'log_corrupt', first: entry, last: entry, fault, remedy });
      this.#state = 'corrupt';
      return;
    }
    this.#state = 'silent';
    this.#explain(error);
  }

  writeFailed(error: LogUnavailableError | LogUnknownOutcomeError): void {
    if (error.cause instanceof DamagedLogError) return;
    this.#writesFailingSince ??= this.clock.monotonic();
    this.#explain(error);
  }

  #explain(error: Error): void {
    const isLogged = this.#failure !== null;
    this.#failure = error.message;
    if (isLogged || this.stopping.aborted) return;
    this.say({ event: 'service_failing', service: 'shared_log', reason: error.message, cause: error });
  }

  state(position: number): Omit<ClusterState, 'position' | 'conflicts' | 'healed'> {
    const secondsSince = (moment: number): number => (this.clock.monotonic() - moment) / 1000;
    // While the log doesn't answer, its newest entry is unknown.
    const isLevel = this.wasLevel && this.behind(position) <= 0 && this.isAnswering;
    return {
      head: this.#head === null ? null : Math.max(this.#head, position),
      lagSeconds: isLevel ? 0 : secondsSince(this.#levelAt ?? this.#startedAt),
      failingSeconds: secondsSince(Math.min(this.#answeredAt, this.#writesFailingSince ?? this.#answeredAt)),
      reachable: this.#isReachable,
      failure: this.#failure,
    };
  }
}

/** A host of a cluster; it follows the log after `start`. */
export class ClusterHost {
  readonly #options: ClusterHostOptions;
  /** Aborted when the host is stopped, or by the error that ends it. */
  readonly #stopping = new AbortController();
  readonly #status: LogStatus;
  readonly #counts = { conflicts: 0, healed: 0 };
  /** Events and commands that wait to be appended, in order of arrival. */
  readonly #waiting: Submission[] = [];
  /** Commands with long work wait here for each other, so that one append includes at most one such command. */
  readonly #batched = new WriterQueue();
  #following: Loop | null = null;
  /** The log lost entries after the first number up to the second, and may have some back from this host: its answer was lost. */
  #unconfirmed: { after: number; last: number } | null = null;
  /** The host's chain, set once the log is known to belong to that chain. */
  #verifiedChain: number | null = null;

  constructor(options: ClusterHostOptions) {
    this.#options = options;
    this.#status = new LogStatus(options.clock, options.say, this.#stopping.signal);
  }

  get #position(): number {
    return this.#options.entries.position().id;
  }

  // ── Events and commands of this host ──

  /**
   * Accepts an event of the host's node. When it resolves, the event is in the log, on the disk and in the index.
   * @throws LogUnavailableError if it could not be appended, and the errors of {@link Ingest.receive}; the node sends the
   *   event again
   */
  async receive(event: ReceivedEvent): Promise<Outcome> {
    await this.#requireLog();
    const { isAppended } = await this.#submit({ event, isShared: true });
    return isAppended ? 'applied' : 'repeated';
  }

  /**
   * Sends commands, each as an entry of the log. When a command resolves, it is in the log, on the disk and in the index.
   * A command that was not appended, or perhaps not, rejects with LogUnavailableError.
   */
  readonly commander: Commander = {
    run: (command) => this.#send(command, false),
    runBatches: async (command) => (await this.#send(command, true)) === true,
  };

  async #send(command: Command, isBatched: boolean): Promise<unknown> {
    const { clock, random } = this.#options;
    // Old tables must not decide whether a command is refused.
    if (!this.#status.wasLevel) throw hostBehind();
    const uniqueCommand = { ...command, uuid: random.uuid(), isBatched };
    await this.#requireLog();
    const submit = () => this.#submit({ command: uniqueCommand, receivedAt: microseconds(clock), clock });
    const { result } = await (isBatched ? this.#batched.run(submit) : submit());
    return result;
  }

  /** Waits for the log before the writer's turn, so that an outage of the log doesn't block other writers. */
  async #requireLog(): Promise<void> {
    if (!this.#status.isAnswering) this.#status.answered((await this.#guard(this.#options.log.head())).id);
  }

  /** Appends an event or a command, together with others that wait for the writer's turn. */
  #submit(change: Change): Promise<ChangeResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      // With others that wait, a turn is requested already.
      if (this.#waiting.length === 1) this.#requestTurn();
    });
  }

  #requestTurn(): void {
    void this.#options.queue.run(() => {
      const batch = takeBatch(this.#waiting);
      if (this.#waiting.length > 0) this.#requestTurn();
      return this.#settle(batch);
    });
  }

  /** Appends the changes that waited together. A change that fails without the others is then tried by itself. */
  async #settle(batch: readonly Submission[]): Promise<void> {
    try {
      const outcomes = await this.#appendChanges(batch.map(({ change }) => change));
      for (const [index, submission] of batch.entries()) {
        const outcome = outcomes[index]!;
        if (outcome === null) await this.#settle([submission]);
        else submission.resolve(outcome);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /**
   * Tries until the changes are appended. After a conflict, the host follows the other host's entry and tries again.
   * @returns as `#attempt`
   * @throws LogUnavailableError if it can't succeed now, and the error of a single change
   */
  async #appendChanges(changes: readonly Change[]): Promise<readonly (ChangeResult | null)[]> {
    // The host may have ended while these waited.
    if (this.#stopping.signal.aborted) throw hostStops(this.#stopping.signal.reason);
    // The log may have failed by now. If each waiting job tried the log, the last job would wait for all their timeouts.
    if (!this.#status.isAnswering) throw new LogUnavailableError('the log did not answer');
    for (let conflicts = 0; conflicts < MAX_CONFLICTS && this.isNear(); conflicts++) {
      const outcomes = await this.#attempt(changes).catch(orphanOrThrow);
      if (Array.isArray(outcomes)) return outcomes;
      if (outcomes === 'conflict') {
        this.#counts.conflicts += 1;
        this.#options.say({ event: 'log_conflict', entry: this.#position + 1 });
      }
      // The log may have the missing parent or the conflicting entry, from another host.
      if (await this.#guard(this.#synchronise(atOnce))) continue;
      if (outcomes instanceof UnknownParentError) throw outcomes;
      const refusal = new LogUnavailableError("the log refuses an entry, but doesn't have another one with its number");
      this.#status.failed(refusal);
      throw refusal;
    }
    throw hostBehind();
  }

  /**
   * Applies changes, appends their entries to the log if this host's last one is its head, and commits.
   * @returns the outcome of each; null for one of several that failed; `conflict` if the log has another entry: then nothing
   *   has changed
   * @throws the error of a single change, StoreUnavailableError, and the errors of the append; then nothing has changed
   */
  async #attempt(changes: readonly Change[]): Promise<(ChangeResult | null)[] | 'conflict'> {
    const { entries } = this.#options;
    const head = entries.position();
    const outcomes = changes.map((change) => {
      try {
        return entries.apply(change, 'end');
      } catch (error) {
        if (changes.length === 1 || unavailable(error) !== null) throw error;
        return null;
      }
    });
    const newEntries = entries.uncommitted();
    try {
      const isInLog =
        newEntries.length === 0 || (await this.#guard(this.#appendTimed(newEntries, head))) === 'appended';
      if (!isInLog) return 'conflict';
      entries.commit();
    } finally {
      // Does nothing after the commit.
      entries.rollback();
    }
    // If the transaction was ended during the append, the host follows its own entries.
    if (this.#position < head.id + newEntries.length) {
      throw new StoreUnavailableError('io_error', new Error('the transaction was ended during the append'));
    }
    if (newEntries.length > 0) this.#level();
    return outcomes;
  }

  async #appendTimed(entries: readonly Entry[], head: Head): Promise<AppendResult> {
    const { log, clock, metrics } = this.#options;
    await this.#requireChain(true);
    const startedAt = clock.monotonic();
    const outcome = await this.#write(appendAndConfirm(log, entries, head), (result) => result === 'appended');
    if (outcome === 'appended') metrics.appended((clock.monotonic() - startedAt) / 1000, entries.length);
    return outcome;
  }

  /** Writes entries, and records whether the log accepts them. @param isAccepted whether a result proves it */
  async #write<T>(work: Promise<T>, isAccepted: (result: T) => boolean): Promise<T> {
    try {
      const result = await work;
      if (isAccepted(result)) this.#status.accepted();
      return result;
    } catch (error) {
      const isFailure = error instanceof LogUnavailableError || error instanceof LogUnknownOutcomeError;
      if (isFailure) this.#status.writeFailed(error);
      throw error;
    }
  }

  // ── Following the log ──

  /** Starts to follow the log. */
  start(): void {
    const { clock } = this.#options;
    this.#following = startLoop({ clock, everyMs: RETRY_MS, firstMs: 0, turn: () => this.#follow() });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#options.log.close();
    await this.#following?.stop();
  }

  /** Follows the log up to its end, and waits for more. @returns milliseconds until the next time; null if the host ends */
  async #follow(): Promise<number | null> {
    const { log, queue } = this.#options;
    const { signal } = this.#stopping;
    if (signal.aborted) return null;
    const hasMoved = await this.#guard(this.#synchronise((job) => queue.run(job)));
    const isLevel = this.#status.behind(this.#position) === 0;
    if (isLevel && !signal.aborted) await this.#guard(log.wait(this.#position, signal));
    return hasMoved || isLevel ? 0 : RETRY_MS;
  }

  /**
   * Synchronises host and log: the host follows entries that it lacks, or gives back entries that the log lost.
   * @param inTurn runs the parts that write; reads are done before
   * @returns whether the host or the log got entries
   * @throws LogUnavailableError, StoreUnavailableError, OperatorError
   */
  async #synchronise(inTurn: InTurn): Promise<boolean> {
    const { log, entries } = this.#options;
    const { id, chain } = entries.position();
    await this.#requireChain(false);
    const readNext = () => log.read(id, NEAR, CHUNK_BYTES);
    const [firstRead, head] = await Promise.all([readNext(), log.head()]);
    // The head's entry may have been appended after the first read.
    const newEntries = firstRead.length === 0 && head.id > id ? await readNext() : firstRead;
    this.#status.answered(head.id);
    if (newEntries.length > 0) {
      await inTurn(() => this.#followEntries(newEntries));
      if (this.#position >= head.id) this.#level();
      return true;
    }
    if (head.id > id) return false;
    if (head.id < id || !sameChain(head.chain, chain)) return inTurn(() => this.#giveBack(head));
    this.#level();
    return false;
  }

  /** Applies entries of other hosts. @throws OperatorError if they don't follow the host's last one */
  async #followEntries(newEntries: readonly Entry[]): Promise<void> {
    const { log, entries, clock, say } = this.#options;
    try {
      await entries.follow(newEntries, 'each', this.#status.wasLevel, clock.turn);
    } catch (error) {
      if (!(error instanceof ForeignEntryError)) throw error;
      throw await explainMismatch(log, entries, error);
    }
    this.#status.accepted();
    say({ event: 'log_followed', entries: newEntries.length, position: this.#position });
  }

  /** Handles a log that lost entries or has others. @returns whether the log got entries back */
  async #giveBack(head: Head): Promise<boolean> {
    const { log, entries } = this.#options;
    await this.#requireChain(true);
    try {
      const newest = await this.#write(heal(log, entries, head), (restored) => restored !== null);
      if (newest === null) return false;
      this.#reportRestored(this.#unconfirmed?.after ?? head.id, newest.id);
      return true;
    } catch (error) {
      const isUnknown = error instanceof Error && error.cause instanceof LogUnknownOutcomeError;
      if (isUnknown) this.#unconfirmed ??= { after: head.id, last: this.#position };
      throw error;
    }
  }

  /** Records that the log is level with this host, which may have appended entries since it read the log's head. */
  #level(): void {
    this.#status.level(this.#position);
    if (this.#unconfirmed !== null) this.#reportRestored(this.#unconfirmed.after, this.#unconfirmed.last);
  }

  /** @param after number of the entry before the restored ones @param last number of the last one */
  #reportRestored(after: number, last: number): void {
    this.#unconfirmed = null;
    this.#counts.healed += last - after;
    this.#options.say({ event: 'log_restored', first: after + 1, last });
  }

  /**
   * Checks that the log belongs to the host's chain, before the host reads the log or appends to it.
   * @param isAppending whether a new log, which has no chain yet, gets this host's
   * @throws OperatorError, LogUnavailableError
   */
  async #requireChain(isAppending: boolean): Promise<void> {
    const ownChain = this.#options.chainId();
    if (ownChain === null || ownChain === this.#verifiedChain) return;
    const logChain = await this.#options.log.chain(isAppending ? ownChain : null);
    if (logChain === null) return;
    if (logChain !== ownChain) throw otherChainError(logChain, ownChain, 'this host');
    this.#verifiedChain = ownChain;
  }

  /** Resolves when the host has all entries that the log has now, or the signal is aborted. */
  async caughtUp(until: AbortSignal): Promise<void> {
    const { log, clock } = this.#options;
    for (let head: number | null = null; !until.aborted; ) {
      try {
        head ??= (await this.#guard(log.head())).id;
        if (this.#position >= head) return;
      } catch (error) {
        if (!isTransient(error)) throw error;
      }
      await pause(clock, head === null ? RETRY_MS : NEXT_LOOK_MS, until);
    }
  }

  // ── State ──

  /** Uses the log. Records why the log can't be used, and ends the host if only the operator can help. */
  async #guard<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof OperatorError && !this.#stopping.signal.aborted) {
        this.#stopping.abort(error);
        this.#options.failed(error);
      }
      const failure = error instanceof OperatorError ? hostStops(error) : error;
      if (failure instanceof LogUnavailableError) this.#status.failed(failure);
      throw failure;
    }
  }

  /** Whether the host has nearly all entries of the log. */
  isNear(): boolean {
    return this.#status.behind(this.#position) <= NEAR;
  }

  state(): ClusterState {
    return { position: this.#position, ...this.#status.state(this.#position), ...this.#counts };
  }
}
