/**
 * Collects the changes of an event, and of the commands before it, and writes them to the table `changes`, which readers with
 * subscribers poll.
 */
import type { Database } from 'bun:sqlite';
import type { Change } from '../model/block.ts';
import { type ChangeKind, MEMPOOL_STATE, storedChange } from '../rows/enums.ts';
import { query } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { changesTable } from '../rows/tables.ts';

/** Number of rows to keep: many times the rows that are added between two polls of a reader. */
const MAX_ROWS = 20_000;
/** Old rows are removed in batches of this size. */
const ROWS_PER_TRIM = 1_000;

/** A transaction whose mempool state changed during the event. */
interface MempoolMove {
  txId: Uint8Array;
  /** State of its row before the event; null if there was none. */
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

/** The change to push; null for a mined transaction, which its block pushes, and for a state that is the same as before. */
function changeKind({ from, to, announced }: MempoolMove): ChangeKind | null {
  if (to === MINED || (publicState(from) === publicState(to) && !announced)) return null;
  if (to !== PENDING) return 'dropped';
  return announced ? 'admitted' : 'restored';
}

export type ChangeWriter = ReturnType<typeof changeWriter>;

/** Writes through this connection, inside the transaction that is open on it. */
export function changeWriter(db: Database) {
  const { add: insert } = table(db, changesTable);
  const trim = query<null, [number]>`DELETE FROM changes WHERE id <= ?1`.prepared(db);
  /** Changes of the chain, in order. */
  let blocks: Omit<Change, 'id'>[] = [];
  /** Moved transactions by id. One event may move a transaction several times: a fork restores it and mines it again. */
  const transactions = new Map<string, MempoolMove>();

  function write(kind: ChangeKind, subject: Uint8Array): void {
    const id = insert({ kind: storedChange.numberOf(kind), subject });
    if (id % ROWS_PER_TRIM === 0) trim.run(id - MAX_ROWS);
  }

  function discard(): void {
    blocks = [];
    transactions.clear();
  }

  return {
    /** A block joined or left the chain, or arrived on another branch. */
    block(kind: 'block' | 'orphan' | 'undone', indexBlockHash: Uint8Array): void {
      blocks.push({ kind, subject: indexBlockHash });
    },

    /** The state of a transaction in the mempool changed. */
    moved(txId: Uint8Array, from: number | null, to: number): void {
      const key = txId.toHex();
      const transaction = transactions.get(key);
      if (transaction === undefined) transactions.set(key, { txId, from, to, announced: false });
      else transaction.to = to;
    },

    /** The node announced a transaction that was moved to `pending`. */
    announced(txId: Uint8Array): void {
      const transaction = transactions.get(txId.toHex());
      if (transaction !== undefined) transaction.announced = true;
    },

    /**
     * Ends an event: writes the changes of the chain, then the changes of the mempool.
     * @param isLive whether they are pushed to subscribers; if not, they are discarded
     */
    end(isLive: boolean): void {
      if (isLive) {
        for (const { kind, subject } of blocks) write(kind, subject);
        for (const moved of transactions.values()) {
          const kind = changeKind(moved);
          if (kind !== null) write(kind, moved.txId);
        }
      }
      discard();
    },

    /** Discards the changes of an event that is rolled back. */
    discard,
  };
}
