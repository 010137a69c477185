/**
 * The writer: the one place where entries are written to the index and the journal.
 *
 *     begin · apply(entry) · append to the log · append to the journal, which is synced · commit the index
 *
 * An entry is first applied in the open transaction of the index: one that can't be applied is refused and never appended.
 * Then it is appended to the log. A single host's log is its journal, which accepts the entry at once; the log that hosts
 * share answers later, and may answer that it has another entry. The journal commits before the index. So after a crash at
 * any moment, an entry that is not in the journal was not acknowledged and will come again, and one that is in the journal
 * but not in the index is applied before anything else.
 *
 * The commit of the index is expensive, since a block changes some hundred pages, many of which the next block changes again.
 * So the index has group commits: its transaction stays open between the entries of a group, which are pending. If it is
 * rolled back, the entries are replayed from the journal.
 *
 * Any call of either database may fail, and SQLite may have ended the transaction by itself then. After a failure nothing is
 * assumed: no transaction stays open, memory that depends on it is discarded, and the heads of both files are read before the
 * next transaction.
 */
import type { Database } from 'bun:sqlite';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { collectAll } from '../../base/garbage.ts';
import { type StoreFailure, StoreUnavailableError, unavailable } from '../../base/store-failure.ts';
import { PayloadError, readEntry, readPayload } from '../../chain/payload-reader.ts';
import { BUSY_TIMEOUT_MS, isStorageError, rollBack, setPatience, touch } from '../files/connection.ts';
import type { Imported, Journal } from '../files/journal.ts';
import type { IndexPosition } from '../files/journal-link.ts';
import { compressed, type Entry, type Head, headAfter, nextChain, sameChain } from '../log/entry.ts';
import type { Appended } from '../log/shared-log.ts';
import { COMMAND_PATH, type EntryCommand, type EntryCommands, type SentCommand } from './commands.ts';
import {
  type IngestLog,
  type Outcome,
  type PreparedEntry,
  PreparedEvent,
  type ReceivedEvent,
  type TransactionListener,
} from './event.ts';
import type { Applied, EventRouter } from './event-router.ts';
import { UnknownParentError } from './known-blocks.ts';

/** Appends entries to the log that hosts share, whose newest entry is `head`, all or none. */
export type AppendEntries = (entries: readonly Entry[], head: Head) => Promise<Appended>;

/** An entry of the log does not follow the host's last one: its number or its chain value differs. */
export class ForeignEntryError extends Error {
  override readonly name = 'ForeignEntryError';
  constructor(
    /** The number of the entry. */
    readonly id: number,
    /** The host's last entry. */
    readonly last: number,
  ) {
    super(`entry ${id} of the log does not follow entry ${last} of this host`);
  }
}

/** One of several submissions failed, for a reason of its own. Nothing has changed. */
export class OneFailedError extends Error {
  override readonly name = 'OneFailedError';
  constructor(
    /** Which of the submissions. */
    readonly index: number,
    /** What it throws if it is submitted alone. */
    override readonly cause: unknown,
  ) {
    super(`submission ${index} failed`, { cause });
  }
}

/** This program can't apply an entry that another host applied. */
class InapplicableEntryError extends OperatorError {
  constructor(
    readonly id: number,
    options: { cause: Error },
  ) {
    const { cause } = options;
    const ofOperator = cause instanceof OperatorError;
    super(
      `Entry ${id} of the log can't be applied: ${ofOperator ? cause.message.replace(/\.$/, '') : cause.message}.`,
      ofOperator
        ? cause.remedy
        : 'Run the newest Stackside of all hosts on this one, with the same settings of the chain.',
      options,
    );
  }
}

/** Whether the entry itself is the reason that it can't be applied, and not a file that can't be written or read. */
const isOfTheEntry = ({ path }: Entry, cause: unknown): cause is Error =>
  cause instanceof PayloadError ||
  cause instanceof UnknownParentError ||
  // Another host applied the command, so that it can't be refused.
  (path === COMMAND_PATH && cause instanceof Error && !isStorageError(cause));

/** Milliseconds without an event after which a group is committed. */
const GROUP_QUIET_MS = 20;
/** Group-commit window: how long an acknowledged event may stay invisible to other threads and processes. */
const GROUP_WINDOW_MS = 100;
/** Bytes of events at which a group is committed at once. */
const GROUP_BYTES = 8_000_000;
/**
 * Bytes of a group of an import or a replay. A commit writes each changed page once, and most of them hold busy accounts, so
 * large groups write fewer pages.
 */
const GROUP_BYTES_OF_IMPORT = 32_000_000;
/**
 * Number of the newest entries among which a repeated event that changes nothing in the index is looked for: several nodes may
 * post it, each of them twice.
 */
