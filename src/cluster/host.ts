/**
 * A host of a cluster: it appends the events of its node to the log that all hosts share, and follows the entries of the
 * others. Its state is a function of the log's entries up to its last one, whatever happens on the way: no clock, no lease
 * and no leader is part of the argument, only the chain, and an append that needs the head it names.
 *
 *     an event, or a command: wait for the turn · apply · append where this host's last entry is the head · keep, answer
 *     another host's entry is there: roll back · follow it · apply again, which usually finds a repetition
 *     nothing to append: read what follows the last entry · apply, many together · wait for more
 */
import type { Chance } from '../base/chance.ts';
import { type Clock, pause } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { chainIdText, networkOf } from '../chain/network.ts';
import { unavailable } from '../store/files/store-failure.ts';
import type { Command, Commander } from '../store/ingest/commands.ts';
import type { Outcome, ReceivedEvent } from '../store/ingest/event.ts';
import type { HostEntries } from '../store/ingest/ingest.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import { type AppendEntry, ForeignEntryError, WriterQueue } from '../store/ingest/writer.ts';
import { type Entry, type Head, sameChain } from '../store/log/entry.ts';
import { type Appended, LogUnavailableError, type SharedLog } from '../store/log/shared-log.ts';
import { appendSurely, heal, UnsoundLogError, whyForeign } from './comparing.ts';
import type { ClusterLog, ClusterMetrics, ClusterState } from './events.ts';

/** Milliseconds between two tries to reach the log, or to write what came of it. */
const RETRY_MS = 500;
/** Milliseconds between two looks whether an entry was followed. */
const NEXT_LOOK_MS = 20;
/** Entries that a host may lack and still accept events: so many are followed at once. */
const NEAR = 500;
/** Bytes of texts that are read and applied together. */
const CHUNK_BYTES = 8_000_000;
/** Entries of others that may come before an event or a command while it is being accepted. */
const MOST_CONFLICTS = 20;

/** A network in words, with the id of its chain. */
const chainWords = (chainId: number): string => `${networkOf(chainId).kind} (chain ${chainIdText(chainId)})`;

/** The log holds the events of another chain than a data directory does, or a host by its settings. */
export class OtherChainError extends OperatorError {
  /** @param ofLog the chain of the log @param own the other one @param who whose it is, as a part of a sentence */
  constructor(ofLog: number, own: number, who: string) {
    super(
      `The cluster's log is of ${chainWords(ofLog)}, and ${who} of ${chainWords(own)}.`,
      `Check --network, --chain-id and the node. A host of the log has --chain-id ${chainIdText(ofLog)} and a data directory that ` +
        'no other chain had; a log of another chain has a --cluster-prefix of its own.',
    );
  }
}

/** The host has to follow more entries first: the node is to send its event again. */
class HostBehindError extends LogUnavailableError {
  override readonly name = 'HostBehindError';
  constructor() {
    super("this host is behind the cluster's log");
  }
}

export interface ClusterHostOptions {
  log: SharedLog;
  entries: HostEntries;
  /** The order of all that is written. */
  queue: Pick<WriterQueue, 'run'>;
  clock: Clock;
  chance: Pick<Chance, 'uuid'>;
  /** The chain of the host; null before its settings, its data or a block say it. */
  chainId: () => number | null;
  say: ClusterLog;
  metrics: ClusterMetrics;
  /** Called once with the error that ends the host. */
  failed: (error: OperatorError) => void;
}

/** An attempt to append, which returns `conflict` where another host's entry came before. */
type Attempt<T> = () => Promise<T | 'conflict'>;

/** Runs a job when nobody else writes. */
type InTurn = <T>(job: () => Promise<T>) => Promise<T>;

/** Runs a job at once: whoever asks has the turn already. */
const atOnce: InTurn = (job) => job();

/** What a synchronisation came to. */
interface Synchronised {
  /** Whether entries were followed, or given back to the log. */
  moved: boolean;
  /** Whether host and log have the same entries, as far as was read. */
  level: boolean;
}

