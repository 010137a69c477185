/** Models of names of the second name system. */
import type { BnsOperation } from '../../chain/bns-v2.ts';

/** A name that is not burnt. */
export interface BnsName {
  /** Full name: `alice.btc`. */
  name: string;
  /** Number of the name's token. */
  id: number;
  /** Null if the contract's token doesn't exist. */
  owner: string | null;
  /** Whether it is the primary name of its owner. */
  isPrimary: boolean;
  /** The last operation, its transaction, and the time of its block. */
  operation: BnsOperation;
  txId: Uint8Array;
  time: number;
  /** When it must be renewed; null if it never expires, or if its namespace isn't launched. */
  renewal: BnsRenewal | null;
}

export interface BnsRenewal {
  burnBlockHeight: number;
  hasEnded: boolean;
  /** Unix seconds, at ten minutes for each Bitcoin block after the tip. */
  expectedTime: number;
}
