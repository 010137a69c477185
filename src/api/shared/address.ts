/** Addresses as v1 and v2 return them. */
import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import {
  MOST_NONCES,
  type ReceivedStx,
  type AddressTransaction as StoredAddressTransaction,
  type Nonces as StoredNonces,
  type StxHistory,
  type TokenHistory,
} from '../../store/model/account.ts';
import type { AssetEvent, PositionedEvent, TransactionDetail } from '../../store/model/transaction.ts';
import { type TransactionEvent, transactionEvent } from './event.ts';
import { type Declarations, ListedTransaction, listedTransaction } from './transaction.ts';
import {
  ClarityPair,
  clarity,
  exactNumber,
  Hash,
  Height,
  Hex,
  nullable,
  Principal,
  SignedAmount,
  Uint64,
  words,
} from './values.ts';

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
    detected_missing_nonces: Type.Array(Uint64, {
      description: `Nonces above \`last_executed_tx_nonce\` (from 0 on if none is executed) and below \`last_mempool_tx_nonce\` that no pending transaction has, descending. At most the lowest ${MOST_NONCES}`,
    }),
    detected_mempool_nonces: Type.Array(Uint64, {
      description: `Nonces of pending transactions between \`last_executed_tx_nonce\` and \`last_mempool_tx_nonce\`, without these two, ascending. At most the lowest ${MOST_NONCES}. Empty if no nonce is executed`,
    }),
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

const Sides = {
  sender: Type.String({ description: 'Sending principal; empty for a mint' }),
  recipient: Type.String({ description: 'Receiving principal; empty for a burn' }),
};
const Sums = { stx_sent: SignedAmount, stx_received: SignedAmount };
const stx_transfers = Type.Array(Type.Object({ amount: SignedAmount, ...Sides }, { $id: 'AddressStxTransfer' }));

export const TransactionWithStxTransfers = Type.Object(
  { tx: ListedTransaction, ...Sums, stx_transfers },
  { $id: 'TransactionWithStxTransfers' },
);

