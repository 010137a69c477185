import { expect, test } from 'bun:test';
import { fromHex } from '../../src/codec/hex.ts';
import { decodeKnownParts } from '../../src/codec/transaction.ts';
import { type MinedBlock, SimulatedChain } from '../../src/devnet/chain.ts';
import { blocksOf, bodiesOf } from './payload-types.ts';

test('two children of one block are a fork: the first stays the tip until the other has a longer branch', () => {
  const chain = new SimulatedChain({ seed: 1, accounts: 10 });
  const base = chain.mine(null);
  const left = chain.mine(base.indexBlockHash);
  const right = chain.mine(base.indexBlockHash);
  expect(chain.tip.indexBlockHash).toBe(left.indexBlockHash);
  const top = chain.mine(right.indexBlockHash);
  expect(left.indexBlockHash).not.toBe(right.indexBlockHash);
  expect([left.height, right.height, top.height]).toEqual([2, 2, 3]);
  const body = blocksOf(top.events)[0];
  expect(body?.parent_index_block_hash).toBe(right.indexBlockHash);
  expect(chain.tip.indexBlockHash).toBe(top.indexBlockHash);
});

test('a block has as many transactions as requested, without the start of its tenure', () => {
  const chain = new SimulatedChain({ seed: 4, accounts: 10, mempool: false });
  const base = chain.mine(null, { transactions: 0 });
  expect(base.txIds).toHaveLength(2);
  const next = chain.mine(base.indexBlockHash, { transactions: 7 });
  const ordinary = blocksOf(next.events)[0]?.transactions.filter(({ raw_tx }) => raw_tx.slice(232, 234) !== '07');
  expect(ordinary).toHaveLength(7);
});

test('a new tenure posts its burn block before its first block', () => {
  const chain = new SimulatedChain({ seed: 5, accounts: 10 });
  const first = chain.mine(null);
  const second = chain.mine(first.indexBlockHash, { newTenure: true });
  expect(second.events[0]?.path).toBe('/new_burn_block');
  expect(second.events.at(-1)?.path).toBe('/new_block');
  expect(second.burnBlockHash).not.toBe(first.burnBlockHash);
  const third = chain.mine(second.indexBlockHash);
  expect(third.burnBlockHash).toBe(second.burnBlockHash);
});

test('the first block of a tenure contains the operations of all Bitcoin blocks since its parent, in order', () => {
  const chain = new SimulatedChain({ seed: 5, accounts: 10 });
  let later = 0;
  for (let tenure = 0; tenure < 40; tenure++) {
    const bitcoin = Array.from({ length: 3 }, () => chain.mineBitcoin().burnBlock);
    const mined = chain.mine(tenure === 0 ? null : chain.tip.indexBlockHash, { newTenure: true, transactions: 0 });
    const ids = blocksOf(mined.events)[0]!.transactions.flatMap(({ burnchain_op }) =>
      Object.values((burnchain_op ?? {}) as Record<string, { burn_txid: string }>).map(
        ({ burn_txid }) => `0x${burn_txid}`,
      ),
    );
    // The chain skips a transfer that the sender can't pay.
    const due = bitcoin.flatMap(({ operations }) =>
      operations.filter(({ txId, kind }) => kind === 'stack' || ids.includes(txId)).map(({ txId }) => txId),
    );
    expect(ids).toEqual(due);
    later += bitcoin.slice(1).flatMap(({ operations }) => operations.filter(({ txId }) => ids.includes(txId))).length;
  }
  expect(later).toBeGreaterThan(5);
});

test('a tenure change contains the number of blocks in the previous tenure', () => {
  const chain = new SimulatedChain({ seed: 13, accounts: 10 });
  const lengths: number[] = [];
  for (const [tenure, blocks] of [1, 3, 2, 1].entries()) {
    for (let block = 0; block < blocks; block++) {
      const parent = tenure + block === 0 ? null : chain.tip.indexBlockHash;
      const { events } = chain.mine(parent, { newTenure: block === 0, transactions: 0 });
      const payloads = blocksOf(events)[0]!.transactions.map(({ raw_tx }) => decodeKnownParts(fromHex(raw_tx)));
      for (const decoded of payloads) {
        if (decoded.ok && decoded.value.payload.type === 'tenure_change')
          lengths.push(decoded.value.payload.previousTenureBlocks);
      }
    }
  }
  expect(lengths).toEqual([0, 1, 3, 2]);
});