const LOOK_BACK = 1_000;

/**
 * The state of the transactions. `unrecovered`: a call failed, or none was made yet, so that the positions of the files aren't
 * known, or the journal is ahead. `pending`: the index's transaction is open with entries that the journal has committed, and
 * no write is under way. `open`: a write is under way.
 */
type State = 'unrecovered' | 'idle' | 'pending' | 'open';

interface WriterOptions {
  index: Database;
  journal: Journal;
  /** The position of the index, read and written in its open transaction. */
  indexPosition: IndexPosition;
  router: Pick<EventRouter, 'apply' | 'store'>;
  commands: Pick<EntryCommands, 'apply' | 'propose'>;
  /**
   * Returns the commands that must be entries before an event or a command of this host, in the open transaction. The writer
   * applies and appends them together with it.
   * @param of the event and what was read of it; null for a command
   * @throws as the event
   */
  first: (of: { event: ReceivedEvent; payload: EventPayload } | null) => readonly EntryCommand[];
  listeners: readonly TransactionListener[];
  /** Counts the commits of the index. */
  commits: CommitCount;
  health: WriterHealth;
  /** Called before each commit. @throws StoreUnavailableError if another process may write to the files */
  requireLock: () => void;
  /** The timer of group commits; null where each event has a commit of its own. */
  after: Clock['after'] | null;
  /** Number of the journal's last entry that is applied. */
  upTo: number;
  /** Whether the changes of replayed entries are pushed to subscribers. */
  isLive: () => boolean;
  /** Called for each event that was applied, once it is durable. */
  report: (applied: Applied) => void;
  /** Called with the number of replayed entries. */
  replayed: (entries: number) => void;
}

/** What a host has for the log: an event of its node, or a command. */
export type Submission =
  | { event: ReceivedEvent }
  /** `receivedAt` in Unix microseconds. */
  | { command: SentCommand; receivedAt: number; clock: Pick<Clock, 'monotonic'> };

/** The outcome of a submission. */
export interface Submitted {
  /** What the command's function returned, or whether the work in batches is done. */
  result: unknown;
  /** Whether it became an entry of the log; one that changes nothing does not. */
  isAppended: boolean;
}

/** Proposals that were applied in the open transaction. */
interface AppliedProposals {
  /** The last entry before them. */
  head: Head;
  /** The outcome of each. */
  submitted: Submitted[];
  entries: Entry[];
}

/** What was read of an event. */
type EventPayload = Parameters<EventRouter['apply']>[0];

/** A submission that can be applied. */
interface Proposal {
  /** As of an event. */
  read?: ReceivedEvent['read'] | undefined;
  /**
   * Applies it in the open transaction.
   * @param id number of its entry @param before the entries that are appended together with it
   */
  apply(id: number, before: readonly Entry[]): Proposed;
  /** Called once it is durable. */
  accepted(): void;
}

/** The outcome of a proposal that was applied and is not in the log yet. */
interface Proposed {
  result: unknown;
  /** The commands that become entries before its own. */
  first: readonly ReceivedEvent[];
  /** The event that becomes its own entry; null if it changed nothing. */
  event: ReceivedEvent | null;
}

export class Writer {
  /** The order of all writes, where not only the node's events are written. */
  readonly queue = new WriterQueue();
  readonly #options: WriterOptions;
  #state: State = 'unrecovered';
  /** Whether the index's transaction has entries that the journal committed. */
  #hasPending = false;
  /** Whether to wait for a lock of another process. The wait blocks this thread, so there is only one until the lock is free. */
  #isPatient = true;
  /** The position of the index in the open transaction; null until it is read. It is written with each commit. */
  #position: Head | null = null;
  #isMoved = false;
  #committedPosition: Head | null = null;
  /** The last entry: a node that missed the answer sends the event again. */
  readonly #last = lastEvent();
  /** The events of a batch that are applied in the open transaction. */
  #batch: ReceivedEvent[] = [];
  /** Bytes of the pending group, and the functions that cancel its timers: since the last event, and since the first. */
  #bytes = 0;
  #cancelQuiet: (() => void) | null = null;
  #cancelWindow: (() => void) | null = null;

  /** Number of the journal's last entry that is applied. */
  #upTo: number;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#upTo = options.upTo;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** The last entry of the index, including the open transaction. */
  position(): Head {
    this.#position ??= this.#options.indexPosition.current();
    return this.#position;
  }

