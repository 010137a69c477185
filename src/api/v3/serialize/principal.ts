import type { Static } from '@sinclair/typebox';
import { exactNumber } from '../../../base/json.ts';
import { toHex } from '../../../codec/hex.ts';
import type { BalanceChange, Nonces, PrincipalTransaction, StxBalance } from '../../../store/model/account.ts';
import type {
  StxBalance as BalanceSchema,
  BalanceChange as ChangeSchema,
  Nonces as NoncesSchema,
  TransactionBalanceChange,
  PrincipalTransaction as TransactionSchema,
} from '../schemas/principal.ts';
import { listedTransaction } from './transaction.ts';

/** A principal's STX balance, in micro-STX. */
export function stxBalance({ balance, locked, pending }: StxBalance): Static<typeof BalanceSchema> {
  const available = balance - (locked?.amount ?? 0n);
  const { any, inbound, outbound } = pending;
  return {
    balance: String(balance),
    available: String(available),
    locked: locked === null ? null : lock(locked),
    mempool: any
      ? {
          estimated_balance: String(available + inbound - outbound),
          inbound: String(inbound),
          outbound: String(outbound),
        }
      : null,
  };
}

const lock = (locked: NonNullable<StxBalance['locked']>) => ({
  amount: String(locked.amount),
  pox_version: locked.poxVersion,
  lock_tx_id: toHex(locked.txId),
  stacks_lock_height: locked.blockHeight,
  burn_lock_height: locked.burnBlockHeight,
  burn_unlock_height: locked.unlockHeight,
});

/** Nonces of an address; a nonce beyond 2^53 keeps every digit. */
export const nonces = (of: Nonces): Static<typeof NoncesSchema> => ({
  next_nonce: exactNumber(of.next),
  last_confirmed_nonce: of.lastConfirmed === null ? null : exactNumber(of.lastConfirmed),
  mempool: {
    last_nonce: of.lastPending === null ? null : exactNumber(of.lastPending),
    pending_nonces: of.pending.map(exactNumber),
    missing_nonces: of.missing.map(exactNumber),
  },
});

const change = ({ sent, received }: { sent: bigint; received: bigint }) => ({
  sent: String(sent),
  received: String(received),
  net: String(received - sent),
});

/** What a transaction did to one asset of a principal. */
export const balanceChange = ({ asset, ...of }: BalanceChange): Static<typeof ChangeSchema> => ({
  asset,
  balance_change: change(of),
});

/** What a transaction did to one asset of a principal, with the transaction's id. */
export const transactionBalanceChange = (of: BalanceChange): Static<typeof TransactionBalanceChange> => ({
  tx_id: toHex(of.txId),
  ...balanceChange(of),
});

/** A transaction with a principal's part in it. */
export function principalTransaction(of: PrincipalTransaction): Static<typeof TransactionSchema> {
  return {
    transaction: listedTransaction(of.transaction),
    involvement: of.involvement,
    balance_changes: { stx: change(of.stx) },
    affected_balances: { stx: of.affected.stx, ft: of.affected.ft, nft: of.affected.nft },
  };
}