export const TransactionWithTransfers = Type.Object(
  {
    tx: ListedTransaction,
    ...Sums,
    stx_transfers,
    ft_transfers: Type.Array(
      Type.Object({ asset_identifier: Type.String(), amount: SignedAmount, ...Sides }, { $id: 'AddressFtTransfer' }),
    ),
    nft_transfers: Type.Array(
      Type.Object({ asset_identifier: Type.String(), value: ClarityPair, ...Sides }, { $id: 'AddressNftTransfer' }),
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
    ...Sums,
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

/** An address's STX balance, in micro-STX. @param withPending whether to include the effect of pending transactions */
export function stxBalance(of: StxHistory, withPending: boolean): Static<typeof StxBalance> {
  const { initial, sent, received, fees, mined, locked, pending } = of;
  const balance = initial + received - sent - fees + mined;
  return {
    balance: String(balance),
    ...(withPending
      ? {
          estimated_balance: String(balance + pending.inbound - pending.outbound),
          pending_balance_inbound: String(pending.inbound),
          pending_balance_outbound: String(pending.outbound),
        }
      : {}),
    total_miner_rewards_received: String(mined),
    lock_tx_id: locked?.made == null ? '' : toHex(locked.made.txId),
    locked: String(locked?.amount ?? 0n),
    lock_height: locked?.made?.blockHeight ?? 0,
    burnchain_lock_height: locked?.made?.burnBlockHeight ?? 0,
    burnchain_unlock_height: locked?.unlockHeight ?? 0,
  };
}

/**
 * An address's STX balance and the totals it sent, received and paid as fees, in micro-STX.
 * @param withPending whether the balance includes the effect of pending transactions
 */
export const stxBalanceWithTotals = (of: StxHistory, withPending: boolean): Static<typeof StxBalanceWithTotals> => ({
  ...stxBalance(of, withPending),
  total_sent: String(of.sent),
  total_received: String(of.received),
  total_fees_sent: String(of.fees),
});

/** An address's STX and tokens, each with its totals. */
export function balances(
  stx: StxHistory,
  tokens: readonly TokenHistory[],
  withPending: boolean,
): Static<typeof Balances> {
  const of = (kind: TokenHistory['token']) =>
    tokens
      .filter(({ token }) => token === kind)
      .map(({ asset, sent, received }) => ({
        asset,
        left: String(received - sent),
        totals: { total_sent: String(sent), total_received: String(received) },
      }));
  return {
    stx: stxBalanceWithTotals(stx, withPending),
    fungible_tokens: Object.fromEntries(
      of('ft').map(({ asset, left, totals }) => [asset, { balance: left, ...totals }]),
    ),
    non_fungible_tokens: Object.fromEntries(
      of('nft').map(({ asset, left, totals }) => [asset, { count: left, ...totals }]),
    ),
  };
}

/** Nonces of an address. A nonce above 2^53 keeps all digits. */
export const nonces = (of: StoredNonces): Static<typeof Nonces> => ({
  last_mempool_tx_nonce: of.lastPending === null ? null : exactNumber(of.lastPending),
  last_executed_tx_nonce: of.lastConfirmed === null ? null : exactNumber(of.lastConfirmed),
  possible_next_nonce: exactNumber(of.next),
  detected_missing_nonces: of.missing.map(exactNumber),
  detected_mempool_nonces: of.pending.map(exactNumber),
});

/**
 * An item in the list of an address's events. A lock always has the amount and height 1 there: clients read the real ones
 * from the events of the transaction.
 */
export function listedEvent({ txId, event }: PositionedEvent): Static<typeof TransactionEvent> {
  return transactionEvent(txId, event.kind === 'stx_lock' ? { ...event, amount: '1', unlockHeight: 1 } : event);
}

const transferTypes = { transaction: 'stx-transfer', event: 'stx-transfer-memo', print: 'bulk-send' } as const;

/** A transfer of STX to an address, in micro-STX. */
export const inboundTransfer = (of: ReceivedStx): Static<typeof InboundTransfer> => ({
  sender: of.sender,
  amount: of.amount,
  memo: of.memo === null ? '' : toHex(of.memo),
  block_height: of.blockHeight,
  tx_id: toHex(of.txId),
  transfer_type: transferTypes[of.memoOf],
  tx_index: of.txIndex,
});

/** A missing side is the empty string. */
const sides = ({ sender, recipient }: AssetEvent) => ({ sender: sender ?? '', recipient: recipient ?? '' });

const sums = ({ stx }: StoredAddressTransaction) => ({
  stx_sent: String(stx.sent),
  stx_received: String(stx.received),
});

/** A transaction with the STX it moved for an address, and the transfers of STX. */
export function withStxTransfers(
  of: StoredAddressTransaction,
  declarations: Declarations,
): Static<typeof TransactionWithStxTransfers> {
  return {
    tx: listedTransaction(of.transaction, { declarations }),
    ...sums(of),
    stx_transfers: of.events
      .toReversed()
      .flatMap((event) => (event.kind === 'stx' ? { amount: event.amount, ...sides(event) } : [])),
  };
}

/** A transaction with the STX it moved for an address, and the transfers of STX and tokens. */
export function withTransfers(
  of: StoredAddressTransaction,
  declarations: Declarations,
): Static<typeof TransactionWithTransfers> {
  const newestFirst = of.events.toReversed();
  return {
    ...withStxTransfers(of, declarations),
    ft_transfers: newestFirst.flatMap((event) =>
      event.kind === 'ft' ? { asset_identifier: event.asset, amount: event.amount, ...sides(event) } : [],
    ),
    nft_transfers: newestFirst.flatMap((event) =>
      event.kind === 'nft' ? { asset_identifier: event.asset, value: clarity(event.value), ...sides(event) } : [],
    ),
  };
}

const noEvents = () => ({ transfer: 0, mint: 0, burn: 0 });

/** This list has always returned calls without the contracts' declarations. */
const declarations: Declarations = new Map();

/** A transaction with a principal's part in it. @param principal a transfer to itself counts twice */
export function addressTransaction(
  of: StoredAddressTransaction,
  principal: string,
  withoutArguments: boolean,
): Static<typeof AddressTransaction> {
  const events = { stx: noEvents(), ft: noEvents(), nft: noEvents() };
  for (const { kind, action, sender, recipient } of of.events) {
    events[kind][action] += Number(sender === principal) + Number(recipient === principal);
  }
  return { tx: listedTransaction(of.transaction, { declarations, withoutArguments }), ...sums(of), events };
}

/** An event of a transaction that concerns an address. */
export function addressTransactionEvent(of: AssetEvent): Static<typeof AddressTransactionEvent> {
  const { index: event_index, action: type, sender, recipient } = of;
  const parties = { ...(sender === null ? {} : { sender }), ...(recipient === null ? {} : { recipient }) };
  switch (of.kind) {
    case 'stx':
      return { type: 'stx', event_index, data: { type, amount: of.amount, ...parties } };
    case 'ft':
      return { type: 'ft', event_index, data: { type, amount: of.amount, asset_identifier: of.asset, ...parties } };
    case 'nft':
      return {
        type: 'nft',
        event_index,
        data: { type, asset_identifier: of.asset, value: clarity(of.value), ...parties },
      };
  }
}

/** Whether v1 lists a transaction for a principal: it must be more than the sponsor, and not only have moved tokens. */
export function concernsStx({ transaction: of, events }: StoredAddressTransaction, principal: string): boolean {
  return events.some(({ kind }) => kind === 'stx') || partiesOf(of).includes(principal);
}

function partiesOf({ sender, payload }: TransactionDetail): string[] {
  if (payload.type === 'token_transfer') return [sender.address, payload.recipient];
  if (payload.type === 'smart_contract' || payload.type === 'contract_call')
    return [sender.address, payload.contractId];
  return [sender.address];
}