  /** The last entry that readers can see. */
  committedPosition(): Head {
    if (this.#committedPosition === null) this.recover();
    return this.#committedPosition ?? this.position();
  }

  // ── Entries of this host ──

  /**
   * Accepts an event of a single host's node. When this returns, the event is in the journal, which is the log, and on the disk.
   * @throws PayloadError if it can't be read, UnknownParentError if its parent must come first; then nothing has changed.
   *   StoreUnavailableError if it could not be written: it must be sent again
   */
  event(event: ReceivedEvent): Outcome {
    // Entries that only the journal has are applied first, so that a repeated event is recognised.
    this.recover();
    if (this.#last.is(event)) {
      return this.#wholly(() => {
        if (this.#noteProgress(event)) this.#addToGroup(event.text.length);
        return 'repeated';
      });
    }
    const proposal = this.#proposedEvent(event, false);
    const { isAppended } = this.#submit(proposal, () => this.#addToGroup(event.text.length));
    return isAppended ? 'applied' : 'repeated';
  }

  /**
   * Accepts a command of a single host, which readers see when this returns. One that changes nothing is not appended.
   * @param receivedAt Unix microseconds
   * @throws the error of the command's function; then nothing has changed
   */
  command(command: SentCommand, receivedAt: number, clock: Pick<Clock, 'monotonic'>): Submitted {
    return this.#submit(this.#proposedCommand(command, receivedAt, clock), () => this.#commit());
  }

  /**
   * Accepts events and commands of a host that shares a log, by one append and one commit. When this resolves, all are in the
   * log, on the disk and in the index.
   * @returns the outcome of each; `conflict` if the log has another entry; then nothing has changed
   * @throws as `event` and `command` if there is one, OneFailedError if there are several, and the errors of `append`; then
   *   nothing has changed
   */
  async together(submissions: readonly Submission[], append: AppendEntries): Promise<Submitted[] | 'conflict'> {
    const isOne = submissions.length === 1;
    const proposals = submissions.map((one, index) =>
      namingOne(isOne, index, () =>
        'event' in one
          ? this.#proposedEvent(one.event, true)
          : this.#proposedCommand(one.command, one.receivedAt, one.clock),
      ),
    );
    const applied = this.#begun(proposals);
    if (applied.entries.length > 0 && (await this.#appended(applied, append)) === 'conflict') {
      this.rollback();
      return 'conflict';
    }
    this.#finish(proposals, applied.entries, () => this.#commit());
    return applied.submitted;
  }

  /** Appends entries to the shared log. @throws as `append`; then the transaction is rolled back */
  async #appended({ entries, head }: AppliedProposals, append: AppendEntries): Promise<Appended> {
    try {
      return await append(entries, head);
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /**
   * @param isShared whether others append to the log, too: a single host's node sends an event again at once, before any other
   * @throws PayloadError
   */
  #proposedEvent(event: ReceivedEvent, isShared: boolean): Proposal {
    const { journal, router, report } = this.#options;
    const payload = readPayload(event.path, event.text);
    const isKnown = (id: number, before: readonly Entry[]): boolean =>
      this.#last.is(event) ||
      (payload.kind === 'other' &&
        (before.some(({ path, text }) => path === event.path && text === event.text) ||
          journal.holdsAfter(id - LOOK_BACK, event)));
    let applied: Applied | null = null;
    return {
      read: event.read,
      apply: (id, before) => {
        if (isShared && isKnown(id, before)) return { result: null, first: [], event: null };
        const first = this.#applyFirst({ event, payload }, event.receivedAt);
        applied = router.apply(payload, event, id + first.length, true);
        return { result: null, first, event: applied.outcome === 'applied' ? event : null };
      },
      accepted() {
        if (applied?.outcome === 'applied') report(applied);
      },
    };
  }

  #proposedCommand(command: SentCommand, receivedAt: number, clock: Pick<Clock, 'monotonic'>): Proposal {
    return {
      apply: () => {
        const first = this.#applyFirst(null, receivedAt);
        return { first, ...this.#options.commands.propose(command, receivedAt, clock) };
      },
      accepted() {},
    };
  }

  /** Applies the commands that must come before an event or a command. @returns the events that become their entries */
  #applyFirst(of: Parameters<WriterOptions['first']>[0], receivedAt: number): ReceivedEvent[] {
    const { first, commands } = this.#options;
    const events = first(of).map((command) => ({
      ...{ path: COMMAND_PATH, text: JSON.stringify(command), receivedAt },
    }));
    for (const event of events) commands.apply(event);
    return events;
  }

