/** Balances of block 0 count from block 0 on; block 1 shows its transactions. */

import { expect, test } from 'bun:test';
import { type MinedBlock, SimulatedChain } from '../../src/devnet/chain.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { openApi } from '../support/api/api.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openAt, openNew, received } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { everything, tables } from '../support/data/tables.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const chain = new SimulatedChain({ seed: 4, accounts: 10, mempool: false, faucet: true });
const genesis = received(chain.genesis());
const restarted = received(chain.restart());
const first = chain.mine(null, { transactions: 0 });

interface Payload {
  block_hash: string;
  index_block_hash: string;
  transactions: { txid: string }[];
  events: { stx_mint_event?: Mint; ft_mint_event?: Mint & { asset_identifier: string } }[];
}
interface Mint {
  recipient: string;
  amount: string;
}
const zero = JSON.parse(genesis.text) as Payload;
const payload1 = JSON.parse(first.events.find(({ path }) => path === '/new_block')!.body) as Payload;
const minted = zero.events.flatMap(({ stx_mint_event: mint }) => mint ?? []);
const [tokens] = zero.events.flatMap(({ ft_mint_event: mint }) => mint ?? []);
const [rich] = minted;
const transfer = zero.transactions.at(-1)!.txid;
const supply = minted.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
const inStx = (amount: bigint): string => `${amount / 1_000_000n}.${String(amount % 1_000_000n).padStart(6, '0')}`;

/** Returns the routes' answers about genesis, whichever block contains it. */
async function answers(directory: string): Promise<Record<string, unknown>> {
  using api = openApi(directory);
  const get = async (path: string): Promise<unknown> => await (await api.get(path)).json();
  const { recipient: address } = rich!;
  const { asset_identifier: token, recipient: holder } = tokens!;
  return {
    v1: await get(`/extended/v1/address/${address}/balances`),
    v1Stx: await get(`/extended/v1/address/${address}/stx`),
    v2: await get(`/extended/v2/addresses/${address}/balances/stx`),
    v3: await get(`/extended/v3/principals/${address}/balances/stx`),
    tokens: await get(`/extended/v3/principals/${holder}/balances/ft`),
    supply: await get('/extended/v1/stx_supply/total/plain'),
    stxHolders: await get('/extended/v3/tokens/stx/holders'),
    v1Holders: await get('/extended/v1/tokens/ft/stx/holders'),
    ftHolders: await get(`/extended/v3/tokens/ft/${token}/holders`),
    principal: await get(`/extended/v1/search/${address}`),
    transaction: await get(`/extended/v1/search/${transfer}`),
    received: await get(`/extended/v3/principals/${address}/transactions`),
    transactions: await get('/extended/v3/transactions'),
  };
}

/** Returns the tip of the chain, as the routes report it. */
async function tipOf(directory: string): Promise<Record<string, unknown>> {
  using api = openApi(directory);
  const get = async (path: string): Promise<unknown> => await (await api.get(path)).json();
  return {
    tip: await get('/extended'),
    lists: [await get('/extended/v1/block'), await get('/extended/v2/blocks')],
    supply: await get('/extended/v1/stx_supply'),
  };
}

const problemsOf = (directory: string): string[] => problemsIn(directory, { deep: silentMachine });

/** The counts of genesis, which every route returns. */
const counted = {
  v1: { stx: { balance: rich!.amount, total_received: rich!.amount } },
  v1Stx: { balance: rich!.amount },
  v2: { balance: rich!.amount },
  v3: { balance: rich!.amount, available: rich!.amount },
  tokens: { total: 1, results: [{ balance: tokens!.amount }] },
  principal: { found: true },
  transaction: { found: true, result: { tx_data: { canonical: true } } },
  received: { total: 1 },
  transactions: { total: zero.transactions.length },
};

test('block 0 counts before block 1 as the tip, and is in no list', async () => {
  using directory = dataDirectory();
  {
    using open = openAt(directory.path);
    expect(open.ingest.receive(genesis)).toBe('applied');
    expect(open.ingest.tipHeight()).toBe(0);
  }
  const before = await answers(directory.path);
  expect(before).toMatchObject(counted);
  expect(before.supply).toBe(Number(inStx(supply)));
  const stood = await tipOf(directory.path);
  const { block_hash, index_block_hash } = zero;
  expect(stood).toMatchObject({
    tip: { chain_tip: { block_height: 0, block_hash, index_block_hash } },
    lists: [
      { total: 0, results: [] },
      { total: 0, results: [] },
    ],
    supply: { block_height: 0, total_stx: inStx(supply) },
  });
  expect(problemsOf(directory.path)).toEqual([]);

  // After a restart, of the node too, and from the journal.
  const files = everything(directory.path);
  {
    using open = openAt(directory.path);
    expect(open.ingest.receive(restarted)).toBe('repeated');
  }
  expect(everything(directory.path)).toEqual(files);
  rebuildIndex({ directory: directory.path });
  expect(everything(directory.path)).toEqual(files);

  {
    using open = openAt(directory.path);
    for (const event of first.events) open.ingest.receive(received(event));
    expect(open.ingest.receive(restarted)).toBe('repeated');
  }
  const after = await answers(directory.path);
  expect(after).toMatchObject({
    ...counted,
    transaction: { found: true, result: { tx_data: { canonical: true, block_height: 1 } } },
    transactions: { total: zero.transactions.length + payload1.transactions.length },
  });
  for (const [name, answer] of Object.entries(after)) {
    if (['transaction', 'received', 'transactions', 'stxHolders', 'v1Holders', 'supply'].includes(name)) continue;
    expect([name, answer]).toEqual([name, before[name]]);
  }
  expect(await tipOf(directory.path)).toMatchObject({
    tip: { chain_tip: { block_height: 1, index_block_hash: first.indexBlockHash } },
    lists: [{ total: 1 }, { total: 1 }],
    supply: { block_height: 1 },
  });
  expect(problemsOf(directory.path)).toEqual([]);
  const grown = everything(directory.path);
  rebuildIndex({ directory: directory.path });
  expect(everything(directory.path)).toEqual(grown);
});

test('each of two blocks 1 shows block 0, and the losing one leaves no rows', () => {
  const ours = new SimulatedChain({ seed: 9, mempool: false });
  const boot = received(ours.genesis());
  const loser = ours.mine(ours.genesisHash);
  const rival = ours.mine(ours.genesisHash);
  const winner = ours.mine(rival.indexBlockHash);
  const tablesAfter = (...blocks: MinedBlock[]) => {
    using open = openNew();
    for (const event of [boot, ...blocks.flatMap(({ events }) => events.map(received)), boot])
      open.ingest.receive(event);
    expect(open.ingest.tipHeight()).toBe(2);
    expect(problemsIn(open.directory)).toEqual([]);
    return tables(open.directory);
  };
  const itsBitcoin = { ...loser, events: loser.events.filter(({ path }) => path !== '/new_block') };
  expect(tablesAfter(loser, rival, winner)).toEqual(tablesAfter(itsBitcoin, rival, winner));
});
