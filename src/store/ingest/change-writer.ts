/** Changes for subscribers, in order: the rows of `changes`. */
import type { Database } from 'bun:sqlite';
import type { Change } from '../model/change.ts';
import { type ChangeKind, MEMPOOL_STATE, storedChange } from '../rows/enums.ts';
import { numberedInserter } from '../rows/table.ts';
import { changesTable } from '../rows/tables.ts';

/** Rows that stay: many times what comes between two looks of a reader. */
const MOST_ROWS = 20_000;
/** Old rows go so many at a time. */
const FORGOTTEN_AT_ONCE = 1_000;

/** A transaction in the mempool, since the event began. */
interface Moved {
  txId: Uint8Array;
  /** State of its row before; null where there was none. */
  from: number | null;
  to: number;
  announced: boolean;
}

const {
  pending: PENDING,
  mined: MINED,
  replaced_by_fee: REPLACED,
  replaced_and_dropped: REPLACED_AND_DROPPED,
} = MEMPOOL_STATE;

/** A state as subscribers see it. */
const publicState = (state: number | null): number | null => (state === REPLACED_AND_DROPPED ? REPLACED : state);

/** The change to push; null for a transaction that is mined, which its block pushes, and for one that is what it was. */
function kindOf({ from, to, announced }: Moved): ChangeKind | null {
  if (to === MINED || (publicState(from) === publicState(to) && !announced)) return null;
  if (to !== PENDING) return 'dropped';
  return announced ? 'admitted' : 'restored';
}

export type ChangeWriter = ReturnType<typeof changeWriter>;

/** Writes through this connection, inside the transaction that is open on it. */
export function changeWriter(db: Database) {
  const insert = numberedInserter(db, changesTable);
  const forget = db.prepare<null, [number]>('DELETE FROM changes WHERE id <= ?1');
  /**
   * Moved transactions by id: one event may move a transaction several times, as where a fork brings it back and
   * mines it again.
   */
  const transactions = new Map<string, Moved>();
  /** Whether the event is pushed to subscribers. */
  let isLive = true;

  function write(kind: ChangeKind, subject: Uint8Array): void {
    const id = insert({ kind: storedChange.numberOf(kind), subject });
    if (id % FORGOTTEN_AT_ONCE === 0) forget.run(id - MOST_ROWS);
  }

  return {
    /** Begins an event. @param live whether it is pushed to subscribers */
    begin(live: boolean): void {
      isLive = live;
    },

    /** A row of the mempool has another state. */
    moved(txId: Uint8Array, from: number | null, to: number): void {
      if (!isLive) return;
      const key = txId.toHex();
      const known = transactions.get(key);
      if (known === undefined) transactions.set(key, { txId, from, to, announced: false });
      else known.to = to;
    },

    /** The node announced one that was moved to wait. */
    announced(txId: Uint8Array): void {
      if (!isLive) return;
      const known = transactions.get(txId.toHex());
      if (known !== undefined) known.announced = true;
    },

    /** Ends an event. What it did to the chain comes before what it did to the mempool. */
    end(chain: readonly Omit<Change, 'id'>[]): void {
      for (const { kind, subject } of chain) write(kind, subject);
      for (const moved of transactions.values()) {
        const kind = kindOf(moved);
        if (kind !== null) write(kind, moved.txId);
      }
      transactions.clear();
    },

    /** Ends an event that isn't pushed, or that is undone. */
    discard: (): void => transactions.clear(),
  };
}