  /**
   * Applies the proposal of a single host, and appends its entries to the journal.
   * @param commit makes the entries durable
   */
  #submit(proposal: Proposal, commit: () => void): Submitted {
    const { submitted, entries } = this.#begun([proposal]);
    this.#finish([proposal], entries, commit);
    return submitted[0]!;
  }

  /** Appends the entries of applied proposals to the journal. @param commit makes them durable */
  #finish(proposals: readonly Proposal[], entries: readonly Entry[], commit: () => void): void {
    this.#wholly(() => {
      if (entries.length > 0) this.#guarded(() => this.#appendToJournal(entries));
      const hasProgress = proposals.filter((one) => this.#noteProgress(one)).length > 0;
      if (entries.length > 0 || hasProgress) commit();
      else this.#endUnused();
    });
    for (const one of proposals) one.accepted();
  }

  /** Opens a transaction and applies proposals in it. @throws as `together` */
  #begun(proposals: readonly Proposal[]): AppliedProposals {
    this.#begin();
    const head = this.#guarded(() => this.position());
    const isOne = proposals.length === 1;
    const entries: Entry[] = [];
    const submitted = proposals.map(({ apply }, index) =>
      namingOne(isOne, index, () =>
        this.#inTransaction(() => {
          const last = entries.at(-1) ?? head;
          const { result, first, event } = apply(last.id + 1, entries);
          for (const { path, text, receivedAt } of event === null ? first : [...first, event]) {
            const entry = { path, text, receivedAt };
            entries.push({ ...entry, ...headAfter(entries.at(-1) ?? head, entry) });
          }
          const added = entries.at(-1);
          if (added !== undefined) this.#moveTo(added);
          return { result, isAppended: event !== null };
        }),
      ),
    );
    if (submitted.some(({ isAppended }) => isAppended)) return { head, submitted, entries };
    // Commands that came first are no entries of their own.
    if (entries.length > 0) this.rollback();
    return { head, submitted, entries: [] };
  }

  #appendToJournal(entries: readonly Entry[]): void {
    this.#requireOpen();
    for (const entry of entries) this.#options.journal.append(entry, compressed(entry.text));
    this.#last.note(entries.at(-1));
  }

  /** Writes how far the source of an event is read, in the open transaction or in a new one. @returns whether it did */
  #noteProgress({ read }: Pick<Proposal, 'read'>): boolean {
    if (read === undefined) return false;
    this.setImported(read.source, read.upTo);
    return true;
  }

  /** Stored with the next entries that become durable. */
  setImported(source: string, upTo: Imported): void {
    this.#begin();
    this.#guarded(() => this.#options.journal.imports.set(source, upTo));
  }

  /** Makes an applied event durable in the journal, and pending in the index. */
  #addToGroup(bytes: number): void {
    const { after, health } = this.#options;
    // While writes fail, each event tries a whole commit.
    if (after === null || health.failing() !== null) {
      this.#commit();
      return;
    }
    this.#commitToJournal();
    this.#bytes += bytes;
    if (this.#bytes >= GROUP_BYTES) {
      this.publish();
      return;
    }
    const publish = (): void => this.publish();
    this.#cancelQuiet?.();
    this.#cancelQuiet = after(GROUP_QUIET_MS, publish);
    this.#cancelWindow ??= after(GROUP_WINDOW_MS, publish);
  }

  /**
   * Commits the pending group, so that others can read it. A failure is noted in the writer's health: the entries are replayed
   * from the journal later, and readers see what was committed before.
   */
  publish(): void {
    this.#cancelQuiet?.();
    this.#cancelWindow?.();
    this.#cancelQuiet = null;
    this.#cancelWindow = null;
    this.#bytes = 0;
    try {
      this.#commitPending();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  // ── Events of an import ──

  /**
   * Applies an event of a batch, which `commitBatchToJournal` or `commitBatch` makes durable. If an event fails, those before
   * it are applied again, which costs less than a savepoint before each event.
   * @throws as `event`; those before it stay applied, unless the store fails
   */
  applyInBatch(event: ReceivedEvent): Applied {
    const { router } = this.#options;
    try {
      const { path, receivedAt, prepared } = event;
      const payload = prepared?.payload ?? readPayload(path, event.text);
      this.#begin();
      const head = this.#guarded(() => this.position());
      const { first, applied } = this.#inTransaction(() => {
        const commands = this.#applyFirst({ event, payload }, receivedAt);
        const id = head.id + commands.length + 1;
        return { first: commands, applied: router.apply(payload, event, id, false) };
      });
      for (const command of first) this.#appendInBatch(command, headAfter(this.position(), command));
      if (applied.outcome === 'applied') {
        const next = headAfter(this.position(), event, prepared?.text);
        this.#appendInBatch(event, next, prepared?.text.compressed);
      }
      this.#batch.push(event instanceof PreparedEvent ? event.unread : event);
      return applied;
    } catch (error) {
      if (this.isOpen) throw error;
      const before = this.#batch.splice(0);
      if (unavailable(error) === null) for (const one of before) this.applyInBatch(one);
      throw error;
    }
  }

  #appendInBatch(event: ReceivedEvent, head: Head, text = compressed(event.text)): void {
    this.#moveTo(head);
    this.#guarded(() =>
      this.#options.journal.append({ path: event.path, receivedAt: event.receivedAt, ...head }, text),
    );
  }

  /** Makes the applied events durable. Readers may not see them before `commitBatch`. @throws StoreUnavailableError */
  commitBatchToJournal(): void {
    this.#commitToJournal();
    this.#bytes += this.#batch.reduce((sum, event) => sum + (event.prepared?.length ?? event.text.length), 0);
    this.#batch = [];
    if (this.#bytes < GROUP_BYTES_OF_IMPORT) return;
    this.#bytes = 0;
    this.#commitPending();
    collectAll();
  }

  /** Makes the applied events durable and readable. @throws StoreUnavailableError */
  commitBatch(): void {
    this.#batch = [];
    this.#bytes = 0;
    this.#commit();
    this.#commitPending();
  }

  /** Rolls back the events applied since the last `commitBatchToJournal`. @throws StoreUnavailableError */
  rollbackBatch(): void {
    this.#batch = [];
    this.rollback();
  }

  // ── Entries that are in the log ──

  /** Applies an entry in the open transaction. */
  #apply(entry: Entry, live: boolean): Applied {
    const applied = this.#applied(entry, live);
    // An entry that changes nothing (it may have, before a fix of this program) has its number all the same.
    this.#moveTo(entry);
    return applied;
  }

  #applied(entry: Entry, live: boolean): Applied {
    const { router, commands } = this.#options;
    if (entry.path !== COMMAND_PATH) return router.apply(readEntry(entry.path, entry.text), entry, entry.id, live);
    commands.apply(entry);
    return { outcome: 'applied', change: null };
  }

  /**
   * Applies entries of the log, and skips those that the host has already.
   * @param live whether their changes are pushed to subscribers
   * @param turn yields to other work between two entries
   * @throws ForeignEntryError, InapplicableEntryError; then those before it are applied
   * @throws StoreUnavailableError; then none of them is applied
   */
  async follow(entries: readonly Entry[], live: boolean, turn: () => Promise<void>): Promise<void> {
    this.#begin();
    const last = this.#guarded(() => this.position());
    const { following, foreign } = linked(last, entries);
    try {
      await this.#followTogether(following, live, turn);
    } catch (error) {
      if (!(error instanceof InapplicableEntryError)) throw error;
      const count = following.findIndex(({ id }) => id === error.id);
      await this.#followTogether(following.slice(0, count), live, turn);
      throw error;
    }
    if (foreign !== null) throw new ForeignEntryError(foreign, following.at(-1)?.id ?? last.id);
  }

  /** Applies entries in one transaction, all of them or none. */
  async #followTogether(entries: readonly Entry[], live: boolean, turn: () => Promise<void>): Promise<void> {
    const done: Applied[] = [];
    try {
      this.#begin();
      for (const entry of entries) {
        this.#guarded(() => this.#requireOpen());
        done.push(this.#followed(entry, live));
        await turn();
      }
      if (entries.length > 0) this.#last.note(entries.at(-1));
      this.#commit();
    } catch (error) {
      this.rollback();
      throw error;
    }
    for (const one of done) this.#options.report(one);
  }

  #followed(entry: Entry, live: boolean): Applied {
    try {
      const applied = this.#inTransaction(() => this.#apply(entry, live));
      this.#guarded(() => this.#options.journal.append(entry, compressed(entry.text)));
      return applied;
    } catch (cause) {
      throw isOfTheEntry(entry, cause) ? new InapplicableEntryError(entry.id, { cause }) : cause;
    }
  }

  /** Applies the entries that only the journal has: after a crash, after a failure, or for a new index. */
  #replay(): void {
    const { journal, isLive, report, replayed } = this.#options;
    const first = this.position().id;
    const end = Math.min(journal.lastId(), this.#upTo);
    let at = first;
    while (at < end) {
      let bytes = 0;
      this.#onIndex(() => {
        for (const entry of journal.entriesAfter(at)) {
          report(this.#apply(entry, isLive()));
          at = entry.id;
          bytes += entry.text.length;
          if (bytes >= GROUP_BYTES_OF_IMPORT || at === end) break;
        }
      });
      if (bytes >= GROUP_BYTES_OF_IMPORT) collectAll();
    }
    if (at > first) replayed(at - first);
    // A commit that was reported as failed may be durable: the node then sends an event that is known.
    this.#last.note(journal.read(end));
  }

  /**
   * Applies entries of the journal that were read ahead, in groups; for a new index. The last group is committed by `catchUp`.
   * @throws OperatorError where one doesn't follow the one before, StoreUnavailableError
   */
  replay(entries: Iterable<PreparedEntry>): void {
    const { index, journal, report } = this.#options;
    this.#guarded(() => {
      this.#noteLoss();
      this.#recover();
      if (this.#state !== 'pending') index.run('BEGIN IMMEDIATE');
      for (const entry of entries) {
        const next = this.position().id + 1;
        if (entry.id !== next) throw journal.missing(next);
        report(this.#appliedAhead(entry));
        this.#moveTo(entry);
        this.#bytes += entry.length;
      }
      this.#state = 'pending';
      this.#hasPending = true;
    });
    if (this.#bytes < GROUP_BYTES_OF_IMPORT) return;
    this.#bytes = 0;
    this.#commitPending();
    collectAll();
  }

  #appliedAhead({ content, ...entry }: PreparedEntry): Applied {
    const { journal, router, isLive } = this.#options;
    if ('text' in content) return this.#applied({ ...entry, ...content }, isLive());
    const event: ReceivedEvent = {
      ...entry,
      get text() {
        const again = journal.read(entry.id);
        if (again === undefined) throw journal.missing(entry.id);
        return again.text;
      },
    };
    return router.apply(content.payload, event, entry.id, isLive());
  }

  /**
   * Applies the entries that the journal has and the index lacks, whatever `upTo` says, and those that another process appends
   * meanwhile; for an index that is made beside a server.
   * @throws StoreUnavailableError
   */
  catchUp(): void {
    this.#upTo = Number.POSITIVE_INFINITY;
    this.#commitPending();
    this.recover();
    for (let before = -1; before < this.position().id; ) {
      before = this.position().id;
      this.#guarded(() => this.#replay());
      this.#committed();
    }
  }

  // ── What is no entry ──

  /**
   * Writes to a local table, which is no function of the log, all or nothing.
   * @throws what `work` throws, StoreUnavailableError
   */
  local<T>(work: () => T): T {
    if (this.isOpen) throw new Error('a transaction is open');
    this.#commitPending();
    const result = this.#guarded(() => {
      this.#recover();
      this.#state = 'open';
      return this.#onIndex(work);
    });
    this.#committed();
    return result;
  }

  /** Makes the smallest possible write to both files. @throws StoreUnavailableError */
  probe(): void {
    const { index, journal } = this.#options;
    this.#begin();
    this.#guarded(() => {
      touch(index);
      journal.touch();
    });
    this.#commit();
  }

  // ── The transaction ──

  /** Brings the index to the head of the journal, if a failure left it behind. @throws StoreUnavailableError */
  recover(): void {
    this.#guarded(() => this.#recover());
  }

  /** Rolls back the open transaction. Entries that the journal committed are replayed. @throws StoreUnavailableError */
  rollback(): void {
    if (!this.isOpen) return;
    this.abandon();
    if (this.#state === 'unrecovered') this.recover();
  }

  /** Rolls back the open transaction. Entries that the journal committed are replayed before the next one. */
  abandon(): void {
    if (!this.isOpen) return;
    const hasPending = this.#hasPending;
    this.#forget();
    this.#guarded(() => this.#rollBackFiles());
    this.#state = hasPending ? 'unrecovered' : 'idle';
    this.#hasPending = false;
  }

  /** Opens a transaction on both files, unless one is open; continues a pending one. @throws StoreUnavailableError */
  #begin(): void {
    if (this.isOpen) return;
    const { index, journal } = this.#options;
    this.#guarded(() => {
      this.#noteLoss();
      this.#recover();
      if (this.#state !== 'pending') index.run('BEGIN IMMEDIATE');
      journal.begin();
    });
    this.#state = 'open';
  }

  /** Makes the open transaction durable and readable. @throws StoreUnavailableError; then it is rolled back, or in the journal */
  #commit(): void {
    if (!this.isOpen) return;
    const { health } = this.#options;
    this.#guarded(() => {
      this.#requireOpen();
      // The journal first: a lost commit of the index can be replayed from it.
      this.#commitJournal();
      this.#commitIndex();
    });
    // Not in `local`: a small write may find room on a disk that is too full for events.
    health.succeeded();
    this.#committed();
  }

  /**
   * Makes the open transaction durable in the journal; the index's transaction stays open for the next entries of the group.
   * @throws StoreUnavailableError; then it is rolled back, or in the journal
   */
  #commitToJournal(): void {
    if (!this.isOpen) return;
    this.#guarded(() => this.#commitJournal());
    this.#state = 'pending';
    this.#hasPending = true;
  }

  /** Commits the pending group to the index. @throws StoreUnavailableError; then its entries are in the journal */
  #commitPending(): void {
    if (this.#state !== 'pending') return;
    this.#guarded(() => {
      this.#noteLoss();
      if (this.#state === 'pending') this.#commitIndex();
      else this.#recover();
    });
    this.#options.health.succeeded();
    this.#committed();
  }

  /**
   * Notes that SQLite ended the pending transaction, after a failure of a reader between two calls of the writer. Its entries
   * are replayed from the journal.
   */
  #noteLoss(): void {
    if (this.#state !== 'pending' || this.#options.index.inTransaction) return;
    this.#state = 'unrecovered';
    this.#hasPending = false;
    this.#forget();
  }

  /** Requires an open transaction, as other code ran since it was opened. @throws StoreUnavailableError where SQLite ended it */
  #requireOpen(): void {
    const { index, journal } = this.#options;
    if (index.inTransaction && journal.inTransaction()) return;
    throw new StoreUnavailableError('io_error', new Error('SQLite ended the transaction'));
  }

  /** Ends a transaction that wrote nothing. @throws StoreUnavailableError */
  #endUnused(): void {
    if (!this.isOpen) return;
    if (!this.#hasPending) {
      this.rollback();
      return;
    }
    this.#guarded(() => this.#options.journal.rollback());
    this.#state = 'pending';
  }

  /** Runs `work`; if it throws, the open transaction is rolled back. */
  #wholly<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /**
   * Runs `work` in the open transaction. If it throws, the transaction is rolled back, and pending entries are replayed.
   * @throws what `work` throws, StoreUnavailableError
   */
  #inTransaction<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (unavailable(error) !== null || !this.#options.index.inTransaction) throw this.#undo(error);
      this.rollback();
      throw error;
    }
  }

  /** Runs a part of a transaction; if it throws, the transaction is rolled back and both files count as unknown. */
  #guarded<T>(part: () => T): T {
    try {
      return part();
    } catch (error) {
      throw this.#undo(error);
    }
  }

  /**
   * Rolls back the open transaction. If that fails, recovery rolls it back before the next one.
   * @returns the error to throw in place of `error`
   */
  #undo(error: unknown): unknown {
    const { health } = this.#options;
    const cause = health.failed(error);
    const isKnown = this.#state !== 'unrecovered' && !this.#hasPending && unavailable(error) === null;
    this.#state = 'unrecovered';
    this.#hasPending = false;
    this.#forget();
    try {
      this.#rollBackFiles();
      if (isKnown) this.#state = 'idle';
    } catch (another) {
      health.failed(another);
    }
    return cause;
  }

  #recover(): void {
    this.#bePatientOnce();
    if (this.#state !== 'unrecovered') return;
    this.#rollBackFiles();
    this.#forget();
    this.#replay();
    this.#committed();
    for (const listener of this.#options.listeners) listener.recovered?.();
  }

  /** Runs `work` in a transaction of the index alone. */
  #onIndex<T>(work: () => T): T {
    this.#options.index.run('BEGIN IMMEDIATE');
    const result = work();
    this.#commitIndex();
    return result;
  }

  #commitJournal(): void {
    const { journal, requireLock } = this.#options;
    requireLock();
    journal.commit();
  }

  #commitIndex(): void {
    const { index, router, indexPosition, commits, requireLock } = this.#options;
    router.store();
    if (this.#isMoved) indexPosition.set(this.position());
    this.#isMoved = false;
    requireLock();
    commits.around(() => index.run('COMMIT'));
  }

  #rollBackFiles(): void {
    rollBack(this.#options.index);
    this.#options.journal.rollback();
  }

  #moveTo({ id, chain }: Head): void {
    this.#position = { id, chain };
    this.#isMoved = true;
  }

  #committed(): void {
    this.#state = 'idle';
    this.#hasPending = false;
    this.#committedPosition = this.position();
    for (const listener of this.#options.listeners) listener.committed?.();
  }

  #forget(): void {
    this.#position = null;
    this.#isMoved = false;
    for (const listener of this.#options.listeners) listener.undone();
  }

  #bePatientOnce(): void {
    const { index, journal, health } = this.#options;
    const wanted = health.failing()?.failure !== 'busy';
    if (wanted === this.#isPatient) return;
    const milliseconds = wanted ? BUSY_TIMEOUT_MS : 0;
    setPatience(index, milliseconds);
    journal.setPatience(milliseconds);
    this.#isPatient = wanted;
  }
}

