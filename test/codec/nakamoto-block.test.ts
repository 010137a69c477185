/** Blocks as bytes: blocks of a simulated node are decoded, and truncated ones are rejected. */
import { expect, test } from 'bun:test';
import { toHex } from '../../src/codec/hex.ts';
import { decodeNakamotoBlock, indexBlockHash, transactionRoot } from '../../src/codec/nakamoto-block.ts';
import { transactionId } from '../../src/codec/transaction.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { answerRpc } from '../../src/devnet/rpc.ts';

const chain = new SimulatedChain({ seed: 7, accounts: 10 });
const mined = chain.mine(null, { transactions: 5 });
const block = chain.block(mined.indexBlockHash)!;

/** The block as the node answers it. */
async function bytesOf(): Promise<Uint8Array> {
  const node = { chain, tip: chain.tip, submit: () => Promise.reject(new Error('no transaction is sent')) };
  const answer = await answerRpc(node, new Request(`http://node/v3/blocks/${block.indexBlockHash.slice(2)}`));
  return answer.bytes();
}

test("a block's hashes come from its header", async () => {
  const decoded = decodeNakamotoBlock(await bytesOf());
  if (!decoded.ok) throw decoded.error;
  const { header, blockHash, blockId, transactionCount } = decoded.value;
  expect(toHex(blockHash)).toBe(block.blockHash);
  expect(toHex(blockId)).toBe(block.indexBlockHash);
  expect(toHex(indexBlockHash(blockHash, header.consensusHash))).toBe(block.indexBlockHash);
  expect(header.chainLength).toBe(1);
  expect(header.timestamp).toBe(block.time);
  expect(toHex(header.parentBlockId)).toBe(chain.genesisHash);
  expect(header.consensusHash).toEqual(block.burn.consensusHash);
  expect(transactionCount).toBe(7);
});

test('the transaction root covers the id of each transaction', async () => {
  const decoded = decodeNakamotoBlock(await bytesOf());
  if (!decoded.ok) throw decoded.error;
  const { header, transactions } = decoded.value;
  const raw = block.receipts.map(({ rawTx }) => fromRaw(rawTx));
  expect(Buffer.concat(raw)).toEqual(Buffer.from(transactions));
  expect(transactionRoot(raw.map(transactionId))).toEqual(new Uint8Array(header.transactionRoot));
  expect(transactionRoot(raw.map(transactionId).toReversed())).not.toEqual(new Uint8Array(header.transactionRoot));
});

test('the root of no transactions is zeros, and an odd last hash is used twice', () => {
  const [a, b, c] = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array, Uint8Array];
  expect(transactionRoot([])).toEqual(new Uint8Array(32));
  expect(transactionRoot([a, b, c])).toEqual(transactionRoot([a, b, c, c]));
  expect(transactionRoot([a])).toEqual(transactionRoot([a, a]));
  expect(transactionRoot([a, b])).not.toEqual(transactionRoot([b, a]));
});

test('a block that is truncated in its header is rejected', async () => {
  const bytes = await bytesOf();
  const header = bytes.length - Buffer.concat(block.receipts.map(({ rawTx }) => fromRaw(rawTx))).length;
  for (let length = 0; length < header; length++) {
    expect(decodeNakamotoBlock(bytes.subarray(0, length)).ok).toBe(false);
  }
});

const fromRaw = (rawTx: string): Uint8Array => Uint8Array.fromHex(rawTx.slice(2));
