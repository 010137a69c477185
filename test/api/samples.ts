/** Hand-made domain objects, for tests of the serializers by themselves. */
import type { BalanceChange } from '../../src/store/model/account.ts';
import type { SmartContract } from '../../src/store/model/contract.ts';
import type { FtTransfer, Move, StxTransfer } from '../../src/store/model/token.ts';
import type {
  PendingTransactionDetail,
  TransactionDetail,
  TransactionSummary,
} from '../../src/store/model/transaction.ts';
import { ADDRESS, bytes, CONTRACT, NFT, OTHER, TOKEN } from './sample-chain.ts';

export const hexBytes = (hex: string) => Uint8Array.fromHex(hex.replaceAll(/\s|0x/g, ''));

/** The value u3, serialized. */
export const U3 = hexBytes('01 00000000000000000000000000000003');

export function summary(id: number, height = 1, txIndex = 0): TransactionSummary {
  return {
    txId: bytes(id),
    sender: { address: ADDRESS, nonce: 5n },
    sponsor: null,
    fee: '75',
    payload: { type: 'token_transfer', recipient: OTHER, amount: '100', memo: hexBytes('0d0000000568656c6c6f') },
    txIndex,
    status: 'success',
    block: { height, hash: bytes(0xb0 + height), indexHash: bytes(0xc0 + height), time: height * 1000 },
    burnBlock: { height: 100 + height, time: height * 1000 - 10 },
  };
}

export function detail(id: number, height = 1, txIndex = 0): TransactionDetail {
  return {
    ...summary(id, height, txIndex),
    canonical: true,
    microblock: null,
    anchorMode: 3,
    parentBlock: { hash: bytes(0xb0 + height - 1), indexHash: bytes(0xc0 + height - 1) },
    parentBurnBlockTime: (height - 1) * 1000 - 10,
    eventCount: 3,
    cost: { readCount: 1, readLength: 2, runtime: 3, writeCount: 4, writeLength: 5 },
    vmError: null,
    result: hexBytes('0703'),
    postConditions: hexBytes('02 00000000'),
    raw: new Uint8Array([0]),
    functionArgs: null,
  };
}

export function pendingDetail(id: number, receiptTime: number): PendingTransactionDetail {
  const { txId, sender, sponsor, fee, payload } = summary(id);
  return {
    txId,
    sender,
    sponsor,
    fee,
    payload,
    status: 'pending',
    receiptTime,
    receiptBlockHeight: 3,
    replacedByTxId: null,
    raw: new Uint8Array([0]),
  };
}

export function move(id: number, eventIndex: number): Move {
  const { txId, txIndex, block } = summary(id);
  return { txId, txIndex, block, eventIndex, sender: ADDRESS, recipient: OTHER };
}

export const ftTransfer = (id: number, eventIndex: number): FtTransfer => ({ ...move(id, eventIndex), amount: '7' });

export const stxTransfer = (id: number, eventIndex: number): StxTransfer => ({
  ...ftTransfer(id, eventIndex),
  memo: hexBytes('6869'),
});

/** One of each kind of asset. */
export const changesOf = (txId: Uint8Array): BalanceChange[] => [
  { txId, asset: { type: 'stx' }, sent: 175n, received: 0n },
  { txId, asset: { type: 'ft', identifier: TOKEN }, sent: 0n, received: 8n },
  { txId, asset: { type: 'nft', identifier: NFT }, sent: 1n, received: 1n },
];

/** A transaction of an all-zero account around a payload. */
export function rawTransaction(payload: string, postConditions = '02 00000000'): Uint8Array {
  const condition = `00 ${'00'.repeat(20)} ${'00'.repeat(8)} ${'00'.repeat(8)} 00 ${'00'.repeat(65)}`;
  return hexBytes(`00 00000001 04 ${condition} 03 ${postConditions} ${payload}`);
}

/** With the source `;;`. */
export function contract(): SmartContract {
  const { txId, txIndex, block, burnBlock } = summary(0x31);
  const raw = rawTransaction('06 02 04 706f6f6c 00000002 3b3b');
  return { txId, txIndex, block, burnBlock, contractId: CONTRACT, clarityVersion: 2, raw };
}