/**
 * Runs a part of what is done for one of several submissions.
 * @throws StoreUnavailableError; OneFailedError for any other error, or the error itself if there is one submission
 */
function namingOne<T>(isOne: boolean, index: number, part: () => T): T {
  try {
    return part();
  } catch (error) {
    throw isOne || unavailable(error) !== null ? error : new OneFailedError(index, error);
  }
}

/** The entries that follow a host's last one, and the number of the first that doesn't follow; null where all do. */
function linked(last: Head, entries: readonly Entry[]): { following: Entry[]; foreign: number | null } {
  const following: Entry[] = [];
  let at = last;
  for (const entry of entries) {
    if (entry.id <= last.id) continue;
    if (entry.id !== at.id + 1 || !sameChain(nextChain(at.chain, entry), entry.chain)) {
      return { following, foreign: entry.id };
    }
    following.push(entry);
    at = entry;
  }
  return { following, foreign: null };
}

interface Sent {
  path: string;
  text: string;
}

const hashOf = (text: string): bigint => Bun.hash(text) as bigint;

/** Remembers the last event by path, length and hash. */
function lastEvent() {
  let last: { path: string; length: number; hash: bigint } | null = null;
  return {
    /** Whether an event is the one that was noted last. */
    is: ({ path, text }: Sent): boolean =>
      last !== null && path === last.path && text.length === last.length && hashOf(text) === last.hash,

    /** @param event undefined where there is none */
    note(event: Sent | undefined): void {
      last = event === undefined ? null : { path: event.path, length: event.text.length, hash: hashOf(event.text) };
    },
  };
}

