/** Models of names of both name systems, and of subdomains. */
import type { BnsOperation } from '../../chain/bns-v2.ts';
import type { NameOperationWord } from '../../chain/name-system.ts';

export const NAMES_OF_PAGE = 100;

/** A name that is not revoked. */
export interface NameInfo {
  owner: string;
  operation: NameOperationWord;
  /** Transaction id of the last operation; null if it was before the chain, and the index lacks the chain's beginning. */
  txId: Uint8Array | null;
  /** Height at which its lease ends; 0 while its namespace is not open. */
  expireBlock: number;
  /** Null if the name never had one. */
  zonefileHash: Uint8Array | null;
  /** Empty if it was never received. */
  zonefile: string;
}

export interface ListedName extends Pick<NameInfo, 'owner' | 'operation' | 'txId'> {
  name: string;
  /** When its lease ends; null if it doesn't, or its namespace is not open. */
  lease: NameLease | null;
}

export interface NameLease {
  /** The last tenure of the lease: the name's contract counts tenures. */
  tenureHeight: number;
  hasEnded: boolean;
  /** Unix seconds, at ten minutes a tenure from the tip on. */
  expectedTime: number;
}

/** A subdomain of a name that is not revoked. */
export interface SubdomainInfo {
  owner: string;
  /** Transaction id of the declaration; null as in {@link NameInfo}. */
  txId: Uint8Array | null;
  /** URL of the resolver; empty if the zonefile names none. */
  resolver: string;
  zonefileHash: Uint8Array;
  zonefile: string;
}

/** A name of the second name system that is not burnt. */
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

/** When a name of the second name system must be renewed. */
export interface BnsRenewal {
  burnBlockHeight: number;
  hasEnded: boolean;
  /** Unix seconds, at ten minutes for each Bitcoin block after the tip. */
  expectedTime: number;
}
