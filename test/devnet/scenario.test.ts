import { expect, test } from 'bun:test';
import { addressFromVersionHash, addressToString, BytesReader, deserializeTransaction } from '@stacks/transactions';
import { changeOfCall, nameChangeOf, nameOperations } from '../../src/chain/name-system.ts';
import { hash160 } from '../../src/codec/hash.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { decodeTransaction } from '../../src/codec/transaction.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { type DevnetOptions, devnetEvents } from '../../src/devnet/scenario.ts';
import { type BlockBody, blocksOf, bodiesOf, type DropBody } from './payload-types.ts';

const options: DevnetOptions = { seed: 4, blocks: 120, transactionsPerBlock: 12, accounts: 40, forkEvery: 8 };
const events = [...devnetEvents(options)];
const blocks = blocksOf(events);
const byId = new Map(blocks.toReversed().map((block) => [block.index_block_hash, block]));

test('the same seed gives the same bytes, another seed others', () => {
  const short = { ...options, blocks: 15 };
  const digest = (seed: number) => hashOf(devnetEvents({ ...short, seed }));
  expect(digest(1)).toBe(digest(1));
  expect(digest(1)).not.toBe(digest(2));
});

test('block 0 comes first and every parent before its children', () => {
  expect(blocks[0]?.block_height).toBe(0);
  const seen = new Set<string>();
  for (const block of blocks) {
    if (block.block_height > 0) expect(seen.has(block.parent_index_block_hash)).toBe(true);
    seen.add(block.index_block_hash);
  }
  expect(Math.max(...blocks.map(({ block_height }) => block_height))).toBe(120);
});

