/** What v1 and v2 show of addresses. */
import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { ListedTransaction } from './transaction.ts';
import { ClarityPair, Hash, Height, Hex, nullable, Principal, SignedAmount, Uint64, words } from './values.ts';

const lock = {
  lock_tx_id: Type.String({ description: 'Transaction that locked the STX; empty if nothing is locked' }),
  locked: SignedAmount,
  lock_height: Height,
  burnchain_lock_height: Height,
  burnchain_unlock_height: Height,
};

const pending = {
  estimated_balance: Type.Optional(SignedAmount),
  pending_balance_inbound: Type.Optional(SignedAmount),
  pending_balance_outbound: Type.Optional(SignedAmount),
};

/** micro-STX. */
export const StxBalance = Type.Object(
  {
    balance: SignedAmount,
    ...pending,
    total_miner_rewards_received: SignedAmount,
    ...lock,
  },
  { $id: 'AddressStxBalance' },
);

export const StxBalanceWithTotals = Type.Object(
  {
    ...StxBalance.properties,
    total_sent: SignedAmount,
    total_received: SignedAmount,
    total_fees_sent: SignedAmount,
  },
  { $id: 'AddressStxBalanceWithTotals', extends: StxBalance },
);

const totals = { total_sent: SignedAmount, total_received: SignedAmount };
const byAsset = <P extends TProperties>($id: string, sums: P) =>
  Type.Record(Type.String(), Type.Object({ ...sums, ...totals }, { $id }));

export const Balances = Type.Object(
  {
    stx: StxBalanceWithTotals,
    fungible_tokens: byAsset('AddressFtTotals', { balance: SignedAmount }),
    non_fungible_tokens: byAsset('AddressNftTotals', { count: SignedAmount }),
  },
  { $id: 'AddressBalances' },
);

export const Nonces = Type.Object(
  {
    last_mempool_tx_nonce: nullable(Uint64),
    last_executed_tx_nonce: nullable(Uint64),
    possible_next_nonce: Uint64,
    detected_missing_nonces: Type.Array(Uint64),
    detected_mempool_nonces: Type.Array(Uint64),
  },
  { $id: 'AddressNonces' },
);

export const InboundTransfer = Type.Object(
  {
    sender: Principal,
    amount: SignedAmount,
    memo: Type.Union([Hex, Type.Literal('')], { description: 'Memo of the transfer; empty if it has none' }),
    block_height: Height,
    tx_id: Hash,
    transfer_type: words('bulk-send', 'stx-transfer', 'stx-transfer-memo'),
    tx_index: Type.Integer(),
  },
  { $id: 'InboundTransfer' },
);

const sides = {
  sender: Type.String({ description: 'Sending principal; empty for a mint' }),
  recipient: Type.String({ description: 'Receiving principal; empty for a burn' }),
};
const sums = { stx_sent: SignedAmount, stx_received: SignedAmount };
const stx_transfers = Type.Array(Type.Object({ amount: SignedAmount, ...sides }, { $id: 'AddressStxTransfer' }));

export const TransactionWithStxTransfers = Type.Object(
  { tx: ListedTransaction, ...sums, stx_transfers },
  { $id: 'TransactionWithStxTransfers' },
);

export const TransactionWithTransfers = Type.Object(
  {
    tx: ListedTransaction,
    ...sums,
    stx_transfers,
    ft_transfers: Type.Array(
      Type.Object({ asset_identifier: Type.String(), amount: SignedAmount, ...sides }, { $id: 'AddressFtTransfer' }),
    ),
    nft_transfers: Type.Array(
      Type.Object({ asset_identifier: Type.String(), value: ClarityPair, ...sides }, { $id: 'AddressNftTransfer' }),
    ),
  },
  { $id: 'TransactionWithTransfers' },
);

const counts = Type.Object(
  { transfer: Type.Integer(), mint: Type.Integer(), burn: Type.Integer() },
  { $id: 'EventCounts' },
);

export const AddressTransaction = Type.Object(
  {
    tx: ListedTransaction,
    ...sums,
    events: Type.Object({ stx: counts, ft: counts, nft: counts }),
  },
  { $id: 'AddressTransaction' },
);

const parties = { sender: Type.Optional(Principal), recipient: Type.Optional(Principal) };
const type = words('transfer', 'mint', 'burn');
const event = <const W extends string, D extends TSchema>(word: W, data: D) =>
  Type.Object({ type: Type.Literal(word), event_index: Type.Integer(), data });

export const AddressTransactionEvent = Type.Union(
  [
    event('stx', Type.Object({ type, amount: SignedAmount, ...parties })),
    event('ft', Type.Object({ type, amount: SignedAmount, asset_identifier: Type.String(), ...parties })),
    event('nft', Type.Object({ type, asset_identifier: Type.String(), value: ClarityPair, ...parties })),
  ],
  { $id: 'AddressTransactionEvent' },
);

export const AddressFtBalance = Type.Object(
  { token: Type.String(), balance: SignedAmount },
  { $id: 'AddressFtBalance' },
);
