import { toHex } from '../codec/hex.ts';
import { transactionId } from '../codec/transaction.ts';
import type { ContractCall, ContractTemplate } from './contract.ts';
import type { Network } from './network.ts';
import { type Signer, signTransaction, type UnsignedTransaction } from './transaction-encode.ts';

/** What a transaction sets out to do. */
export type Action =
  | { kind: 'transfer'; recipient: string; amount: bigint; memo: Uint8Array }
  /** `flawed` code doesn't pass the analysis. */
  | { kind: 'deploy'; name: string; template: ContractTemplate; flawed: boolean }
  | { kind: 'call'; contract: string; call: ContractCall }
  /** Coinbase and tenure change: the block's own bookkeeping. */
  | { kind: 'system' };

/** What becomes of the transaction wherever it is mined, if the call doesn't fail by itself. */
export type Fate = 'success' | 'abort_by_post_condition' | 'problematic_skipped';

/** A transaction as it is announced and mined; it can be mined on several branches. */
export interface SignedTransaction {
  /** The transaction id, with 0x. */
  readonly id: string;
  readonly raw: Uint8Array;
  readonly origin: Signer;
  readonly sponsor: Signer | undefined;
  readonly action: Action;
  readonly fate: Fate;
}

/** Signs, and keeps what the simulation has to know of the transaction to execute it. */
export function makeTransaction(
  unsigned: UnsignedTransaction,
  action: Action,
  network: Network,
  fate: Fate = 'success',
): SignedTransaction {
  const raw = signTransaction(unsigned, network);
  return { id: toHex(transactionId(raw)), raw, origin: unsigned.origin, sponsor: unsigned.sponsor, action, fate };
}

/** Who pays the fee: the sponsor, if there is one. */
export function payerOf(transaction: SignedTransaction): Signer {
  return transaction.sponsor ?? transaction.origin;
}
