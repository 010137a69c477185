/** The simulated node's RPC responses about its blocks agree with its events. */
import { expect, test } from 'bun:test';
import { BOOT_ADDRESS } from '../../src/codec/address.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { cycles } from '../../src/devnet/pox.ts';
import { answerRpc, RPC_TOKEN } from '../../src/devnet/rpc.ts';
import { mineTo } from '../support/events/straight-chain.ts';
import { type BlockBody, blocksOf } from './payload-types.ts';

const chain = new SimulatedChain({ seed: 11, accounts: 12 });
const [, ...events] = mineTo(chain, 60, (parentHeight) => ({ newTenure: parentHeight % 3 === 0 }));
/** A sibling of the tip. It is orphaned. */
const orphan = chain.mine(chain.tip.parent);
const node = { chain, tip: chain.tip, submit: () => Promise.reject(new Error('no transaction is sent')) };

const ask = (path: string, headers: Record<string, string> = {}) =>
  answerRpc(node, new Request(`http://node${path}`, { headers }));
const json = async <T>(path: string, headers?: Record<string, string>) =>
  (await (await ask(path, headers)).json()) as T;
const bare = (hash: string) => hash.slice(2);

const blocks = blocksOf(events);

interface Replay {
  transactions: {
    hex: string;
    result_hex: string;
    execution_cost: object;
    vm_error: string | null;
    events: BlockBody['events'];
  }[];
}

interface Sortition {
  consensus_hash: string;
  last_sortition_ch: string;
}

interface StackerSet {
  stacker_set: { signers: { signing_key: string; stacked_amt: number }[]; rewarded_addresses: object[] };
}

test('the replay of a block equals its announced transactions, with event indexes per transaction', async () => {
  let replayed = 0;
  for (const block of blocks) {
    const id = bare(block.index_block_hash);
    const { transactions } = await json<Replay>(`/v3/blocks/replay/${id}`, { authorization: RPC_TOKEN });
    const ofNode = block.transactions.filter(
      ({ burnchain_op, raw_tx }) => burnchain_op === null && !raw_tx.startsWith('00000000', 4),
    );
    expect(transactions).toHaveLength(ofNode.length);
    for (const [index, transaction] of transactions.entries()) {
      const announced = ofNode[index]!;
      expect(`0x${transaction.hex}`).toBe(announced.raw_tx);
      expect(transaction.result_hex).toBe(announced.raw_result);
      expect(transaction.execution_cost).toEqual(announced.execution_cost);
      expect(transaction.vm_error).toBe(announced.vm_error);
      const posted = block.events.filter(({ txid }) => txid === announced.txid);
      posted.sort((a, b) => a.event_index - b.event_index);
      expect(transaction.events).toEqual(posted.map((event, index) => ({ ...event, event_index: index })));
      replayed += 1;
    }
  }
  expect(replayed).toBeGreaterThan(400);
  // Operations on Bitcoin and token unlocks are in no body.
  expect(blocks.flatMap(({ transactions }) => transactions).length).toBeGreaterThan(replayed);
});

test('a replay requires the token', async () => {
  const path = `/v3/blocks/replay/${bare(node.tip.indexBlockHash)}`;
  expect((await ask(path)).status).toBe(401);
  expect((await ask(path, { authorization: 'other' })).status).toBe(401);
  expect((await ask(path, { authorization: RPC_TOKEN })).status).toBe(200);
});

test("a block is found by its id on every branch, and by height on the given tip's branch", async () => {
  const byId = (id: string) => ask(`/v3/blocks/${bare(id)}`);
  const byHeight = (height: number, tip: string) => ask(`/v3/blocks/height/${height}?tip=${bare(tip)}`);
  const orphanBytes = await (await byId(orphan.indexBlockHash)).bytes();
  const won = await (await byId(chain.tip.indexBlockHash)).bytes();
  expect(orphanBytes).not.toEqual(won);
  expect(await (await byHeight(orphan.height, chain.tip.indexBlockHash)).bytes()).toEqual(won);
  expect(await (await byHeight(orphan.height, orphan.indexBlockHash)).bytes()).toEqual(orphanBytes);
  expect((await byHeight(61, chain.tip.indexBlockHash)).status).toBe(404);
  expect((await byId(chain.genesisHash)).status).toBe(404);
});