/**
 * The order of all writes to the index: one job at a time, first come, first served. An event of a host that shares a log
 * keeps its transaction open until the log answers, and no other job may write or end a transaction meanwhile.
 */
export class WriterQueue {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  /**
   * Runs a job after those before it. It begins at once if no job is under way; if it also returns no promise, it is done
   * before this function returns.
   * @throws what the job throws
   */
  async run<T>(job: () => T | Promise<T>): Promise<T> {
    if (this.#isBusy) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#isBusy = true;
    try {
      const result = job();
      return result instanceof Promise ? await result : result;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#isBusy = false;
      else next();
    }
  }
}

export type WriterHealth = ReturnType<typeof writerHealth>;

/** @param log called once when writes begin to fail, and once when they succeed again */
export function writerHealth(log: IngestLog) {
  const failures = new Map<StoreFailure, number>();
  /** The failure of the last write; null after a success. */
  let failing: StoreUnavailableError | null = null;
  let failedSince = 0;

  return {
    /**
     * Notes an error of a write.
     * @returns the error to throw: a StoreUnavailableError where the store is the cause
     */
    failed(error: unknown): unknown {
      const failure = unavailable(error);
      if (failure === null || error === failure) return error;
      failures.set(failure.failure, (failures.get(failure.failure) ?? 0) + 1);
      failedSince += 1;
      if (failing === null) log({ event: 'writes_failing', reason: failure.failure, cause: error });
      failing = failure;
      return failure;
    },

    /** A transaction on both files is committed. */
    succeeded(): void {
      if (failing === null) return;
      failing = null;
      log({ event: 'writes_resumed', failures: failedSince });
      failedSince = 0;
    },

    /** Why writes fail; null where they succeed. */
    failing: (): StoreUnavailableError | null => failing,
    /** How often writes failed since the start, by reason. */
    failures: (): ReadonlyMap<StoreFailure, number> => failures,
  };
}

/** Counts the commits of the writing process, in memory shared with its threads. */
export class CommitCount {
  /** Odd while a commit is under way; greater by two after it. */
  readonly #count: Int32Array<SharedArrayBuffer>;

  /** @param memory of the count of another thread; new memory if omitted */
  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#count = new Int32Array(memory);
  }

  /** The memory to share with other threads. */
  get memory(): SharedArrayBuffer {
    return this.#count.buffer;
  }

  /** Counts a commit, also a failed one, since it may be durable all the same. @throws what `commit` throws */
  around(commit: () => void): void {
    Atomics.add(this.#count, 0, 1);
    try {
      commit();
    } finally {
      Atomics.add(this.#count, 0, 1);
    }
  }

  /** A number that changes with each commit; null during one, when a new snapshot may or may not include it. */
  now(): number | null {
    const count = Atomics.load(this.#count, 0);
    return count % 2 === 0 ? count : null;
  }
}
