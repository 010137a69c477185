/**
 * The transactions of the process that writes, one at a time, over the index and the journal. The journal commits first:
 * whatever the moment of a crash, an event that is not in the journal was not answered and will come again, and one that
 * is in the journal and not in the index is applied before anything else.
 *
 * Several events may share a transaction of the index, each with a commit of the journal of its own: the transaction is
 * held in between. Where it is taken back, the journal brings those events back.
 *
 * Any call of either database may fail, and SQLite may have ended the transaction by itself then. After a failure nothing
 * is taken for granted: no transaction stays open, what was made from it in memory is forgotten, and before the next
 * transaction both files are asked where they stand.
 */
import type { Database } from 'bun:sqlite';
import { BUSY_TIMEOUT_MS, rollBack, setPatience, touch } from '../files/connection.ts';
import type { Journal } from '../files/journal.ts';
import { unavailable } from '../files/store-failure.ts';
import type { CommitCount } from './commit-count.ts';
import type { WriterHealth } from './writer-health.ts';

/**
 * What keeps something in memory, or does something outside, that comes from what transactions write. None of these may
 * write or throw: who has more to do does it later.
 */
export interface Participant {
  /** What was written since the last commit, or a part of it, is taken back: forget what was made from it. */
  undone(): void;
  /** What was written is committed. */
  committed?(): void;
  /** Called when the files are in order again after a failure; what seemed undone may be committed all the same. */
  recovered?(): void;
}

export interface TransactionOptions {
  index: Database;
  journal: Journal;
  participants: readonly Participant[];
  /** Writes what waits for the end of a transaction of the index; called before each of its commits. */
  complete: () => void;
  /** Counts the commits of the index. */
  commits: CommitCount;
  /**
   * Brings the index up to its journal.
   * @param batch runs its parameter in a transaction over the index alone
   */
  catchUp: (batch: (work: () => void) => void) => void;
  health: WriterHealth;
}

/**
 * `unsettled`: a call failed, or none was made yet, so that what the files hold isn't known, or the journal is ahead.
 * `held`: the index's transaction is open and has events that the journal committed; nothing is being written.
 */
type State = 'unsettled' | 'idle' | 'held' | 'open';

/** Where the transactions of both files stand. */
interface Standing {
  state: State;
  /** Whether the index's transaction has events that the journal committed. */
  shared: boolean;
  /** Whether what writes is at work now, and not one that only finds its transaction open. */
  working: boolean;
}

type Files = ReturnType<typeof filePair>;

type PairOptions = Pick<TransactionOptions, 'index' | 'journal' | 'complete' | 'commits'>;

/** Both files, as transactions need them. */
function filePair({ index, journal, complete, commits }: PairOptions) {
  function commitIndex(): void {
    complete();
    commits.around(() => index.run('COMMIT'));
  }
  return {
    beginIndex: (): void => void index.run('BEGIN IMMEDIATE'),
    beginJournal: (): void => void journal.begin(),
    commitJournal: (): void => void journal.commit(),
    commitIndex,
    rollbackJournal: (): void => void journal.rollback(),
    /** Ends what is open, in either. */
    rollback(): void {
      rollBack(index);
      journal.rollback();
    },
    /** Runs `work` in a transaction over the index alone. */
    onIndex<T>(work: () => T): T {
      index.run('BEGIN IMMEDIATE');
      const result = work();
      commitIndex();
      return result;
    },
    /** Writes the least there is to both. */
    touch(): void {
      touch(index);
      journal.touch();
    },
    setPatience(milliseconds: number): void {
      setPatience(index, milliseconds);
      journal.setPatience(milliseconds);
    },
  };
}

/**
 * What waits for a lock of another process, but not again as long as it is held: this thread takes events and may answer
 * the API, and stands still while it waits.
 */
function patience(files: { setPatience(milliseconds: number): void }, health: WriterHealth): () => void {
  let patient = true;
  return () => {
    const wanted = health.failing()?.failure !== 'busy';
    if (wanted === patient) return;
    files.setPatience(wanted ? BUSY_TIMEOUT_MS : 0);
    patient = wanted;
  };
}