test('a fork of Bitcoin announces other burn blocks at the same heights', () => {
  const chain = new SimulatedChain({ seed: 6, accounts: 10 });
  const base = chain.mine(null);
  const left = chain.mine(base.indexBlockHash, { newTenure: true });
  const right = chain.mine(base.indexBlockHash, { newTenure: true, burnFork: true });
  const top = chain.mine(right.indexBlockHash, { newTenure: true });
  const [l, r, t] = [left, right, top].map(burnHeight);
  expect(r).toBe(l!);
  expect(t).toBe(l! + 1);
  expect(right.burnBlockHash).not.toBe(left.burnBlockHash);
});

test('without a fork of Bitcoin, a rival tenure uses a later burn block', () => {
  const chain = new SimulatedChain({ seed: 7, accounts: 10 });
  const base = chain.mine(null);
  const left = chain.mine(base.indexBlockHash, { newTenure: true });
  const right = chain.mine(base.indexBlockHash, { newTenure: true, newBurnBlock: true });
  expect(burnHeight(right)).toBe(burnHeight(left)! + 1);
});

test('a burn block without an election extends the tenure', () => {
  const chain = new SimulatedChain({ seed: 8, accounts: 10 });
  const base = chain.mine(null);
  const next = chain.mine(base.indexBlockHash, { newTenure: false, newBurnBlock: true, transactions: 0 });
  expect(bodiesOf(next.events, '/new_burn_block')).toHaveLength(1);
  expect(next.burnBlockHash).toBe(base.burnBlockHash);
  expect(next.txIds).toHaveLength(1);
});

test('a restart announces block 0 without transactions or events', () => {
  const chain = new SimulatedChain({ seed: 9, accounts: 10 });
  const [genesis, restarted] = blocksOf([chain.genesis(), chain.restart()]);
  expect(restarted).toEqual({ ...genesis!, transactions: [], events: [] });
  expect(genesis?.parent_index_block_hash).toBe(`0x${'ff'.repeat(32)}`);
});

test('a coinbase matures after six tenures, with the fees of the previous tenure', () => {
  const chain = new SimulatedChain({ seed: 10, accounts: 10 });
  let parent: string | null = null;
  const blocks: MinedBlock[] = [];
  for (let i = 0; i < 9; i++) {
    blocks.push(chain.mine(parent, { newTenure: true, ...(i === 8 ? { transactions: 0 } : {}) }));
    parent = blocks.at(-1)!.indexBlockHash;
  }
  const bodies = blocks.flatMap(({ events }) => blocksOf(events));
  const rewards = bodies.map(({ matured_miner_rewards }) => matured_miner_rewards.length);
  expect(rewards).toEqual([0, 0, 0, 0, 0, 0, 2, 2, 2]);
  const [coinbase, fees] = bodies.at(-1)!.matured_miner_rewards;
  // Tenure 3 matures in tenure 9, and with it the fees of tenure 2.
  expect(coinbase).toMatchObject({
    from_index_consensus_hash: blocks[2]!.indexBlockHash,
    tx_fees_streamed_produced: '0',
  });
  const paid = chain.block(blocks[1]!.indexBlockHash)!.fees;
  expect(fees).toMatchObject({ coinbase_amount: '0', tx_fees_streamed_produced: String(paid) });
  const before = chain.block(blocks[7]!.indexBlockHash)!.world;
  expect(chain.tip.world.supply() - before.supply()).toBe(BigInt(coinbase!.coinbase_amount));
});

test('mining on a block that is no longer in memory fails', () => {
  const chain = new SimulatedChain({ seed: 11, accounts: 10, retained: 2 });
  let parent: string | null = null;
  for (let i = 0; i < 4; i++) parent = chain.mine(parent).indexBlockHash;
  expect(() => chain.mine(chain.genesisHash)).toThrow('no block');
});

function burnHeight({ events }: MinedBlock): number | undefined {
  return blocksOf(events)[0]?.burn_block_height;
}
