/**
 * The writer: the one place where entries are written to the index and the journal.
 *
 *     begin · apply · append to the journal · commit the journal, which is synced · commit the index
 *
 * `apply` does this for every entry: an event or a command of this host, an event of an import, an entry of a log that is
 * followed or restored (`entry-applier.ts`). An entry that can't be applied is refused and never appended. A host that shares
 * a log appends its entries to that log between `apply` and `commit`, and rolls back if the log has another entry.
 *
 * The journal commits before the index. So after a crash, an entry that isn't in the journal was not acknowledged: the node
 * sends it again. An entry that only the journal has is applied before anything else (`#recover`).
 *
 * The commit of the index is expensive, since a block changes some hundred pages, many of which the next block changes again.
 * So the index has group commits: its transaction stays open between the entries of a group, which are pending.
 *
 *                 journal commits             index commits
 *     committed ──────────────────► pending ──────────────────► committed
 *         └──── failure ──► unknown ◄──┘
 *                              └── recover: replay the journal ──► committed
 *
 * Any call of either database may fail, and SQLite may have ended the transaction by itself then. After a failure nothing is
 * assumed: no transaction stays open, memory that depends on it is discarded, and recovery reads the heads of both files and
 * replays the entries that the index lost. A rebuild replays all entries in this way.
 */
import type { Database } from 'bun:sqlite';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { collectAll } from '../../base/garbage.ts';
import { StoreUnavailableError, unavailable } from '../../base/system-errors.ts';
import { BUSY_TIMEOUT_MS, rollBack, setPatience, touch } from '../files/connection.ts';
import type { ImportProgress } from '../files/journal.ts';
import type { IndexPosition } from '../files/journal-link.ts';
import { compressed, type Entry, type Head, headAfter, LOG_START } from '../log/entry.ts';
import type { CommitCount } from './commit-count.ts';
import {
  type ApplierOptions,
  type Change,
  entryApplier,
  ForeignEntryError,
  InapplicableEntryError,
} from './entry-applier.ts';
import {
  type IngestEvent,
  type IngestLog,
  type Outcome,
  type PreparedEntry,
  PreparedEvent,
  type ReceivedEvent,
  type TransactionListener,
} from './event.ts';
import type { Applied, EventRouter } from './event-router.ts';
import { GroupTimer } from './group-timer.ts';
import type { WriterHealth } from './writer-health.ts';
import { WriterQueue } from './writer-queue.ts';

export { type Change, ForeignEntryError } from './entry-applier.ts';

/** Bytes of events at which a group is committed at once: a longer commit would stall the thread for too long. */
const GROUP_BYTES = 4_000_000;
/**
 * Bytes of a group of an import or a replay. A commit writes each changed page once. Most changed pages hold busy accounts,
 * so large groups write fewer pages.
 */
const GROUP_BYTES_OF_IMPORT = 32_000_000;

/**
 * How far both files are:
 * - `unknown`: a call failed, or none was made yet. The journal may be ahead. No transaction is open, except between the
 *   commits of the journal and the index.
 * - `committed`: both files have the same last entry.
 * - `pending`: the index's transaction is open with entries that the journal has committed. Readers of this process see them.
 *
 * In the last two, further entries may be in an open transaction of both files (`#transaction`). Nobody sees them.
 */
type FileState = 'unknown' | 'committed' | 'pending';

interface WriterOptions extends ApplierOptions {
  index: Database;
  /** The position of the index, read and written in its open transaction. */
  indexPosition: IndexPosition;
  router: ApplierOptions['router'] & Pick<EventRouter, 'store'>;
  listeners: readonly TransactionListener[];
  /** Counts the commits of the index. */
  commits: CommitCount;
  health: WriterHealth;
  /** Called before each commit. @throws StoreUnavailableError if another process may write to the files */
  requireLock: () => void;
  /** The clock of group commits; null if each event has a separate commit. */
  clock: Pick<Clock, 'after' | 'monotonic'> | null;
  /** Number of the journal's last entry that is applied. */
  upTo: number;
  log: IngestLog;
}

/**
 * When an entry becomes durable. `each`: at once, in both files. `group`: at once in the journal, and in the index together
 * with the entries of its group. `end`: when `commit` or `commitToJournal` is called.
 */
export type Durability = 'each' | 'group' | 'end';

export interface ChangeResult {
  /** The result of the command's function; for a batched command, whether its work is done. */
  result: unknown;
  /** Whether the change became an entry of the log; false if the change had no effect. */
  isAppended: boolean;
}