/** Where the open transaction stands, and what begins and ends it. */
function openTransaction(files: Files, { participants, catchUp, health }: TransactionOptions) {
  const at: Standing = { state: 'unsettled', shared: false, working: false };
  const bePatientOnce = patience(files, health);

  const isOpen = (): boolean => at.state === 'open';

  function forget(): void {
    for (const participant of participants) participant.undone();
  }

  /**
   * Takes the open transaction back. What can't be ended now is ended before the next one.
   * @returns what is to be thrown for `error`
   */
  function undo(error: unknown): unknown {
    const cause = health.failed(error);
    const isKnown = at.state !== 'unsettled' && !at.shared && unavailable(error) === null;
    at.state = 'unsettled';
    at.shared = false;
    forget();
    try {
      files.rollback();
      if (isKnown) at.state = 'idle';
    } catch (another) {
      health.failed(another);
    }
    return cause;
  }

  /** Runs a part of a transaction; where it throws, nothing of the transaction stays. */
  function guarded<T>(part: () => T): T {
    try {
      return part();
    } catch (error) {
      throw undo(error);
    }
  }

  /** Runs what writes. */
  function working<T>(work: () => T): T {
    const before = at.working;
    at.working = true;
    try {
      return work();
    } finally {
      at.working = before;
    }
  }

  /** Brings files and memory to where they are known to agree. */
  function settle(): void {
    bePatientOnce();
    if (at.state !== 'unsettled') return;
    files.rollback();
    forget();
    working(() => catchUp(files.onIndex));
    at.state = 'idle';
    for (const participant of participants) {
      participant.committed?.();
      participant.recovered?.();
    }
  }

  function committed(): void {
    at.state = 'idle';
    at.shared = false;
    for (const participant of participants) participant.committed?.();
  }

  /** Opens a transaction over both, unless one is open; goes on with one that is held. @throws StoreUnavailableError */
  function begin(): void {
    if (isOpen()) return;
    guarded(() => {
      settle();
      if (at.state !== 'held') files.beginIndex();
      files.beginJournal();
    });
    at.state = 'open';
  }

  /** Makes what was written durable. @throws StoreUnavailableError; then it is undone, or the journal has it */
  function commit(): void {
    if (!isOpen()) return;
    guarded(() => {
      // The journal first: it can bring a commit of the index back.
      files.commitJournal();
      files.commitIndex();
    });
    // Not where `write` ends: a small write may find room on a disk that is full for events.
    health.succeeded();
    committed();
  }

  /** Takes back what was written, also what the journal committed: before anything else, it is brought back. */
  function abandon(): void {
    if (!isOpen()) return;
    const journalIsAhead = at.shared;
    forget();
    guarded(files.rollback);
    at.state = journalIsAhead ? 'unsettled' : 'idle';
    at.shared = false;
  }

  /** Takes back what was written; the journal brings back what it committed. @throws StoreUnavailableError */
  function rollback(): void {
    if (!isOpen()) return;
    abandon();
    if (at.state === 'unsettled') guarded(settle);
  }

  return { at, isOpen, begin, commit, committed, abandon, rollback, settle, guarded, undo, working };
}

type OpenTransaction = ReturnType<typeof openTransaction>;

/** How events share a transaction of the index, and what else is written between events. */
function sharedTransaction(files: Files, health: WriterHealth, open: OpenTransaction) {
  const { at, isOpen, guarded, settle, committed, rollback, working } = open;

  /**
   * Makes what was written durable in the journal, and holds the index's transaction for what follows.
   * @throws StoreUnavailableError; then it is undone, or the journal has it
   */
  function hold(): void {
    if (!isOpen()) return;
    guarded(files.commitJournal);
    at.state = 'held';
    at.shared = true;
  }

  /** Commits the transaction that is held. @throws StoreUnavailableError; then the journal has what was written */
  function release(): void {
    if (at.state !== 'held') return;
    guarded(files.commitIndex);
    health.succeeded();
    committed();
  }

  /** Ends what was begun and wrote nothing. @throws StoreUnavailableError */
  function leave(): void {
    if (!isOpen()) return;
    if (!at.shared) {
      rollback();
      return;
    }
    guarded(files.rollbackJournal);
    at.state = 'held';
  }

  /** Runs `work` in a transaction over the index alone. @throws what `work` throws, StoreUnavailableError */
  function alone<T>(work: () => T): T {
    release();
    const result = guarded(() => {
      settle();
      at.state = 'open';
      return files.onIndex(() => working(work));
    });
    committed();
    return result;
  }

  return { hold, release, leave, alone };
}

export type Transactions = ReturnType<typeof transactions>;

export function transactions(options: TransactionOptions) {
  const { index } = options;
  const files = filePair(options);
  const open = openTransaction(files, options);
  const { at, isOpen, begin, commit, abandon, rollback, settle, guarded, undo, working } = open;
  const { hold, release, leave, alone } = sharedTransaction(files, options.health, open);

  return {
    isOpen,
    /** Whether what writes is at work now: it alone sees what is not committed. */
    isWorking: (): boolean => at.working,
    begin,
    commit,
    hold,
    release,
    leave,
    abandon,
    rollback,
    /** Nothing where files and memory are known to agree. @throws StoreUnavailableError */
    settle: (): void => guarded(settle),

    /**
     * Runs `work` in the open transaction. Where it throws, nothing of the transaction stays but what the journal
     * committed.
     * @throws what `work` throws, StoreUnavailableError
     */
    step<T>(work: () => T): T {
      try {
        return working(work);
      } catch (error) {
        if (unavailable(error) !== null || !index.inTransaction) throw undo(error);
        rollback();
        throw error;
      }
    },

    /** Adds to the open transaction; where it throws, nothing of the transaction stays. */
    guarded,

    /**
     * Writes of others than the node, over the index alone, all of them or none.
     * @throws what `work` throws, StoreUnavailableError
     */
    write<T>(work: () => T): T {
      if (isOpen()) throw new Error('a transaction is open');
      return alone(work);
    },

    /** Writes the least there is to both. @throws StoreUnavailableError */
    probe(): void {
      begin();
      guarded(files.touch);
      commit();
    },
  };
}