test('a sortition contains the tenure that it elected, and the one before', async () => {
  for (const block of blocks.filter(({ block_height }) => block_height % 3 === 1)) {
    const [byHeight] = await json<Sortition[]>(`/v3/sortitions/burn_height/${block.burn_block_height}`);
    expect(await json(`/v3/sortitions/consensus/${bare(block.consensus_hash)}`)).toEqual([byHeight]);
    expect(byHeight).toMatchObject({
      burn_block_hash: block.burn_block_hash,
      burn_header_timestamp: block.burn_block_time,
      consensus_hash: block.consensus_hash,
      was_sortition: true,
    });
  }
  const [latest] = await json<Sortition[]>('/v3/sortitions');
  const at = (height: number) => json<Sortition[]>(`/v3/sortitions/burn_height/${height}`);
  expect(await at(node.tip.burnView.height)).toEqual([latest!]);
  expect(latest!.last_sortition_ch).toBe((await at(node.tip.burnView.height - 1))[0]!.consensus_hash);
  expect((await ask('/v3/sortitions/burn_height/1')).status).toBe(404);
});

test('the blocks of a tenure are listed newest first', async () => {
  const { tenure } = node.tip;
  const { stacks_blocks: named } = await json<{ stacks_blocks: { height: number; block_id: string }[] }>(
    `/v3/tenures/blocks/${tenure.consensusHash.toHex()}`,
  );
  expect(named.map(({ height }) => height)).toEqual([60, 59, 58]);
  expect(named[2]?.block_id).toBe(bare(tenure.indexBlockHash));
});

test('the reward set of a cycle equals the announced one, only on its branch', async () => {
  const chosen = blocks.filter(({ reward_set }) => reward_set !== null);
  expect(chosen.length).toBeGreaterThan(0);
  for (const { cycle_number, reward_set, index_block_hash, parent_index_block_hash } of chosen) {
    const { stacker_set } = await json<StackerSet>(`/v3/stacker_set/${cycle_number}?tip=${bare(index_block_hash)}`);
    expect(stacker_set.signers.map(({ signing_key }) => signing_key)).toEqual(
      reward_set!.signers.map(({ signing_key }) => signing_key),
    );
    expect(stacker_set.signers.map(({ stacked_amt }) => String(stacked_amt))).toEqual(
      reward_set!.signers.map(({ stacked_amt }) => stacked_amt),
    );
    expect(stacker_set.rewarded_addresses).toHaveLength(reward_set!.rewarded_addresses.length);
    expect((await ask(`/v3/stacker_set/${cycle_number}?tip=${bare(parent_index_block_hash)}`)).status).toBe(400);
  }
  expect((await ask(`/v3/stacker_set/${cycles.of(node.tip.burn.height) + 9}`)).status).toBe(400);
});

test('an account is returned with its state at an earlier block', async () => {
  const [transaction] = chain.tip.transactions;
  const { address } = transaction!.origin.account;
  const nonceAt = async (id: string) =>
    (await json<{ nonce: number }>(`/v2/accounts/${address}?proof=0&tip=${bare(id)}`)).nonce;
  expect(await nonceAt(chain.tip.parent!)).toBeLessThan(await nonceAt(chain.tip.indexBlockHash));
});

test.each(['bns', 'costs', 'pox-4'])(
  'a call of a function that the simulated %s lacks fails with the reason',
  async (name) => {
    const request = new Request(`http://node/v2/contracts/call-read/${BOOT_ADDRESS.testnet}/${name}/missing`, {
      method: 'POST',
      body: JSON.stringify({ sender: BOOT_ADDRESS.testnet, arguments: [] }),
    });
    expect(await (await answerRpc(node, request)).json()).toEqual({
      okay: false,
      cause: `The simulated node doesn't execute missing of ${BOOT_ADDRESS.testnet}.${name}; a devnet with a Clarinet project does`,
    });
  },
);
