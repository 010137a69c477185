/** Chainhooks as the store returns them. Times are Unix milliseconds. */
import type { BackfillState, DeliveryState, HookStatus, QueueName, Reason, Stage } from '../rows/enums.ts';
import type { Stored } from '../rows/statement.ts';
import type { Renamed } from '../rows/table.ts';

/** A block by height and index block hash; height 0 and an empty hash before block 1. */
export interface Cursor {
  height: number;
  hash: Uint8Array;
}

type HookColumns = Omit<
  Stored<'hooks'>,
  'stage' | 'status' | 'cursor_height' | 'cursor_hash' | 'url' | 'joined' | 'expires_at' | 'deleted_at'
>;

export interface HookRecord extends Renamed<HookColumns> {
  stage: Stage;
  status: HookStatus;
  /** The last block that was evaluated. */
  cursor: Cursor;
}

/** Position of the live hooks, and how many blocks were evaluated since the first. */
export interface HookProgress {
  evaluated: number;
  cursor: Cursor;
  evaluatedAt: number | null;
}

interface NotifiedBlock {
  height: number;
  /** Hex with 0x. */
  index_block_hash: string;
  tx_count: number;
}

export interface NotifiedBlocks {
  apply: NotifiedBlock[];
  rollback: NotifiedBlock[];
}

/** JSON text in two parts. Deliveries that are made together may share the second. */
export interface DeliveryBody {
  /** The first part. */
  own: string;
  /** The second part, in UTF-8. */
  shared: Uint8Array;
}

export interface NewDelivery {
  webhookId: string;
  hookId: number;
  queue: QueueName;
  reason: Reason;
  sequence: number | null;
  blocks: NotifiedBlocks;
  /** JSON text; null if it could not be made; `problem` has the reason. */
  body: string | DeliveryBody | null;
  problem: string | null;
  backfillId: number | null;
}

type DeliveryColumns = Pick<
  Stored<'hook_deliveries'>,
  'id' | 'created_at' | 'next_attempt_at' | 'delivered_at' | 'tried_since' | 'attempts' | 'body_bytes' | 'body_sha256'
>;

export interface Delivery extends Omit<NewDelivery, 'body'>, Renamed<DeliveryColumns> {
  state: DeliveryState;
}

/** One request with a delivery. It has either a status code or an error. */
export interface Attempt {
  at: number;
  durationMs: number;
  urlHost: string;
  statusCode: number | null;
  error: string | null;
  excerpt: string | null;
}

export interface Secrets {
  secret: Uint8Array;
  /** Null if there was none, or its time is over. */
  previous: Uint8Array | null;
  rotatedAt: number;
}

export interface Backfill extends Renamed<Omit<Stored<'hook_backfills'>, 'state' | 'dry_run'>> {
  state: BackfillState;
  dryRun: boolean;
}

/** A block that a hook was notified of. */
export interface LedgerEntry {
  hookId: number;
  indexBlockHash: Uint8Array;
  height: number;
  txIndexes: number[];
}