/** A host of a cluster; it follows nothing before `start`. */
export class ClusterHost {
  readonly #options: ClusterHostOptions;
  readonly #stopping = new AbortController();
  /** Commands wait for each other before they wait for others, so that an event waits for one of them at most. */
  readonly #commands = new WriterQueue();
  #following: Promise<void> = Promise.resolve();
  /** What ended the host; null while it goes on. */
  #end: OperatorError | null = null;
  /** The host's chain that the log is known to be of. */
  #verifiedChain: number | null = null;

  // What the log and this host have of each other, as far as is known. Moments are milliseconds of the monotonic clock.
  #head: number | null = null;
  /** Whether the log answered when it was asked last; null before it was. */
  #isReachable: boolean | null = null;
  /** When the host last had all entries of the log; null before it had. */
  #levelAt: number | null = null;
  readonly #startedAt: number;
  #answeredAt: number;
  /** Whether it was said that the log is unsound at this host's end. */
  #isUnsound = false;
  #conflicts = 0;
  #healed = 0;

  constructor(options: ClusterHostOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#answeredAt = this.#startedAt;
  }

  // ── Events and commands of this host ──

  /**
   * Accepts an event of the host's node: when this is done, the event is in the log, on the disk and in the index.
   * @throws LogUnavailableError where it could not be appended, and what {@link Ingest.receive} throws; the node sends the
   *   event again
   */
  async receive(event: ReceivedEvent): Promise<Outcome> {
    const { entries } = this.#options;
    await this.#requireLog();
    const outcome = await this.#inTurn(async () => entries.event(event, this.#append));
    if (outcome === 'applied') this.#noteLevel();
    return outcome;
  }

  /**
   * Sends commands, each of which is an entry of the log: when one is done, it is in the log, on the disk and in the index.
   * A command whose entry could not be appended, or of which nobody knows, ends with LogUnavailableError.
   */
  readonly commander: Commander = {
    run: (command) => this.#send(command, false),
    runBatches: async (command) => (await this.#send(command, true)) === true,
  };

  async #send(command: Command, isBatched: boolean): Promise<unknown> {
    const { entries, clock, chance } = this.#options;
    // What is refused for the state of the tables should not be refused for an old one.
    if (this.#levelAt === null) throw new HostBehindError();
    const sent = { ...command, uuid: chance.uuid(), isBatched };
    await this.#requireLog();
    const { result, isAppended } = await this.#commands.run(() =>
      this.#inTurn(async () => entries.command(sent, clock.now() * 1_000, clock, this.#append)),
    );
    if (isAppended) this.#noteLevel();
    return result;
  }

  /** Nothing is applied, and no other writer is blocked, as long as the log is away. */
  async #requireLog(): Promise<void> {
    if (this.#isReachable === true) return;
    try {
      this.#noteAnswer(await this.#options.log.head());
    } catch (error) {
      throw this.#noteFailure(error);
    }
  }

  async #inTurn<T>(attempt: Attempt<T>): Promise<T> {
    return this.#options.queue.run(async () => {
      // What ends the host may happen while the job waits.
      if (this.#end !== null) throw this.#fail(this.#end);
      if (this.#stopping.signal.aborted) throw new LogUnavailableError('this host stops');
      // So may an outage: if each tried by itself, the last would be answered after the time-outs of all of them.
      if (this.#isReachable !== true) throw new LogUnavailableError('the log did not answer');
      try {
        return await this.#race(attempt);
      } catch (error) {
        throw this.#noteFailure(error);
      }
    });
  }

