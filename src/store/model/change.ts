/** Changes of the chain and the mempool, for subscribers. */
import type { AssetAction } from '../../chain/block.ts';
import type { ChangeKind } from '../rows/enums.ts';
import type { AddressTransaction } from './account.ts';

/** A change. Ids ascend. */
export interface Change {
  id: number;
  kind: ChangeKind;
  /** Index block hash or transaction id. */
  subject: Uint8Array;
}

/** Transactions and principals of a block, in the order of their first occurrence. */
export interface BlockParties {
  txIds: Uint8Array[];
  /** Senders, sponsors, recipients, contracts, the parties of asset events and locks, and recipients of matured rewards. */
  principals: string[];
}

/** The parts of an orphaned block that subscribers are notified of. */
export interface OrphanedParts {
  txIds: Uint8Array[];
  nftEvents: NftMove[];
  /** The transactions with their effects on the wanted principals, the last transaction first. */
  addressTransactions(isWanted: (principal: string) => boolean): Iterable<[principal: string, AddressTransaction]>;
}

/** An event of an instance of a non-fungible token. */
export interface NftMove {
  txId: Uint8Array;
  txIndex: number;
  blockHeight: number;
  eventIndex: number;
  action: AssetAction;
  asset: string;
  /** Serialized Clarity value. */
  value: Uint8Array;
  sender: string | null;
  recipient: string | null;
}
