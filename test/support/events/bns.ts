/** Hand-made blocks whose transactions change names of the second name system, as the contract BNS-V2 prints them. */
import { BNS_CONTRACTS, type BnsOperation, bnsAsset, SET_PRIMARY } from '../../../src/chain/bns-v2.ts';
import { clarity } from '../../../src/codec/clarity-encode.ts';
import { toHex } from '../../../src/codec/hex.ts';
import { utf8Bytes } from '../../../src/codec/utf8.ts';
import type { Account } from '../../../src/devnet/wallet.ts';
import { alice, block, call, type MadeBlock, receipt, type Transaction, transfer } from './handmade.ts';

export const BNS = BNS_CONTRACTS.testnet;

/** A transaction and its events. */
export interface BnsTransaction {
  transaction: Transaction;
  events: readonly object[];
}

/** A move of a name's token between owners; null as sender is a mint, as receiver a burn. */
interface Move {
  id: number;
  from: string | null;
  to: string | null;
}

export interface Printed extends Move {
  /** Without its namespace. */
  label: string;
  namespace: string;
  operation: BnsOperation;
  /** Missing in prints without properties. */
  renewalHeight?: number;
}

const buffer = (text: string): Uint8Array => clarity.buffer(utf8Bytes(text));
let nonce = 1_000;

export const printedName = ({
  label,
  namespace,
  operation,
  id,
  to,
  renewalHeight,
}: Omit<Printed, 'from'>): Uint8Array =>
  clarity.tuple({
    topic: clarity.ascii(operation),
    owner: to === null ? clarity.ascii('') : clarity.principal(to),
    name: clarity.tuple({ name: buffer(label), namespace: buffer(namespace) }),
    id: operation === 'renew-name' ? clarity.some(clarity.uint(id)) : clarity.uint(id),
    ...(renewalHeight === undefined
      ? {}
      : { properties: clarity.some(clarity.tuple({ 'renewal-height': clarity.uint(renewalHeight) })) }),
  });

export const printedNamespace = (namespace: string, lifetime: number | bigint, launchedAt: number | null): Uint8Array =>
  clarity.tuple({
    namespace: buffer(namespace),
    status: clarity.ascii('launch'),
    properties: clarity.some(
      clarity.tuple({
        lifetime: clarity.uint(lifetime),
        'launched-at': launchedAt === null ? clarity.none() : clarity.some(clarity.uint(launchedAt)),
      }),
    ),
  });

const logged = (txid: string, event_index: number, value: Uint8Array, contract: string) => ({
  txid,
  event_index,
  committed: true,
  type: 'contract_event',
  contract_event: { contract_identifier: contract, topic: 'print', raw_value: toHex(value) },
});

function moved(txid: string, { id, from, to }: Move, contract: string): object[] {
  if (from === to) return [];
  const type = from === null ? 'nft_mint_event' : to === null ? 'nft_burn_event' : 'nft_transfer_event';
  const parties = { ...(from === null ? {} : { sender: from }), ...(to === null ? {} : { recipient: to }) };
  const token = { asset_identifier: bnsAsset(contract), raw_value: toHex(clarity.uint(id)), ...parties };
  return [{ txid, event_index: 0, committed: true, type, [type]: token }];
}

/** A transaction that moves a name's token, if its owner changes, and prints the operation. */
export function bnsOperated(printed: Printed, contract = BNS, txNonce = nonce++): BnsTransaction {
  const transaction = transfer(alice, txNonce, 1);
  const move = moved(transaction.id, printed, contract);
  return { transaction, events: [...move, logged(transaction.id, move.length, printedName(printed), contract)] };
}

/** A transaction that launches a namespace. */
export function bnsLaunched(namespace: string, lifetime: number | bigint, launchedAt: number | null): BnsTransaction {
  const transaction = transfer(alice, nonce++, 1);
  const value = printedNamespace(namespace, lifetime, launchedAt);
  return { transaction, events: [logged(transaction.id, 0, value, BNS)] };
}

/** A call by which an account chooses its primary name. */
export const bnsChosen = (account: Account, id: number): BnsTransaction => ({
  transaction: call(account, nonce++, 1, BNS, SET_PRIMARY, [clarity.uint(id)]),
  events: [],
});

/** A block of such transactions. */
export const bnsBlock = (parent: MadeBlock | null, label: string, ...operations: BnsTransaction[]): MadeBlock =>
  block(
    parent,
    label,
    operations.map(({ transaction }, index) => receipt(transaction, index)),
    { events: operations.flatMap(({ events }) => events) },
  );
