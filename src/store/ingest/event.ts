/** Events as they are received, their outcomes, the log events of ingest, and the transaction listener. */

import type { StoreFailure } from '../../base/store-failure.ts';
import type { UnknownKind } from '../../chain/effect.ts';
import type { PreparedPayload } from '../../chain/prepared.ts';
import type { Imported } from '../files/journal.ts';
import type { SecondaryIndexProgress } from '../files/secondary-indexes.ts';
import { decompressed, type Entry, type PackedText } from '../log/entry.ts';

/** An event as the node posted it. */
export interface ReceivedEvent {
  path: string;
  /** JSON. */
  text: string;
  /** Unix microseconds. */
  receivedAt: number;
  /** Position in the event's source after this event. It is stored with the event, also with a repeated one. */
  read?: { source: string; upTo: Imported };
  /** What was done ahead for it. */
  prepared?: Preparation;
}

/** What doesn't depend on the index, and so is done ahead of the writer. */
export interface Preparation {
  /** Null where the writer reads the text. */
  payload: PreparedPayload | null;
  text: PackedText;
  /** Characters of the text. */
  length: number;
}

/** An event that was prepared. Its text is decompressed where it is asked for. */
export class PreparedEvent implements ReceivedEvent {
  constructor(
    readonly path: string,
    readonly receivedAt: number,
    readonly prepared: Preparation,
  ) {}

  get text(): string {
    return decompressed(this.prepared.text.compressed);
  }

  /** The event without what was read of its text, which takes more memory. */
  get unread(): PreparedEvent {
    return new PreparedEvent(this.path, this.receivedAt, { ...this.prepared, payload: null });
  }
}

/** An entry of the journal that was read ahead of its replay. */
export type PreparedEntry = Omit<Entry, 'text'> & {
  /** Characters of its text. */
  length: number;
  /** What was read of the text, or the text where the writer reads it. */
  content: { payload: PreparedPayload } | { text: string };
};

/** `repeated`: the index and the journal have the event already, or it changes nothing; nothing was written. */
export type Outcome = 'applied' | 'repeated';

/** Log events of ingest. */
export type IngestEvent =
  | { event: 'block_applied'; height: number; transactions: number }
  | { event: 'block_reverted'; height: number; index_block_hash: string }
  | { event: 'mempool_transaction_skipped'; reason: string }
  | { event: 'drop_reason_unknown'; reason: string }
  /** The node is newer than this program: the index stores the thing as `unknown`. */
  | { event: 'unknown_kind'; what: UnknownKind; reason: string }
  | { event: 'stacking_print_unread'; contract: string; topic: string | null; reason: string }
  /** A new index, which a rebuild made beside the present one, was installed. */
  | { event: 'index_replaced' }
  /**
   * `newer`: a newer program made the index and can install it. `unfit`: an older program made it, or it has another
   * journal; it is removed.
   */
  | { event: 'new_index_refused'; reason: 'newer' | 'unfit' }
  /** A secondary index, which an interrupted import or rebuild left out, is being made. */
  | ({ event: 'secondary_index_begun' } & SecondaryIndexProgress)
  | { event: 'journal_replayed'; events: number }
  | { event: 'writes_failing'; reason: StoreFailure; cause: unknown }
  | { event: 'writes_resumed'; failures: number };

export type IngestLog = (event: IngestEvent) => void;

/**
 * Has memory or effects outside of the database that depend on transactions. Its functions must neither write nor throw;
 * further work is done later.
 */
export interface TransactionListener {
  /** All or a part of what was written since the last commit is rolled back: discard what depends on it. */
  undone(): void;
  /** What was written is committed. */
  committed?(): void;
  /** Whether work waits for the commit of what was written. */
  awaitsCommit?(): boolean;
  /** The files are consistent again after a failure. A transaction that was reported as undone may be committed. */
  recovered?(): void;
}
