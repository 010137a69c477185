/** Models of search results. */
import type { TransactionType } from '../../codec/transaction.ts';

/** The kinds of search results, in the order in which equal matches are listed. */
export const foundKinds = [
  'block',
  'burn_block',
  'transaction',
  'bitcoin_address',
  'address',
  'token',
  'contract',
  'bns_name',
  'name',
] as const;

/** How a text matches, the best first: it is the name or id, begins it, or is a part of it. */
export const matches = ['exact', 'start', 'part'] as const;
export type Match = (typeof matches)[number];

export type SearchResult = { match: Match } & (
  | { kind: 'block'; indexHash: Uint8Array; hash: Uint8Array; height: number; canonical: boolean }
  | { kind: 'burn_block'; hash: Uint8Array; height: number }
  /** Type and status are null for a transaction that only orphaned blocks have. The height is null unless it is canonical. */
  | {
      kind: 'transaction';
      txId: Uint8Array;
      type: TransactionType | null;
      status: string | null;
      height: number | null;
    }
  | { kind: 'bitcoin_address'; bitcoinAddress: string }
  /** `bitcoinAddress` is the text of the search, if it was a Bitcoin address. */
  | { kind: 'address'; address: string; bitcoinAddress: string | null }
  /** Name and symbol are null if the contract wasn't read. */
  | { kind: 'token'; asset: string; name: string | null; symbol: string | null }
  | { kind: 'contract'; contractId: string }
  /** A name of BNS-V2. */
  | { kind: 'bns_name'; name: string }
  | { kind: 'name'; name: string }
);
