import { toHex } from '../codec/hex.ts';
import { transactionId } from '../codec/transaction.ts';
import type { ContractCall, ContractTemplate } from './contract.ts';
import type { Network } from './network.ts';
import { type Signer, signTransaction, type UnsignedTransaction } from './transaction-encode.ts';

/** What a transaction sets out to do. */
export type Action =
  | { kind: 'transfer'; recipient: string; amount: bigint; memo: Uint8Array }
  /**
   * `flaw` is the error of code that doesn't pass the analysis, or null. Nobody of the simulation calls a contract that
   * `isOfUser`.
   */
  | { kind: 'deploy'; name: string; template: ContractTemplate; flaw: string | null; isOfUser: boolean }
  | { kind: 'call'; contract: string; call: ContractCall }
  /** Coinbase and tenure change: the block's own bookkeeping. */
  | { kind: 'system' };

/** What becomes of the transaction wherever it is mined, if the call doesn't fail by itself. */
export type Fate = 'success' | 'abort_by_post_condition' | 'problematic_skipped';

/** An account that a transaction uses a nonce of, and the fee in micro-STX that it offers. */
export interface Party {
  readonly account: { readonly address: string };
  readonly nonce: number | bigint;
  readonly fee: bigint;
}

/** A transaction as it is announced and mined; it can be mined on several branches. */
export interface SignedTransaction {
  /** The transaction id, with 0x. */
  readonly id: string;
  readonly raw: Uint8Array;
  readonly origin: Party;
  readonly sponsor: Party | undefined;
  readonly action: Action;
  readonly fate: Fate;
  /** Mode, count and conditions as they stand in the transaction, where they are to be checked. */
  readonly postConditions?: Uint8Array;
}

/** A transaction that the simulation made up and signed itself. */
export interface MadeTransaction extends SignedTransaction {
  readonly origin: Signer;
}

/** Signs, and keeps what the simulation has to know of the transaction to execute it. */
export function makeTransaction(
  unsigned: UnsignedTransaction,
  action: Action,
  network: Network,
  fate: Fate = 'success',
): MadeTransaction {
  const raw = signTransaction(unsigned, network);
  return { id: toHex(transactionId(raw)), raw, origin: unsigned.origin, sponsor: unsigned.sponsor, action, fate };
}

/** Who pays the fee: the sponsor, if there is one. */
export function payerOf(transaction: SignedTransaction): Party {
  return transaction.sponsor ?? transaction.origin;
}
