import { Type } from '@sinclair/typebox';
import { Amount, Asset, Hash, Height, nullable, SignedAmount, Uint64, words } from '../../shared/schemas/values.ts';
import { ListedTransaction } from './transaction.ts';

export const StxBalance = Type.Object(
  {
    balance: Amount,
    available: Type.String({ pattern: '^-?[0-9]+$', description: 'Balance less the locked amount, in micro-STX' }),
    locked: nullable(
      Type.Object({
        amount: Amount,
        pox_version: Type.Integer(),
        lock_tx_id: Hash,
        stacks_lock_height: Height,
        burn_lock_height: Height,
        burn_unlock_height: Height,
      }),
    ),
    mempool: nullable(
      Type.Object({
        estimated_balance: Type.String({
          pattern: '^-?[0-9]+$',
          description: 'Available balance once all pending transactions are mined, in micro-STX',
        }),
        inbound: Amount,
        outbound: Amount,
      }),
    ),
  },
  { $id: 'StxBalance' },
);

export const Nonces = Type.Object(
  {
    next_nonce: Uint64,
    last_confirmed_nonce: nullable(Uint64),
    mempool: Type.Object({
      last_nonce: nullable(Uint64),
      pending_nonces: Type.Array(Uint64),
      missing_nonces: Type.Array(Uint64),
    }),
  },
  { $id: 'Nonces' },
);

const change = Type.Object({ sent: Amount, received: Amount, net: SignedAmount }, { $id: 'AssetChange' });

/**
 * The change of one asset: STX with the fee in `sent`, base units of a fungible token, or the number of a non-fungible token's
 * events.
 */
export const BalanceChange = Type.Object({ asset: Asset, balance_change: change }, { $id: 'BalanceChange' });

export const TransactionBalanceChange = Type.Object(
  { tx_id: Hash, asset: Asset, balance_change: change },
  { $id: 'TransactionBalanceChange' },
);

export const PrincipalTransaction = Type.Object(
  {
    transaction: ListedTransaction,
    involvement: words('sender', 'sponsor', 'affected'),
    balance_changes: Type.Object({ stx: change }),
    affected_balances: Type.Object({ stx: Type.Boolean(), ft: Type.Boolean(), nft: Type.Boolean() }),
  },
  { $id: 'PrincipalTransaction' },
);
