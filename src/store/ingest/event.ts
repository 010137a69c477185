/** The events of ingest, its outcomes, its log events, and its listeners. */
import type { UnknownKind } from '../../chain/effect.ts';
import type { Imported } from '../files/journal.ts';
import type { SecondaryIndexProgress } from '../files/secondary-indexes.ts';
import type { StoreFailure } from '../files/store-failure.ts';

/** An event as it reached us. */
export interface ReceivedEvent {
  path: string;
  /** JSON. */
  text: string;
  /** Unix microseconds. */
  receivedAt: number;
  /** How far its source is read with this event. Stored in the transaction of the event, or in one of its own if repeated. */
  read?: { source: string; upTo: Imported };
}

/** `repeated`: the index and the journal hold it already, or it changes nothing; neither was written. */
export type Outcome = 'applied' | 'repeated';

/** What ingest says of its work. */
export type IngestEvent =
  | { event: 'block_applied'; height: number; transactions: number }
  | { event: 'block_reverted'; height: number; index_block_hash: string }
  | { event: 'mempool_transaction_skipped'; reason: string }
  | { event: 'drop_reason_unknown'; reason: string }
  /** The node is newer than this program: see what the index keeps as `unknown`. */
  | { event: 'unknown_kind'; what: UnknownKind; reason: string }
  | { event: 'stacking_print_unread'; contract: string; topic: string | null; reason: string }
  | { event: 'journal_upgraded'; entries: number }
  /** An index that a rebuild made beside the present one took its place. */
  | { event: 'index_replaced' }
  /** `newer`: a newer program made it, which takes it. `unfit`: an older one did, or it is of another journal; it is removed. */
  | { event: 'new_index_refused'; reason: 'newer' | 'unfit' }
  /** An index that an interrupted load did not make. */
  | ({ event: 'secondary_index_begun' } & SecondaryIndexProgress)
  | { event: 'journal_replayed'; events: number }
  | { event: 'writes_failing'; reason: StoreFailure; cause: unknown }
  | { event: 'writes_resumed'; failures: number };

export type IngestLog = (event: IngestEvent) => void;

/**
 * What keeps something in memory, or does something outside, that comes from what transactions write. None of these may
 * write or throw: who has more to do does it later.
 */
export interface TransactionListener {
  /** What was written since the last commit, or a part of it, is rolled back: forget what was made from it. */
  undone(): void;
  /** What was written is committed. */
  committed?(): void;
  /** Called when the files are in order again after a failure; what seemed undone may be committed all the same. */
  recovered?(): void;
}
