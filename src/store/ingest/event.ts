/** Events as they are received, their outcomes, the log events of ingest, and the transaction listener. */
import type { ServiceEvent } from '../../base/log-events.ts';
import type { UnknownKind } from '../../chain/effect.ts';
import type { PreparedPayload } from '../../chain/prepared.ts';
import type { ImportProgress } from '../files/journal.ts';
import type { SecondaryIndexProgress } from '../files/secondary-indexes.ts';
import { decompressed, type Entry, type PackedText } from '../log/entry.ts';

export interface ReceivedEvent {
  path: string;
  /** JSON. */
  text: string;
  /** Unix microseconds. */
  receivedAt: number;
  /** Position in the event's source after this event. It is stored with the event, also with a repeated one. */
  read?: { source: string; upTo: ImportProgress };
  /** Results of work that was done ahead of the writer. */
  prepared?: Preparation;
}

/** Results of work that doesn't need the index, and so is done ahead of the writer. */
export interface Preparation {
  /** Null if the writer reads the text. */
  payload: PreparedPayload | null;
  text: PackedText;
  /** Characters of the text. */
  length: number;
}

/** An event that was prepared. Reading `text` decompresses it. */
export class PreparedEvent implements ReceivedEvent {
  constructor(
    readonly path: string,
    readonly receivedAt: number,
    readonly prepared: Preparation,
  ) {}

  get text(): string {
    return decompressed(this.prepared.text.compressed);
  }

  /** The event without its parsed payload, which needs more memory than the text. */
  get unread(): PreparedEvent {
    return new PreparedEvent(this.path, this.receivedAt, { ...this.prepared, payload: null });
  }
}

/** An entry of the journal that was read ahead of its replay. */
export type PreparedEntry = Omit<Entry, 'text'> & {
  /** Characters of its text. */
  length: number;
  /** The parsed payload, or the text if the writer parses it. */
  content: { payload: PreparedPayload } | { text: string };
};

/** `repeated`: the index and the journal have the event already, or it changes nothing; nothing was written. */
export type Outcome = 'applied' | 'repeated';

export type IngestEvent =
  | { event: 'block_applied'; height: number; transactions: number }
  | { event: 'block_reverted'; height: number; index_block_hash: string }
  /** A transaction that the node announced, a drop reason or a print of a stacking contract can't be read. */
  | { event: 'node_data_unread'; what: 'pending_transaction' | 'drop_reason'; reason: string }
  | { event: 'node_data_unread'; what: 'stacking_print'; contract: string; topic: string | null; reason: string }
  /** The node is newer than this program: the index stores the thing as `unknown`. */
  | { event: 'unknown_kind'; what: UnknownKind; reason: string }
  /**
   * What happens with a new index from a rebuild: `used`; `newer`: a newer program made it and can install it; `unfit`: an
   * older program made it, or it has another journal, and it is removed.
   */
  | { event: 'new_index'; outcome: 'used' | 'newer' | 'unfit' }
  /** The creation of a secondary index started, because an interrupted import or rebuild had left it out. */
  | ({ event: 'secondary_index_begun' } & SecondaryIndexProgress)
  | { event: 'replay_begun'; events: number }
  | { event: 'replay_progress'; entry: number; of: number }
  | { event: 'journal_replayed'; events: number }
  | ServiceEvent;

export type IngestLog = (event: IngestEvent) => void;

/**
 * Has memory or effects outside of the database that depend on transactions. Its functions must neither write nor throw;
 * further work is done later.
 */
export interface TransactionListener {
  /** Some or all changes since the last commit are rolled back: discard everything that depends on them. */
  undone(): void;
  /** All changes are committed. */
  committed?(): void;
  /** Whether work waits for the next commit. */
  awaitsCommit?(): boolean;
  /** The files are consistent again after a failure. A transaction that was reported as undone may be committed. */
  recovered?(): void;
}
