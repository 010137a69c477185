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

/**
 * A search result. Its id distinguishes it from others of its kind: an index block hash, the hash of a Bitcoin block, a
 * transaction id, an address, an asset identifier, a contract identifier or a name. Hashes are hex with 0x.
 */
export type SearchResult = { match: Match; id: string } & (
  | { kind: 'block'; hash: Uint8Array; height: number; canonical: boolean }
  | { kind: 'burn_block'; height: number }
  /** Type and status are null for a transaction that only orphaned blocks have. The height is null unless it is canonical. */
  | { kind: 'transaction'; type: TransactionType | null; status: string | null; height: number | null }
  | { kind: 'bitcoin_address' }
  /** `bitcoinAddress` is the text of the search, if it was a Bitcoin address. */
  | { kind: 'address'; bitcoinAddress: string | null }
  /** Name and symbol are null if the contract wasn't read. */
  | { kind: 'token'; name: string | null; symbol: string | null }
  | { kind: 'contract' }
  /** A name of BNS-V2. */
  | { kind: 'bns_name' }
  | { kind: 'name' }
);
