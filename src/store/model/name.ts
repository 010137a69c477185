/** Names and subdomains, as queries answer them. */
import type { NameOperationWord } from '../../chain/name-system.ts';

/** Names on a page of a list. */
export const NAMES_OF_PAGE = 100;

/** A name that is not revoked. */
export interface NameInfo {
  owner: string;
  /** The last one. */
  operation: NameOperationWord;
  /** Transaction id of the last operation; null where it was before the chain, and the index doesn't begin with it. */
  txId: Uint8Array | null;
  /** Height at which its lease ends; 0 while its namespace is not open. */
  expireBlock: number;
  /** Null where it never had one. */
  zonefileHash: Uint8Array | null;
  /** Empty where it never reached us. */
  zonefile: string;
}

/** A subdomain of a name that is not revoked. */
export interface SubdomainInfo {
  /** Owner that the declaration names. */
  owner: string;
  /** Transaction id of the declaration; null as in a name. */
  txId: Uint8Array | null;
  /** URL of whoever resolves it; empty where the zonefile names nobody. */
  resolver: string;
  zonefileHash: Uint8Array;
  zonefile: string;
}