test('no event is sent before the one ahead of it', () => {
  const times = events.map(({ time }) => time);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test('the burn block of a block is announced before it', () => {
  const seen = new Set<unknown>();
  for (const { path, body } of events) {
    const { burn_block_hash, block_height } = JSON.parse(body);
    if (path === '/new_burn_block') seen.add(burn_block_hash);
    else if (path === '/new_block' && block_height > 0) expect(seen.has(burn_block_hash)).toBe(true);
  }
});

test('every raw transaction is read by another library and has the id that was announced', () => {
  let sponsored = 0;
  for (const block of blocks) {
    for (const { raw_tx, txid, burnchain_op } of block.transactions) {
      if (burnchain_op !== null) {
        expect(raw_tx).toBe('0x00');
        continue;
      }
      const transaction = read(raw_tx);
      expect(`0x${transaction.txid()}`).toBe(txid);
      if ('sponsorSpendingCondition' in transaction.auth) sponsored += 1;
    }
  }
  expect(sponsored).toBeGreaterThan(20);
});

test('on each branch ids are unique and nonces contiguous per account', () => {
  const tips = blocks.filter(({ index_block_hash }) =>
    blocks.every(({ parent_index_block_hash }) => parent_index_block_hash !== index_block_hash),
  );
  expect(tips.length).toBeGreaterThan(5);
  for (const tip of tips) {
    const nonces = new Map<string, number>();
    const ids = new Set<string>();
    for (const { txid, raw_tx, burnchain_op } of branch(tip).flatMap(({ transactions }) => transactions)) {
      expect(ids.has(txid)).toBe(false);
      ids.add(txid);
      if (burnchain_op !== null || isBoot(raw_tx)) continue;
      for (const { address, nonce } of signers(raw_tx)) {
        expect(nonce).toBe(nonces.get(address) ?? 0);
        nonces.set(address, nonce + 1);
      }
    }
  }
});

test('a transaction is found in blocks of several branches', () => {
  const places = new Map<string, Set<string>>();
  for (const { index_block_hash, block_height, transactions } of blocks) {
    if (block_height === 0) continue;
    for (const { txid } of transactions) places.set(txid, (places.get(txid) ?? new Set()).add(index_block_hash));
  }
  expect([...places.values()].filter(({ size }) => size > 1).length).toBeGreaterThan(20);
});

test('forks lose and win, and blocks are announced again', () => {
  let tip = blocks[0]!;
  const outcomes = { grows: 0, loses: 0, wins: 0, again: 0 };
  const seen = new Set<string>();
  for (const block of blocks) {
    if (seen.has(block.index_block_hash)) outcomes.again += 1;
    else if (block.block_height <= tip.block_height && block !== tip) outcomes.loses += 1;
    else if (block.parent_index_block_hash === tip.index_block_hash) outcomes.grows += 1;
    else if (block !== tip) outcomes.wins += 1;
    seen.add(block.index_block_hash);
    if (block.block_height > tip.block_height) tip = block;
  }
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(0);
});

test('forkEvery 0 gives a chain without forks', () => {
  const straight = blocksOf([...devnetEvents({ ...options, blocks: 30, forkEvery: 0 })]);
  const children = new Map<string, string>();
  for (const { parent_index_block_hash: parent, index_block_hash: child } of straight) {
    expect(children.get(parent) ?? child).toBe(child);
    children.set(parent, child);
  }
});

test('events belong to successful transactions and are numbered over the block, in no order', () => {
  let shuffled = 0;
  for (const { transactions, events: all } of blocks) {
    const status = new Map(transactions.map(({ txid, status }) => [txid, status]));
    expect(transactions.map(({ tx_index }) => tx_index)).toEqual(transactions.map((_, i) => i));
    expect(all.map(({ event_index }) => event_index).sort((a, b) => a - b)).toEqual(all.map((_, i) => i));
    for (const { txid } of all) expect(status.get(txid)).toBe('success');
    if (all.some(({ event_index }, i) => event_index !== i)) shuffled += 1;
  }
  expect(shuffled).toBeGreaterThan(50);
});

test('every type of event, every status and both Bitcoin operations occur', () => {
  const types = new Set(blocks.flatMap((block) => block.events.map(({ type }) => type)));
  expect([...types].sort()).toEqual([
    ...['contract_event', 'ft_burn_event', 'ft_mint_event', 'ft_transfer_event'],
    ...['nft_burn_event', 'nft_mint_event', 'nft_transfer_event'],
    ...['stx_burn_event', 'stx_lock_event', 'stx_mint_event', 'stx_transfer_event'],
  ]);
  const transactions = blocks.flatMap((block) => block.transactions);
  expect(new Set(transactions.map(({ status }) => status)).size).toBe(4);
  const operations = transactions.flatMap(({ burnchain_op }) => Object.keys(burnchain_op ?? {}));
  expect(new Set(operations).size).toBe(2);
  expect(blocks.some(({ reward_set, cycle_number }) => reward_set !== null && cycle_number !== null)).toBe(true);
});

test('every operation on names occurs, with its token, and calls without a print', () => {
  // Few accounts, so that each one does everything over time.
  const crowded = { seed: 1, blocks: 60, transactionsPerBlock: 30, accounts: 12, forkEvery: 0, mempool: false };
  const ofFew = blocksOf([...devnetEvents(crowded)]);
  const prints = ofFew.flatMap(({ events: all }) => all.flatMap((event) => namePrint(event) ?? []));
  const operations = new Set(prints.flatMap((change) => (change.kind === 'name' ? [change.operation.operation] : [])));
  expect([...operations].sort()).toEqual([...nameOperations].sort());
  expect(prints.filter(({ kind }) => kind === 'namespace').length).toBeGreaterThan(1);
  const calls = ofFew.flatMap(({ transactions }) =>
    transactions.filter(({ status }) => status === 'success').flatMap(({ raw_tx }) => changeWithoutPrint(raw_tx) ?? []),
  );
  expect(new Set(calls.map(({ kind }) => kind))).toEqual(new Set(['name', 'namespace']));
});

test('attachments match the hashes of prints; some come before their block, some twice, some never', () => {
  const named = new Set<string>();
  for (const block of blocks) {
    for (const event of block.events) {
      const change = namePrint(event);
      if (change?.kind !== 'name' || change.operation.zonefileHash === null) continue;
      named.add(`${event.txid} ${block.index_block_hash} 0x${change.operation.zonefileHash.toHex()}`);
    }
  }
  const brought = new Map<string, number>();
  let early = 0;
  const seen = new Set<string>();
  for (const { path, body } of events) {
    if (path === '/new_block') seen.add(JSON.parse(body).index_block_hash);
    if (path !== '/attachments/new') continue;
    for (const { tx_id, index_block_hash, content_hash, content } of JSON.parse(body)) {
      const key = `${tx_id} ${index_block_hash} ${content_hash}`;
      expect(named.has(key)).toBe(true);
      expect(toHex(hash160(fromHex(content)))).toBe(content_hash);
      brought.set(key, (brought.get(key) ?? 0) + 1);
      if (!seen.has(index_block_hash)) early += 1;
    }
  }
  expect(early).toBeGreaterThan(0);
  expect(brought.size).toBeLessThan(named.size);
  expect([...brought.values()].some((times) => times > 1)).toBe(true);
});

test('the mempool hears of transactions, of replacements before the new one, and of other drops', () => {
  const announced = new Set(bodiesOf<string[]>(events, '/new_mempool_tx').flat().map(idOf));
  const mined = new Set(blocks.flatMap(({ transactions }) => transactions.map(({ txid }) => txid)));
  expect([...announced].filter((id) => !mined.has(id)).length).toBeGreaterThan(20);
  expect([...mined].filter((id) => !announced.has(id)).length).toBeGreaterThan(20);

  const drops = bodiesOf<DropBody>(events, '/drop_mempool_tx');
  expect(new Set(drops.map(({ reason }) => reason))).toEqual(
    new Set(['ReplaceByFee', 'ReplaceAcrossFork', 'StaleGarbageCollect', 'TooExpensive', 'Problematic']),
  );
  for (const { reason, new_txid } of drops) expect(new_txid === null).toBe(!reason.startsWith('Replace'));
  for (const { new_txid } of drops) if (new_txid !== null) expect(announced.has(new_txid)).toBe(true);
});

test('a chain with few accounts and many deep forks is valid', () => {
  for (let seed = 0; seed < 8; seed++) {
    const wild = { seed, blocks: 25, transactionsPerBlock: 6, accounts: 1 + seed, forkEvery: 2, forkDepth: 6 };
    const heights = blocksOf([...devnetEvents(wild)]).map(({ block_height }) => block_height);
    expect(Math.max(...heights)).toBe(25);
  }
});

test('without a mempool only blocks and attachments are posted', () => {
  const paths = new Set([...devnetEvents({ ...options, blocks: 10, mempool: false })].map(({ path }) => path));
  paths.delete('/attachments/new');
  expect(paths).toEqual(new Set(['/new_block', '/new_burn_block']));
});

test('balances counted from events, fees and rewards are never negative', () => {
  const tip = blocks.find(({ block_height }) => block_height === 120)!;
  const balances = new Map<string, bigint>();
  const add = (principal: string, amount: bigint) => balances.set(principal, (balances.get(principal) ?? 0n) + amount);
  for (const block of branch(tip)) {
    const stx = new Map<string, { sender?: string; recipient?: string; amount: string }[]>();
    for (const event of block.events) {
      if (!/^stx_(transfer|mint|burn)/.test(event.type)) continue;
      const body = (event as unknown as Record<string, { amount: string }>)[event.type]!;
      stx.set(event.txid, [...(stx.get(event.txid) ?? []), body]);
    }
    for (const { txid, raw_tx, burnchain_op } of block.transactions) {
      if (burnchain_op === null && !isBoot(raw_tx)) {
        const payer = signers(raw_tx).at(-1)!;
        add(payer.address, -payer.fee);
      }
      for (const { sender, recipient, amount } of stx.get(txid) ?? []) {
        if (sender !== undefined) add(sender, -BigInt(amount));
        if (recipient !== undefined) add(recipient, BigInt(amount));
      }
    }
    for (const [principal, balance] of balances) if (balance < 0n) throw new Error(`${principal} has ${balance}`);
    for (const { recipient, coinbase_amount, tx_fees_anchored } of block.matured_miner_rewards) {
      add(recipient, BigInt(coinbase_amount) + BigInt(tx_fees_anchored));
    }
  }
  expect(balances.size).toBeGreaterThan(100);
});

/** Returns the name change in a node's event, or null if there is none. */
function namePrint(event: BlockBody['events'][number]) {
  const { contract_event: print } = event as { contract_event?: { contract_identifier: string; raw_value: string } };
  if (print === undefined) return null;
  const [contractId, value] = [print.contract_identifier, fromHex(print.raw_value)];
  return nameChangeOf({ kind: 'contract_log', contractId, topic: 'print', value });
}

/** Returns the change that a call made to names without a print. */
function changeWithoutPrint(raw: string) {
  const decoded = decodeTransaction(fromHex(raw));
  if (!decoded.ok || decoded.value.payload.type !== 'contract_call') return null;
  const { functionName, functionArgs } = decoded.value.payload;
  return changeOfCall(functionName, functionArgs, decoded.value.origin.address);
}

/** From block 0 to the block given. */
function branch(tip: BlockBody): BlockBody[] {
  const path: BlockBody[] = [];
  let block: BlockBody | undefined = tip;
  while (block !== undefined) {
    path.unshift(block);
    block = byId.get(block.parent_index_block_hash);
  }
  return path;
}

function read(raw: string) {
  return deserializeTransaction(new BytesReader(Uint8Array.fromHex(raw.slice(2))));
}

function signers(raw: string): { address: string; nonce: number; fee: bigint }[] {
  const { auth } = read(raw);
  const conditions = [auth.spendingCondition];
  if ('sponsorSpendingCondition' in auth) conditions.push(auth.sponsorSpendingCondition);
  return conditions.map(({ signer, nonce, fee }) => ({
    address: addressToString(addressFromVersionHash(26, signer)),
    nonce: Number(nonce),
    fee: BigInt(fee),
  }));
}

/** Chain id 0. */
function isBoot(raw: string): boolean {
  return raw.slice(4, 12) === '00000000';
}

function idOf(raw: string): string {
  return `0x${new Bun.CryptoHasher('sha512-256').update(Uint8Array.fromHex(raw.slice(2))).digest('hex')}`;
}

function hashOf(generated: Iterable<NodeEvent>): string {
  const hash = new Bun.CryptoHasher('sha256');
  for (const { path, body, time } of generated) hash.update(`${path} ${time} ${body}\n`);
  return hash.digest('hex');
}