interface NewEntry extends Head {
  event: ReceivedEvent;
  /** Log lines, which are written when the entry is durable. */
  lines: readonly IngestEvent[];
}

/** A transaction that is open on both files; `local` opens only that of the index. */
interface Transaction {
  entries: NewEntry[];
  /** Positions of sources that it stores, by source. */
  sourcePositions: Map<string, ImportProgress>;
}

const newTransaction = (): Transaction => ({ entries: [], sourcePositions: new Map() });

const headOf = ({ id, chain }: Head): Head => ({ id, chain });

/** Returns the log lines for the blocks that an entry reverted and applied. */
function blockLines(applied: Applied | null): IngestEvent[] {
  const change = applied?.change ?? null;
  if (change === null) return [];
  return [
    ...change.reverted.map(({ height, indexBlockHash }) => ({
      event: 'block_reverted' as const,
      height,
      index_block_hash: `0x${indexBlockHash.toHex()}`,
    })),
    ...change.applied.map(({ height, transactions }) => ({
      event: 'block_applied' as const,
      height,
      transactions: transactions.length,
    })),
  ];
}

export class Writer {
  /** The order of all writes, if the process writes more than the node's events. */
  readonly queue = new WriterQueue();
  /** Whether the changes of replayed entries are pushed to subscribers. */
  isLive = false;
  readonly #options: WriterOptions;
  readonly #applier: ReturnType<typeof entryApplier>;
  /** Timer for the commit of the pending group; null if each event has a separate commit. */
  readonly #timer: GroupTimer | null;
  #state: FileState = 'unknown';
  /** The transaction with entries that only the writer sees; null if none is open. */
  #transaction: Transaction | null = null;
  /** Bytes of the pending group. */
  #bytes = 0;
  /** The last entry in the index's open transaction; null until it is read. */
  #position: Head | null = null;
  #committedPosition: Head = LOG_START;
  /** Counts transactions that were opened or whose changes were lost. */
  #changes = 0;
  /** Whether the index's open transaction includes all rows that were buffered in memory. */
  #isStored = false;
  /** Whether the last `publish` failed. Every read of an API request calls `publish`, so only a write tries again. */
  #hasFailedToPublish = false;
  /**
   * Whether to wait for a lock of another process. The wait blocks this thread, so the writer waits only once until the lock
   * is free.
   */
  #waitsForLocks = true;
  /** Number of the journal's last entry that is applied. */
  #upTo: number;

  constructor(options: WriterOptions) {
    const { clock, commits, listeners, upTo } = options;
    this.#options = options;
    this.#applier = entryApplier(options, () => this.position());
    this.#upTo = upTo;
    const isAwaited = () => commits.isAwaited() || listeners.some((listener) => listener.awaitsCommit?.() === true);
    this.#timer = clock === null ? null : new GroupTimer({ clock, isAwaited, commit: () => this.publish() });
  }

  get isOpen(): boolean {
    return this.#transaction !== null;
  }