  /**
   * Repeats an attempt until it wins: whoever loses follows the entry that came before, and tries again.
   * @throws LogUnavailableError where it can't be won now, and what the attempt throws
   */
  async #race<T>(attempt: Attempt<T>): Promise<T> {
    const { entries, say } = this.#options;
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
      if (this.#head !== null && !this.isNear()) throw new HostBehindError();
      let orphan: UnknownParentError | null = null;
      try {
        const outcome = await attempt();
        if (outcome !== 'conflict') return outcome;
        this.#conflicts += 1;
        say({ event: 'log_conflict', entry: entries.position().id + 1 });
      } catch (error) {
        // Another host may have the parent.
        if (!(error instanceof UnknownParentError)) throw error;
        orphan = error;
      }
      const { moved } = await this.#ending(this.#synchronise(atOnce));
      if (!moved) throw orphan ?? new LogUnavailableError('the log refuses an entry and has no other of its number');
    }
    throw new HostBehindError();
  }

  /** Appends an entry where this host's last one is the newest of the log. */
  readonly #append: AppendEntry = (entry, head) => this.#ending(this.#appended(entry, head));

  async #appended(entry: Entry, head: Head): Promise<Appended> {
    const { log, clock, metrics } = this.#options;
    await this.#requireChain(true);
    const started = clock.monotonic();
    const outcome = await appendSurely(log, [entry], head);
    if (outcome === 'appended') metrics.appended((clock.monotonic() - started) / 1000);
    return outcome;
  }

  // ── Following the log ──

  /** Begins to follow the log. */
  start(): void {
    this.#following = this.#follow();
  }

  /** Ends what is under way, and closes the log. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#options.log.close();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { log, entries, queue, clock } = this.#options;
    const { signal } = this.#stopping;
    /** Whether the last synchronisation came to nothing: once, an entry may have come in between. */
    let idle = false;
    while (!signal.aborted) {
      try {
        const { moved, level } = await this.#synchronise((job) => queue.run(job));
        if (level && !signal.aborted) await log.wait(entries.position().id, signal);
        else if (!moved && idle) await pause(clock, RETRY_MS, signal);
        idle = !moved && !level;
      } catch (error) {
        this.#onFailure(error);
        await pause(clock, RETRY_MS, signal);
      }
    }
  }

  /**
   * Brings host and log together: the host follows what it lacks, or gives back what the log has lost.
   * @param inTurn runs what writes; what only reads is done before
   * @throws LogUnavailableError, UnsoundLogError, StoreUnavailableError, OperatorError
   */
  async #synchronise(inTurn: InTurn): Promise<Synchronised> {
    const { log, entries } = this.#options;
    const { id, chain } = entries.position();
    await this.#requireChain(false);
    const [read, head] = await Promise.all([log.read(id, NEAR, CHUNK_BYTES), log.head()]);
    this.#noteAnswer(head);
    if (read.length > 0) {
      await inTurn(() => this.#apply(read));
      const level = entries.position().id >= head.id;
      if (level) this.#noteLevel();
      return { moved: true, level };
    }
    // An entry came in between.
    if (head.id > id) return { moved: false, level: false };
    if (head.id === id && sameChain(head.chain, chain)) {
      this.#noteLevel();
      return { moved: false, level: true };
    }
    return { moved: await inTurn(() => this.#giveBack(head)), level: false };
  }

  /** Applies entries of others. @throws OperatorError where they don't follow the host's last one */
  async #apply(read: readonly Entry[]): Promise<void> {
    const { log, entries, clock, say } = this.#options;
    try {
      await entries.follow(read, this.#levelAt !== null, clock.turn);
    } catch (error) {
      if (!(error instanceof ForeignEntryError)) throw error;
      throw await whyForeign(log, entries, error);
    }
    say({ event: 'log_followed', entries: read.length, position: entries.position().id });
  }

  /** The log has lost entries, or has others. @returns whether it got some back */
  async #giveBack(head: Head): Promise<boolean> {
    const { log, entries, say } = this.#options;
    await this.#requireChain(true);
    const newest = await heal(log, entries, head);
    if (newest === null) return false;
    this.#healed += newest.id - head.id;
    say({ event: 'log_healed', first: head.id + 1, last: newest.id });
    return true;
  }

  /**
   * Verifies, before the log is read and before it accepts an entry, that it is of the chain of this host.
   * @param isAppending whether a log that is of no chain yet becomes one of this host's
   * @throws OtherChainError, LogUnavailableError
   */
  async #requireChain(isAppending: boolean): Promise<void> {
    const own = this.#options.chainId();
    if (own === null || own === this.#verifiedChain) return;
    const ofLog = await this.#options.log.chain(isAppending ? own : null);
    if (ofLog === null) return;
    if (ofLog !== own) throw new OtherChainError(ofLog, own, 'this host');
    this.#verifiedChain = own;
  }

  // ── What fails ──

  /** Ends the host. @returns what an event is refused with from now on */
  #fail(error: OperatorError): LogUnavailableError {
    if (this.#end === null) {
      this.#end = error;
      this.#stopping.abort();
      this.#options.failed(error);
    }
    return new LogUnavailableError('this host stops', { cause: this.#end });
  }

  /** What ends the host where only the operator can mend what it throws. */
  async #ending<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw error instanceof OperatorError ? this.#fail(error) : error;
    }
  }

  /** What passes is waited for, and what only the operator can mend ends the host. @throws what nobody expects */
  #onFailure(error: unknown): void {
    this.#noteFailure(error);
    if (error instanceof OperatorError) this.#fail(error);
    else if (!(error instanceof LogUnavailableError) && unavailable(error) === null) throw error;
  }

  /** Notes why the log took nothing, or can't be followed. @returns the error */
  #noteFailure(error: unknown): unknown {
    if (!(error instanceof LogUnavailableError) || error instanceof HostBehindError) return error;
    const { say } = this.#options;
    if (error instanceof UnsoundLogError) {
      const { entry, fault, remedy } = error.cause;
      if (!this.#isUnsound) say({ event: 'log_unsound', first: entry, last: entry, fault, remedy });
      this.#isUnsound = true;
      return error;
    }
    const isNews = this.#isReachable !== false && !this.#stopping.signal.aborted;
    if (isNews) say({ event: 'log_unavailable', reason: error.message, cause: error });
    this.#isReachable = false;
    return error;
  }

  // ── Where host and log stand ──

  /** The log answered. @param newest its newest entry */
  #noteAnswer({ id: head }: Head): void {
    const { entries, clock, say } = this.#options;
    this.#head = head;
    this.#answeredAt = clock.monotonic();
    if (this.#isReachable !== true) say({ event: 'log_reached', position: entries.position().id, head });
    this.#isReachable = true;
  }

  /** The host has all entries of the log. */
  #noteLevel(): void {
    this.#isUnsound = false;
    this.#levelAt = this.#options.clock.monotonic();
    this.#answeredAt = this.#levelAt;
  }

  /** Whether the host has nearly all entries of the log. */
  isNear(): boolean {
    return this.#head !== null && this.#head - this.#options.entries.position().id <= NEAR;
  }

  /** Resolves when the host has all entries that the log had when it was asked, or the signal is aborted. */
  async caughtUp(until: AbortSignal): Promise<void> {
    const { log, entries, clock } = this.#options;
    for (let head: number | null = null; !until.aborted; ) {
      try {
        head ??= (await log.head()).id;
        if (entries.position().id >= head) return;
      } catch (error) {
        this.#onFailure(error);
      }
      await pause(clock, head === null ? RETRY_MS : NEXT_LOOK_MS, until);
    }
  }

  state(): ClusterState {
    const { entries, clock } = this.#options;
    const position = entries.position().id;
    const head = this.#head;
    const secondsSince = (moment: number): number => (clock.monotonic() - moment) / 1000;
    const isLevel = head !== null && this.#levelAt !== null && position >= head;
    return {
      position,
      head: head === null ? null : Math.max(head, position),
      // What a log that does not answer has by now, nobody knows.
      lagSeconds: isLevel && this.#isReachable === true ? 0 : secondsSince(this.#levelAt ?? this.#startedAt),
      silentSeconds: secondsSince(this.#answeredAt),
      reachable: this.#isReachable === true,
      conflicts: this.#conflicts,
      healed: this.#healed,
    };
  }
}