  get #entries(): readonly NewEntry[] {
    return this.#transaction?.entries ?? [];
  }

  /** The last entry of the index, including the open transaction. */
  position(): Head {
    this.#position ??= this.#options.indexPosition.current();
    return this.#position;
  }

  /** The last entry that readers can see, once `recover` was called. */
  committedPosition(): Head {
    return this.#committedPosition;
  }

  /**
   * Makes the index's connection show exactly the acknowledged entries: writes buffered rows of the pending group.
   * @returns false if no group is pending, if another transaction is open, or if the store fails
   */
  showPending(): boolean {
    if (this.isOpen || this.#state !== 'pending' || !this.#options.index.inTransaction) return false;
    if (this.#isStored) return true;
    try {
      this.#rollBackOnError(() => this.#storeRows());
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      return false;
    }
  }

  /** Returns a number that changes before the content of the index's connection changes. */
  changes(): number {
    return this.#changes;
  }

  uncommitted(): Entry[] {
    return this.#entries.map(({ id, chain, event: { path, text, receivedAt } }) => ({
      id,
      receivedAt,
      path,
      text,
      chain,
    }));
  }

  // ── Applying entries ──

  /**
   * Applies a change and appends its entry to the journal. A change without effect is not appended. If it fails, nothing has
   * changed, and the entries before it stay applied, unless the store fails.
   * @param isLive whether its changes are pushed to subscribers
   * @throws PayloadError if an event can't be parsed, UnknownParentError if its parent must come first, the error of a
   *   command's function; ForeignEntryError, InapplicableEntryError; StoreUnavailableError if it could not be written: then
   *   all entries that aren't durable must be applied again
   */
  apply(change: Change, durability: Durability, isLive = true): ChangeResult {
    // The payload is read before the transaction starts, so an unreadable event doesn't affect the transaction.
    const apply = this.#applier.read(change, isLive);
    this.#begin();
    const { result, before, event, applied } = this.#undoChangeOnError(isLive, apply);
    if (event !== null) {
      for (const command of before) this.#append(command, null);
      this.#append(event, applied, 'entry' in change ? headOf(change.entry) : undefined);
    } else if (before.length > 0) {
      // The change had no effect, so these commands don't become entries either.
      this.#undoChange(isLive);
    }
    if ('event' in change) this.#saveSourcePosition(change.event);
    if (durability !== 'end') this.#finish(durability);
    return { result, isAppended: event !== null };
  }

  /**
   * Accepts an event of a single host's node. When this returns, the event is in the journal and on disk.
   * @throws the same errors as `apply`
   */
  receive(event: ReceivedEvent): Outcome {
    const durability = this.#timer === null ? 'each' : 'group';
    // Applies entries that only the journal has first, so that it recognises a repeated event.
    this.recover();
    if (!this.#applier.last.is(event)) return this.apply({ event }, durability).isAppended ? 'applied' : 'repeated';
    this.#saveSourcePosition(event);
    this.#finish(durability);
    return 'repeated';
  }

  /**
   * Applies entries of a log in one transaction, and skips entries that the host already has.
   * @param durability durability of all entries, after the last one is applied
   * @param isLive whether their changes are pushed to subscribers
   * @param turn yields to other work between two entries
   * @throws ForeignEntryError, InapplicableEntryError; then the entries before it are applied
   * @throws StoreUnavailableError; then none of them is applied
   */
  async follow(
    entries: readonly Entry[],
    durability: Exclude<Durability, 'end'>,
    isLive: boolean,
    turn: () => Promise<void>,
  ): Promise<void> {
    const last = this.#rollBackOnError(() => {
      this.#recover();
      return this.position().id;
    });
    try {
      for (const entry of entries) {
        if (entry.id <= last) continue;
        this.apply({ entry }, 'end', isLive);
        await turn();
      }
    } catch (error) {
      if (error instanceof ForeignEntryError || error instanceof InapplicableEntryError) this.#finish(durability);
      else this.rollback();
      throw error;
    }
    this.#finish(durability);
  }

  /**
   * Appends an entry to the journal, in the open transaction.
   * @param applied how the chain changed; null if it didn't
   * @param head its number and chain value
   */
  #append(
    event: ReceivedEvent,
    applied: Applied | null,
    head = headAfter(this.position(), event, event.prepared?.text),
  ): void {
    const { entries } = this.#begin();
    const { path, receivedAt, prepared } = event;
    const text = prepared?.text.compressed ?? compressed(event.text);
    this.#rollBackOnError(() => this.#options.journal.append({ path, receivedAt, ...head }, text));
    this.#position = head;
    const unread = event instanceof PreparedEvent ? event.unread : event;
    entries.push({ ...head, event: unread, lines: blockLines(applied) });
  }

  /** Stores how far the source of an event is read. */
  #saveSourcePosition({ read }: ReceivedEvent): void {
    if (read !== undefined) this.setImported(read.source, read.upTo);
  }

  /** Stores how far a source is read, together with the next entries that become durable. */
  setImported(source: string, upTo: ImportProgress): void {
    const { sourcePositions } = this.#begin();
    this.#rollBackOnError(() => this.#options.journal.imports.set(source, upTo));
    sourcePositions.set(source, upTo);
  }

  // ── The open transaction ──

  /** Opens a transaction on both files, unless one is open; continues a pending one. @throws StoreUnavailableError */
  #begin(): Transaction {
    const { index, journal } = this.#options;
    const open = this.#transaction;
    if (open !== null) {
      this.#rollBackOnError(() => this.#requireOpen());
      return open;
    }
    this.#rollBackOnError(() => {
      this.#recover();
      this.#contentWillChange();
      if (this.#state !== 'pending') index.run('BEGIN IMMEDIATE');
      journal.begin();
      this.position();
    });
    this.#transaction = newTransaction();
    return this.#transaction;
  }

  /**
   * Requires an open transaction, because other code has run since it was opened.
   * @throws StoreUnavailableError if SQLite ended it
   */
  #requireOpen(): void {
    const { index, journal } = this.#options;
    if (index.inTransaction && journal.inTransaction()) return;
    throw new StoreUnavailableError('io_error', new Error('SQLite ended the transaction'));
  }

  /** Rolls back the open transaction. Entries that the journal committed are replayed. @throws StoreUnavailableError */
  rollback(): void {
    if (!this.isOpen) return;
    this.abandon();
    if (this.#state === 'unknown') this.recover();
  }

  /** Rolls back the open transaction. Entries that the journal committed are replayed before the next one. */
  abandon(): void {
    if (this.isOpen) this.#rollBackOnError(() => this.#rollBack());
  }

  /** Ends a transaction that wrote nothing. @throws StoreUnavailableError */
  #discardEmptyTransaction(): void {
    if (this.#state !== 'pending') {
      this.rollback();
      return;
    }
    this.#rollBackOnError(() => this.#options.journal.rollback());
    this.#transaction = null;
  }

  /**
   * Applies a change in the open transaction. If that fails, the earlier entries stay applied, unless the store fails.
   * @throws errors of the change, StoreUnavailableError
   */
  #undoChangeOnError<T>(isLive: boolean, apply: () => T): T {
    try {
      return apply();
    } catch (error) {
      if (unavailable(error) !== null || !this.#options.index.inTransaction) throw this.#rollBackAfter(error);
      this.#undoChange(isLive);
      throw error;
    }
  }

  /**
   * Undoes the change after the last entry of the open transaction: rolls the transaction back, and applies its entries again.
   * That costs less than a savepoint before each entry. Stores the positions of sources again, too.
   */
  #undoChange(isLive: boolean): void {
    if (this.#transaction === null) return;
    const { entries, sourcePositions } = this.#transaction;
    this.rollback();
    for (const { id, chain, event } of entries) {
      this.#begin();
      const { path, receivedAt, text } = event;
      const applied = this.#rollBackOnError(() =>
        this.#applier.applyEntry({ id, chain, path, receivedAt, text }, isLive),
      );
      this.#append(event, applied, { id, chain });
    }
    for (const [source, upTo] of sourcePositions) this.setImported(source, upTo);
  }

  // ── Commits ──

  /** Makes all applied changes durable and readable. @throws StoreUnavailableError */
  commit(): void {
    this.#finish('each');
    this.#commitPending();
  }

  /** Makes all applied changes durable. Readers may not see them before `commit`. @throws StoreUnavailableError */
  commitToJournal(): void {
    this.#finish('group');
  }

  /**
   * Commits the pending group, so that other connections can read it. If that fails, replays the group from the journal once.
   * If that fails, too, readers see the earlier state until a later write succeeds.
   */
  publish(): void {
    this.#timer?.cancel();
    if (this.#hasFailedToPublish) return;
    this.#hasFailedToPublish = !(this.#tryToCommit() || this.#tryToCommit());
  }

  /**
   * Commits the pending group, or replays it if a failure undid it.
   * @returns false if the store failed, which the writer's health records, or if the journal is damaged, which the next write
   *   reports
   */
  #tryToCommit(): boolean {
    try {
      this.#commitPending();
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError || error instanceof OperatorError)) throw error;
      return false;
    }
  }

  /** Ends the open transaction. @throws StoreUnavailableError; then it is rolled back, or in the journal */
  #finish(durability: Exclude<Durability, 'end'>): void {
    if (this.#transaction === null) return;
    const { entries, sourcePositions } = this.#transaction;
    // While writes fail, each event tries a full commit.
    const isFailing = this.#timer !== null && this.#options.health.failing() !== null;
    if (entries.length === 0 && sourcePositions.size === 0) this.#discardEmptyTransaction();
    else if (durability === 'each' || isFailing) this.#commitBoth();
    else this.#commitGroup();
  }

  /** Makes the open transaction durable and readable. @throws StoreUnavailableError; then it is rolled back, or in the journal */
  #commitBoth(): void {
    const { health } = this.#options;
    this.#rollBackOnError(() => {
      this.#requireOpen();
      // The journal first: if the commit of the index is lost, the journal replays it.
      this.#commitJournal();
      this.#state = 'unknown';
      this.#recordDurable();
      this.#commitIndex();
    });
    // `local` doesn't call this: a small write may fit on a disk that is too full for events.
    health.succeeded();
    this.#recordCommit();
  }

  /**
   * Makes the open transaction durable in the journal; the index's transaction stays open for the next entries of the group.
   * @throws StoreUnavailableError; then it is rolled back, or in the journal
   */
  #commitGroup(): void {
    this.#rollBackOnError(() => this.#commitJournal());
    this.#state = 'pending';
    this.#bytes += this.#entries.reduce((sum, { event }) => sum + (event.prepared?.length ?? event.text.length), 0);
    this.#recordDurable();
    if (this.#timer !== null) {
      if (this.#bytes >= GROUP_BYTES) this.publish();
      else this.#timer.schedule();
    } else if (this.#bytes >= GROUP_BYTES_OF_IMPORT) {
      this.#commitPending();
      collectAll();
    }
  }

  /**
   * Commits the pending group to the index, or replays it if a failure undid it.
   * @throws StoreUnavailableError; then its entries are in the journal
   */
  #commitPending(): void {
    if (this.isOpen || this.#state === 'committed') return;
    const { id } = this.#committedPosition;
    this.#rollBackOnError(() => {
      this.#recover();
      if (this.#state === 'pending') this.#commitIndex();
    });
    this.#recordCommit();
    // If no entry was written, writes may still fail.
    if (this.#committedPosition.id > id) this.#options.health.succeeded();
  }

  #commitJournal(): void {
    const { journal, requireLock } = this.#options;
    requireLock();
    journal.commit();
  }

  #commitIndex(): void {
    const { index, commits, requireLock } = this.#options;
    this.#storeRows();
    requireLock();
    const commit = (): void => commits.around(() => index.run('COMMIT'));
    if (this.#timer === null) commit();
    else this.#timer.measure(commit);
  }

  /** Writes the rows that are buffered until the commit. */
  #storeRows(): void {
    const { router, indexPosition } = this.#options;
    router.store();
    if (this.#position !== null && this.#position !== this.#committedPosition) indexPosition.set(this.#position);
    this.#isStored = true;
  }

  /** Records that the entries of the open transaction are in the journal, and writes their log lines. */
  #recordDurable(): void {
    const entries = this.#entries;
    this.#transaction = null;
    const newest = entries.at(-1);
    if (newest !== undefined) this.#applier.last.record(newest.event);
    for (const { lines } of entries) for (const line of lines) this.#options.log(line);
  }

  #recordCommit(): void {
    this.#transaction = null;
    this.#state = 'committed';
    this.#hasFailedToPublish = false;
    this.#bytes = 0;
    this.#timer?.cancel();
    this.#committedPosition = this.position();
    for (const listener of this.#options.listeners) listener.committed?.();
  }

  // ── Failures and recovery ──

  /**
   * Runs a part of a transaction. If it throws, the transaction is rolled back and the state of both files counts as unknown.
   */
  #rollBackOnError<T>(part: () => T): T {
    try {
      return part();
    } catch (error) {
      throw this.#rollBackAfter(error);
    }
  }

  /**
   * Rolls back the open transaction. If that fails, recovery rolls it back before the next one.
   * @returns the error to throw in place of `error`
   */
  #rollBackAfter(error: unknown): unknown {
    const { health } = this.#options;
    const cause = health.failed(error);
    // If the changes themselves failed in an open transaction, both files work.
    if (!this.isOpen || unavailable(error) !== null) this.#state = 'unknown';
    try {
      this.#rollBack();
    } catch (rollbackError) {
      this.#state = 'unknown';
      health.failed(rollbackError);
    }
    return cause;
  }

  /** Rolls back both files, and with them a pending group. @throws StoreUnavailableError */
  #rollBack(): void {
    if (this.#state === 'pending') this.#state = 'unknown';
    this.#discardMemory();
    rollBack(this.#options.index);
    this.#options.journal.rollback();
  }

  #discardMemory(): void {
    this.#contentWillChange();
    this.#position = null;
    this.#bytes = 0;
    this.#transaction = null;
    for (const listener of this.#options.listeners) listener.undone();
  }

  /** Records that the content of the index's connection changes from now on. */
  #contentWillChange(): void {
    this.#changes += 1;
    this.#isStored = false;
  }

  /** Brings the index to the head of the journal, if a failure left it behind. @throws StoreUnavailableError */
  recover(): void {
    this.#rollBackOnError(() => this.#recover());
  }

  /**
   * Brings the index to the head of the journal, unless both files are known to be as the writer left them. Between two calls
   * of the writer, a reader may have failed and SQLite ended the pending transaction, or a reader's transaction may still be
   * open.
   */
  #recover(): void {
    this.#updateBusyTimeout();
    const isAsLeft = this.#options.index.inTransaction === (this.#state === 'pending');
    if (this.isOpen || (this.#state !== 'unknown' && isAsLeft)) return;
    this.#state = 'unknown';
    this.#rollBack();
    this.#replayJournal();
    for (const listener of this.#options.listeners) listener.recovered?.();
  }

  #updateBusyTimeout(): void {
    const { index, journal, health } = this.#options;
    const waitsForLocks = health.failing()?.failure !== 'busy';
    if (waitsForLocks === this.#waitsForLocks) return;
    const milliseconds = waitsForLocks ? BUSY_TIMEOUT_MS : 0;
    setPatience(index, milliseconds);
    journal.setPatience(milliseconds);
    this.#waitsForLocks = waitsForLocks;
  }

  // ── Entries that only the journal has ──

  /**
   * Applies entries that were read ahead from the journal, in groups; for a new index. `catchUp` commits the last group.
   * @throws OperatorError if an entry doesn't follow the one before, StoreUnavailableError
   */
  replay(entries: Iterable<PreparedEntry>): void {
    this.#rollBackOnError(() => {
      this.#recover();
      this.#replay(entries);
    });
  }

  /**
   * Applies all entries that the journal has and the index lacks, regardless of `upTo`, including those that another process
   * appends during the call. Used for an index that is rebuilt while a server runs.
   * @throws StoreUnavailableError
   */
  catchUp(): void {
    this.#upTo = Number.POSITIVE_INFINITY;
    this.#commitPending();
    this.recover();
    let id: number;
    do {
      id = this.position().id;
      this.#rollBackOnError(() => this.#replayJournal());
    } while (this.position().id > id);
  }

  /** Applies the entries that only the journal has: after a crash, after a failure, or for a new index. */
  #replayJournal(): void {
    const { journal, log, health } = this.#options;
    const first = this.position().id;
    const end = Math.min(journal.lastId(), this.#upTo);
    if (first < end) {
      // While writes fail, each attempt replays the same entries.
      if (health.failing() === null) log({ event: 'replay_begun', events: end - first });
      this.#replay(entriesUpTo(journal.after(first), end));
      if (this.#state === 'pending') this.#commitIndex();
      log({ event: 'journal_replayed', events: end - first });
    }
    // A commit that failed may still be durable. The node then repeats an event that the journal has.
    this.#applier.last.record(journal.read(end));
    this.#recordCommit();
  }

  /** Applies entries of the journal to the pending group. Their blocks were logged when they became durable. */
  #replay(entries: Iterable<Entry | PreparedEntry>): void {
    const { index, journal, log } = this.#options;
    for (const entry of entries) {
      if (this.#state !== 'pending') index.run('BEGIN IMMEDIATE');
      this.#state = 'pending';
      const next = this.position().id + 1;
      if (entry.id !== next) throw journal.missing(next);
      this.#applier.applyEntry(entry, this.isLive);
      this.#position = headOf(entry);
      this.#bytes += 'length' in entry ? entry.length : entry.text.length;
      if (this.#bytes < GROUP_BYTES_OF_IMPORT) continue;
      this.#commitIndex();
      this.#recordCommit();
      log({ event: 'replay_progress', entry: entry.id, of: journal.lastId() });
      collectAll();
    }
  }

  // ── Writes that aren't entries ──

  /**
   * Writes to a local table, which isn't derived from the log, all or nothing.
   * @throws errors of `work`, StoreUnavailableError
   */
  local<T>(work: () => T): T {
    if (this.isOpen) throw new Error('a transaction is open');
    this.#commitPending();
    const result = this.#rollBackOnError(() => {
      this.#recover();
      this.#transaction = newTransaction();
      this.#contentWillChange();
      this.#options.index.run('BEGIN IMMEDIATE');
      const done = work();
      this.#commitIndex();
      return done;
    });
    this.#recordCommit();
    return result;
  }

  /** Makes the smallest possible write to both files. @throws StoreUnavailableError */
  probe(): void {
    const { index, journal } = this.#options;
    this.#begin();
    this.#rollBackOnError(() => {
      touch(index);
      journal.touch();
    });
    this.#commitBoth();
  }
}

/** Yields the entries up to the entry with a number. */
function* entriesUpTo(entries: Iterable<Entry>, last: number): Generator<Entry> {
  for (const entry of entries) {
    yield entry;
    if (entry.id === last) return;
  }
}
