/** The SQL views for analysts equal the API's answers over a chain with forks. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { transactionId } from '../../src/codec/transaction.ts';
import { cycles as chainCycles } from '../../src/devnet/pox.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { serializedDelivery, serializedHook } from '../../src/hooks/routes/schemas.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { deliveryLog, everyDelivery } from '../../src/store/hooks/delivery-log.ts';
import { hookRecords } from '../../src/store/hooks/records.ts';
import { inserter } from '../../src/store/rows/table.ts';
import { hookDeliveriesTable } from '../../src/store/rows/tables.ts';
import { type OpenApi, openApi } from '../support/api/api.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';

type Row = Record<string, string | number | null>;
// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes are taken apart
type Answer = any;

let directory: DataDirectory;
let db: Database;
let api: OpenApi;
/** Every transaction of the chain as returned by v3's single-transaction route, newest first. */
let transactions: Answer[];

beforeAll(async () => {
  const options = { seed: 5, blocks: 44, accounts: 8, transactionsPerBlock: 4 };
  directory = ingestOf(simulatedEvents(options), { views: true });
  db = new Database(indexPath(directory.path));
  api = openApi(directory.path, undefined, { checkResponses: false });
  const listed = await walk('/extended/v3/transactions');
  transactions = [];
  for (const { tx_id } of listed) {
    transactions.push(await get(`/extended/v3/transactions/${tx_id}?include=result,post_conditions`));
  }
  expect(rows('SELECT * FROM v1_orphaned_blocks').length).toBeGreaterThan(3);
});
afterAll(() => {
  db.close();
  api[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const rows = (sql: string): Row[] => db.query<Row, []>(sql).all();
const column = (sql: string): string[] =>
  db
    .query<[string], []>(sql)
    .values()
    .map(([value]) => String(value));

async function get(path: string, from = api): Promise<Answer> {
  return (await from.get(path)).json();
}

/** All items of a list of v3. */
async function walk(path: string, from = api): Promise<Answer[]> {
  const items: Answer[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Answer = await get(`${path}?limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`, from);
    items.push(...page.results);
    cursor = page.cursor.next;
  }
  return items;
}

/** All items of a list by offset. */
async function pages(path: string, limit: number, from = api): Promise<Answer[]> {
  const items: Answer[] = [];
  for (;;) {
    const { results } = await get(`${path}?limit=${limit}&offset=${items.length}`, from);
    items.push(...results);
    if (results.length < limit) return items;
  }
}

const isoTime = (seconds: number): string => new Date(seconds * 1000).toISOString();
const isoOrNull = (seconds: number | null): string | null => (seconds === null ? null : isoTime(seconds));

/** Compares the rows of a view to the API's answer. @param minimum minimum number of rows */
function expectRows(actual: Row[], expected: Row[], minimum = 3): void {
  expect(actual.length).toBeGreaterThanOrEqual(minimum);
  const sortRows = (list: Row[]) => list.map((row) => JSON.stringify(row)).sort();
  expect(sortRows(actual)).toEqual(sortRows(expected));
}

/** Compares all columns of the expected rows with a view. */
const expectView = (view: string, expected: Row[], minimum?: number): void =>
  expectRows(columnsOf(view, Object.keys(expected[0]!).join(', ')), expected, minimum);

/** Returns some columns of a view. @param names columns of the row that {@link expectRows} compares, in its order */
const columnsOf = (view: string, names: string, rest = ''): Row[] => rows(`SELECT ${names} FROM ${view} ${rest}`);

const cost = (values: Answer) => ({
  cost_runtime: values.runtime,
  cost_read_count: values.read_count,
  cost_read_length: values.read_length,
  cost_write_count: values.write_count,
  cost_write_length: values.write_length,
});
const COST = 'cost_runtime, cost_read_count, cost_read_length, cost_write_count, cost_write_length';

test('v1_chain equals the API', async () => {
  const { chain_tip } = await get('/extended');
  const { total } = await get('/extended/v3/transactions?limit=1');
  const { total: stx_supply } = await get('/extended/v3/tokens/stx/supply');
  const expected = {
    block_height: chain_tip.block_height,
    index_block_hash: chain_tip.index_block_hash,
    burn_block_height: chain_tip.burn_block_height,
    tx_count: total,
    stx_supply,
  };
  expectRows(columnsOf('v1_chain', Object.keys(expected).join(', ')), [expected], 1);
});

test('v1_blocks equals the API', async () => {
  const expected = (await pages('/extended/v2/blocks', 30)).map((block) => ({
    block_height: block.height,
    block_hash: block.hash,
    index_block_hash: block.index_block_hash,
    parent_block_hash: block.parent_block_hash,
    parent_index_block_hash: block.parent_index_block_hash,
    block_time: block.block_time_iso,
    block_time_unix: block.block_time,
    tenure_height: block.tenure_height,
    burn_block_height: block.burn_block_height,
    burn_block_hash: block.burn_block_hash,
    burn_block_time: block.burn_block_time_iso,
    miner_tx_id: block.miner_txid,
    tx_count: block.tx_count,
    cost_runtime: block.execution_cost_runtime,
    cost_write_length: block.execution_cost_write_length,
  }));
  expectView('v1_blocks', expected);
});

/** The columns that a transaction's type adds. */
const bodyOf = (tx: Answer) => ({
  recipient: tx.token_transfer?.recipient ?? tx.coinbase?.alt_recipient ?? null,
  amount: tx.token_transfer?.amount ?? null,
  memo: tx.token_transfer?.memo?.hex ?? null,
  contract_id: tx.contract_call?.contract_id ?? tx.smart_contract?.contract_id ?? null,
  function_name: tx.contract_call?.function_name ?? null,
  clarity_version: tx.smart_contract?.clarity_version ?? null,
});

const placeOf = ({ block }: Answer) => ({
  block_height: block.height,
  block_time: isoTime(block.time),
  tx_index: block.tx_index,
});

test('v1_transactions equals the API', () => {
  const expected = transactions.map((tx) => ({
    ...placeOf(tx),
    tx_id: tx.tx_id,
    index_block_hash: tx.block.index_hash,
    burn_block_height: tx.bitcoin_block.height,
    burn_block_time: isoTime(tx.bitcoin_block.time),
    status: tx.status,
    type: tx.type,
    sender: tx.sender.address,
    nonce: tx.sender.nonce,
    sponsor: tx.sponsor?.address ?? null,
    sponsor_nonce: tx.sponsor?.nonce ?? null,
    fee: tx.fee_rate,
    ...bodyOf(tx),
    tenure_change_cause: tx.tenure_change?.cause ?? null,
    event_count: tx.event_count,
  }));
  // The API shows 0 for the missing nonce of a Bitcoin operation.
  const names = Object.keys(expected[0]!).map((name) => (name === 'nonce' ? 'coalesce(nonce, 0) AS nonce' : name));
  expectRows(columnsOf('v1_transactions', names.join(', ')), expected, 120);
});

test('v1_transaction_details equals the API', async () => {
  const expected = [];
  for (const tx of transactions) {
    const { raw_tx } = await get(`/extended/v1/tx/${tx.tx_id}/raw`);
    const { execution_cost, vm_error, result } = tx;
    expected.push({ tx_id: tx.tx_id, ...cost(execution_cost), vm_error, result: result.hex, raw: raw_tx });
  }
  expectRows(columnsOf('v1_transaction_details', `tx_id, ${COST}, vm_error, result, raw`), expected, 120);
});

test('v1_contract_calls equals the API', () => {
  const expected = transactions
    .filter(({ type }) => type === 'contract_call')
    .map((tx) => ({
      ...placeOf(tx),
      tx_id: tx.tx_id,
      contract_id: tx.contract_call.contract_id,
      function_name: tx.contract_call.function_name,
      status: tx.status,
      sender: tx.sender.address,
      fee: tx.fee_rate,
      result: tx.result.hex,
    }));
  expectView('v1_contract_calls', expected, 30);
});

test('v1_contracts equals the API', async () => {
  const expected = [];
  for (const tx of transactions.filter(({ type }) => type === 'smart_contract')) {
    const { contract_id, clarity_version } = tx.smart_contract;
    expected.push({ contract_id, ...placeOf(tx), tx_id: tx.tx_id, status: tx.status, clarity_version });
  }
  expectView('v1_contracts', expected);
  for (const { contract_id, interface: stored } of rows(`SELECT * FROM v1_contracts WHERE status = 'success'`)) {
    const { abi } = await get(`/extended/v1/contract/${contract_id}`);
    expect(JSON.parse(String(stored))).toEqual(JSON.parse(abi));
  }
});

test('v1_orphaned_blocks equals the API', async () => {
  const orphans = rows('SELECT * FROM v1_orphaned_blocks WHERE block_height > 0');
  for (const { block_hash, ...row } of orphans) {
    const block = await get(`/extended/v1/block/${block_hash}`);
    expect(block).toMatchObject({
      canonical: false,
      height: row.block_height,
      index_block_hash: row.index_block_hash,
      burn_block_height: row.burn_block_height,
      burn_block_hash: row.burn_block_hash,
    });
  }
});

/** An event of v3 with its transaction. */
interface EventOfTransaction {
  transaction: Answer;
  event: Answer;
}

async function listEvents(): Promise<EventOfTransaction[]> {
  const pairs: EventOfTransaction[] = [];
  for (const transaction of transactions) {
    if (transaction.event_count === 0) continue;
    const events = await walk(`/extended/v3/transactions/${transaction.tx_id}/events`);
    pairs.push(...events.map((event) => ({ transaction, event })));
  }
  return pairs;
}

/** An event as the view shows it. */
function eventRow({ transaction, event }: EventOfTransaction): Row {
  const { event_index, type, contract_log, stx_lock } = event;
  const asset = event.stx_asset ?? event.ft_asset ?? event.nft_asset;
  return {
    ...placeOf(transaction),
    tx_id: transaction.tx_id,
    event_index,
    type: asset === undefined ? type : `${type.replace('_asset', '')}_${asset.type}`,
    sender: stx_lock?.address ?? asset?.sender ?? null,
    recipient: asset?.recipient ?? null,
    asset_identifier: asset?.asset_identifier ?? null,
    amount: stx_lock?.amount ?? asset?.amount ?? null,
    contract_id: contract_log?.contract_id ?? null,
    topic: contract_log?.topic ?? null,
    unlock_height: stx_lock?.unlock_bitcoin_height ?? null,
    value: contract_log?.value.hex ?? asset?.value?.hex ?? null,
    memo: asset?.memo?.hex ?? null,
  };
}

test('v1_events, v1_contract_logs and v1_principal_events equal the API', async () => {
  const pairs = await listEvents();
  const expected = pairs.map(eventRow);
  expectView('v1_events', expected, 120);

  const contracts = column('SELECT DISTINCT contract_id FROM v1_contract_logs');
  const logs = [];
  for (const contract of contracts) {
    for (const log of await pages(`/extended/v2/smart-contracts/${contract}/logs`, 50)) {
      const { topic, value } = log.contract_log;
      logs.push({ contract_id: contract, tx_id: log.tx_id, event_index: log.event_index, topic, value: value.hex });
    }
  }
  expectRows(columnsOf('v1_contract_logs', 'contract_id, tx_id, event_index, topic, value'), logs, 30);

  const moved = expected.filter(({ type }) => type !== 'contract_log' && type !== 'stx_lock');
  const bySide = moved.flatMap(({ tx_id, event_index, type, sender, recipient, amount }) =>
    [...new Set([sender, recipient])]
      .filter((principal) => principal !== null)
      .map((principal) => ({ principal: principal ?? null, tx_id, event_index, type, amount }) as Row),
  );
  expectRows(columnsOf('v1_principal_events', 'principal, tx_id, event_index, type, amount'), bySide, 60);
});

test('v1_principal_transactions and v1_balances equal the API', async () => {
  const involvements: Row[] = [];
  const owned: Row[] = [];
  for (const principal of column('SELECT address FROM principals')) {
    const path = `/extended/v3/principals/${principal}`;
    for (const { transaction, balance_changes, involvement } of await walk(`${path}/transactions`)) {
      const { sent, received } = balance_changes.stx;
      const is_sender = involvement === 'sender' ? 1 : 0;
      involvements.push({ principal, tx_id: transaction.tx_id, stx_sent: sent, stx_received: received, is_sender });
    }
    const { balance } = await get(`${path}/balances/stx`);
    if (balance !== '0') owned.push({ principal, asset_type: 'stx', asset_identifier: null, balance });
    for (const { asset_identifier, balance } of await walk(`${path}/balances/ft`)) {
      owned.push({ principal, asset_type: 'ft', asset_identifier, balance });
    }
  }
  const names = 'principal, tx_id, stx_sent, stx_received, is_sender';
  expectRows(columnsOf('v1_principal_transactions', names), involvements, 120);
  expectRows(columnsOf('v1_balances', 'principal, asset_type, asset_identifier, balance'), owned, 30);
});

test('v1_fungible_tokens and v1_nfts equal the API', async () => {
  const tokens: Row[] = [];
  for (const asset_identifier of column("SELECT DISTINCT asset_identifier FROM v1_events WHERE type GLOB 'ft_*'")) {
    const path = `/extended/v3/tokens/ft/${encodeURIComponent(asset_identifier)}`;
    const { total: supply } = await get(`${path}/supply`);
    const { total: holder_count } = await get(`${path}/holders`);
    tokens.push({ asset_identifier, supply, holder_count });
  }
  expectRows(columnsOf('v1_fungible_tokens', 'asset_identifier, supply, holder_count'), tokens, 1);

  const owned: Row[] = [];
  for (const owner of column('SELECT address FROM principals')) {
    for (const { asset_identifier, value } of await walk(`/extended/v3/principals/${owner}/balances/nft`)) {
      owned.push({ owner, asset_identifier, value: value.hex });
    }
  }
  expectRows(columnsOf('v1_nfts', 'owner, asset_identifier, value', 'WHERE owner IS NOT NULL'), owned);
});

test('v1_miner_rewards equals the API', async () => {
  const expected: Row[] = [];
  for (const recipient of column('SELECT DISTINCT recipient FROM v1_miner_rewards')) {
    const { movements } = await get(`/stackside/v1/principals/${recipient}/history`);
    for (const { type, block_height, time, amount } of movements) {
      if (type === 'mining_reward') expected.push({ recipient, block_height, block_time: time, amount });
    }
  }
  const parts = ['coinbase', 'fees_anchored', 'fees_streamed_confirmed', 'fees_streamed_produced'];
  const amount = `CAST(${parts.map((part) => `CAST(${part} AS INTEGER)`).join(' + ')} AS TEXT) AS amount`;
  expectRows(columnsOf('v1_miner_rewards', `recipient, block_height, block_time, ${amount}`), expected);
});

test('v1_names equals the API', async () => {
  const active = rows(`SELECT name, is_active, n.tx_id, owner FROM v1_names n
    LEFT JOIN v1_nfts ON asset_identifier LIKE '%.bns::names' AND value = token_value WHERE is_active`);
  expect(active.map(({ name }) => String(name)).sort()).toEqual((await get('/v1/names')).sort());
  for (const { name, tx_id, owner } of active) {
    expect(await get(`/v1/names/${name}`)).toMatchObject({ last_txid: tx_id, address: owner });
  }
});

test('v1_burn_blocks and v1_burn_rewards equal the API', async () => {
  const anchors = (await pages('/extended/v2/burn-blocks', 20)).map((anchor) => ({
    burn_block_height: anchor.burn_block_height,
    burn_block_hash: anchor.burn_block_hash,
    burn_block_time: anchor.burn_block_time_iso,
    block_count: anchor.stacks_blocks.length,
    tx_count: anchor.total_tx_count,
  }));
  expectView('v1_burn_blocks', anchors);

  const paid = (await pages('/extended/v1/burnchain/rewards', 100)).map((reward) => ({
    burn_block_height: reward.burn_block_height,
    burn_block_hash: reward.burn_block_hash,
    reward_index: reward.reward_index,
    recipient: reward.reward_recipient,
    amount: reward.reward_amount,
    burn_amount: reward.burn_amount,
  }));
  expectView('v1_burn_rewards', paid);
});

test('v1_reward_cycle_signers equals the API', async () => {
  const expected: Row[] = [];
  for (const cycle of column('SELECT cycle FROM reward_cycles')) {
    for (const signer of await pages(`/extended/v2/pox/cycles/${cycle}/signers`, 100)) {
      const { signing_key: signer_key, weight, stacked_amount: stacked } = signer;
      expected.push({ cycle: Number(cycle), signer_key, weight, stacked });
    }
  }
  expectView('v1_reward_cycle_signers', expected);
});

test('the staking views equal the API', async () => {
  const options = { seed: 8, blocks: 130, accounts: 12, transactionsPerBlock: 6, staking: 30 };
  using staked = ingestOf(simulatedEvents(options), { views: true });
  using file = new Database(indexPath(staked.path));
  using from = openApi(staked.path, undefined, { checkResponses: false });
  const stakingRows = (view: string, names: string): Row[] => file.query<Row, []>(`SELECT ${names} FROM ${view}`).all();
  const tip = file.query<{ height: number }, []>('SELECT burn_block_height AS height FROM v1_chain').get()!.height;

  const bonds = (await walk('/extended/v3/staking/bonds', from)).map((bond) => ({
    bond_index: bond.index,
    target_rate: bond.parameters.target_rate_bps,
    stx_value_ratio: bond.parameters.stx_value_ratio,
    min_ustx_ratio: bond.parameters.minimum_stx_ratio,
    capacity: bond.parameters.btc_capacity,
    allowed_count: bond.registrations.allowed_count,
    registered_count: bond.registrations.registered_count,
    first_cycle: bond.schedule.activation.pox_cycle,
    start_burn_block_height: bond.schedule.activation.bitcoin_height,
    unlock_cycle: bond.schedule.unlock.pox_cycle,
    unlock_burn_block_height: bond.schedule.unlock.bitcoin_height,
    btc_locked: bond.balances.locked.btc,
    stx_locked: bond.balances.locked.stx,
    paid_out: bond.balances.paid_out.btc,
  }));
  expectRows(stakingRows('v1_bonds', Object.keys(bonds[0]!).join(', ')), bonds);
  const listed = await walk('/extended/v3/staking/signers', from);
  const signers = listed.map(({ signer, signer_key }) => ({ signer, signer_key }));
  expectRows(stakingRows('v1_staking_signers', 'signer, signer_key'), signers);

  const names = 'bond_index, staker, signer, btc_locked, stx_locked, has_left_early, rewards_accrued, rewards_claimed';
  const inBonds = stakingRows('v1_bond_stakers', names);
  for (const { bond_index, staker, signer, ...position } of inBonds) {
    const path = `/extended/v3/staking/bonds/${bond_index}/registrations/${staker}`;
    expect((await get(path, from)).signer).toBe(signer);
    const positions = await walk(`/extended/v3/principals/${staker}/staking/bonds`, from);
    const { locked, rewards, status } = positions.find((bond) => bond.bond_index === bond_index);
    expect(position).toEqual({
      btc_locked: locked.btc,
      stx_locked: locked.stx,
      has_left_early: status === 'early_exit' ? 1 : 0,
      rewards_accrued: rewards.btc.accrued,
      rewards_claimed: rewards.btc.claimed,
    });
  }
  expect(inBonds.length).toBe(bonds.reduce((sum, bond) => sum + Number(bond.registered_count), 0));
  const alone = stakingRows('v1_stakers', 'staker, amount, unlock_burn_block_height, rewards_accrued, rewards_claimed');
  for (const { staker, amount, unlock_burn_block_height: unlock, rewards_accrued, rewards_claimed } of alone) {
    const { stx } = await get(`/extended/v3/principals/${staker}/staking`, from);
    if (Number(unlock) > tip) expect(stx.locked).toBe(String(amount));
    expect(stx.rewards.btc).toMatchObject({ accrued: rewards_accrued, claimed: rewards_claimed } as object);
  }
  expect(alone.length).toBeGreaterThan(1);
  // A staker keeps its rewards if a bond later locks the STX.
  const rewarded: string[] = [];
  for (const { principal } of file.query<{ principal: string }, []>('SELECT address AS principal FROM principals')) {
    const { stx } = await get(`/extended/v3/principals/${principal}/staking`, from);
    if (stx.rewards.btc.accrued !== '0' || stx.locked !== '0') rewarded.push(principal);
  }
  expect(rewarded.filter((principal) => !alone.some(({ staker }) => staker === principal))).toEqual([]);
  expect(alone.filter(({ amount }) => amount === '0').length).toBeGreaterThan(0);

  const cycles = (await pages('/extended/v2/pox/cycles', 60, from)).map((item) => ({
    cycle: item.cycle_number,
    block_height: item.block_height,
    weight: item.total_weight,
    stacked: item.total_stacked_amount,
    signer_count: item.total_signers,
  }));
  expectRows(stakingRows('v1_reward_cycles', Object.keys(cycles[0]!).join(', ')), cycles, 2);
  const heights = `cycle, first_burn_block_height AS first, last_burn_block_height AS last,
    first_block_height AS first_block, last_block_height AS last_block`;
  for (const { cycle, first, last, first_block, last_block } of stakingRows('v1_reward_cycles', heights)) {
    expect([first, last]).toEqual([chainCycles.startOf(Number(cycle)), chainCycles.startOf(Number(cycle) + 1) - 1]);
    const bounds = `min(block_height) AS first_block, max(block_height) AS last_block`;
    const anchored = stakingRows(`v1_blocks WHERE burn_block_height BETWEEN ${first} AND ${last}`, bounds);
    expect(anchored).toEqual([{ first_block: first_block!, last_block: last_block! }]);
  }
  const stackers: Row[] = [];
  for (const { cycle, signer_key } of stakingRows('v1_reward_cycle_signers', 'cycle, signer_key')) {
    for (const stacker of await pages(`/extended/v2/pox/cycles/${cycle}/signers/${signer_key}/stackers`, 100, from)) {
      const { stacker_address, stacked_amount: locked } = stacker;
      stackers.push({ cycle: cycle!, signer_key: signer_key!, stacker: stacker_address, locked });
    }
  }
  const ofSigners = `v1_reward_cycle_stackers s WHERE EXISTS (SELECT 1 FROM v1_reward_cycle_signers g
    WHERE g.cycle = s.cycle AND g.signer_key_bytes = s.signer_key_bytes)`;
  expectRows(stakingRows(ofSigners, 'cycle, signer_key, stacker, locked'), stackers, 0);

  // On mainnet the network sets the cycles, regardless of bonds.
  file.run('BEGIN; UPDATE progress SET chain_id = 1');
  const start = 666_050 + 11 * 2_100;
  expect(stakingRows('v1_reward_cycles', heights)[0]).toMatchObject({ first: start, last: start + 2_100 - 1 });
  file.run('ROLLBACK; BEGIN; DELETE FROM bonds');
  const unknown = { first: null, last: null, first_block: null, last_block: null };
  expect(stakingRows('v1_reward_cycles', heights)[0]).toEqual({ cycle: 11, ...unknown });
  file.run('ROLLBACK');
});

test('a mined transaction has the time when it was first seen', () => {
  const options = { seed: 5, blocks: 44, accounts: 8, transactionsPerBlock: 4 };
  const seen = new Map<string, number>();
  for (const { path, body, time } of devnetEvents(options)) {
    if (path !== '/new_mempool_tx') continue;
    for (const raw of JSON.parse(body) as string[]) {
      const id = toHex(transactionId(fromHex(raw)));
      if (!seen.has(id)) seen.set(id, time);
    }
  }
  const announced = rows('SELECT tx_id, receipt_time FROM v1_transactions WHERE receipt_time IS NOT NULL');
  expect(announced.length).toBeGreaterThan(100);
  for (const { tx_id, receipt_time } of announced) {
    expect(receipt_time).toBe(new Date(seen.get(String(tx_id))!).toISOString());
  }
  const others = rows('SELECT tx_id FROM v1_transactions WHERE receipt_time IS NULL');
  expect(others.filter(({ tx_id }) => seen.has(String(tx_id)))).toEqual([]);
});

test('v1_mempool_transactions equals the API', async () => {
  const expected: Row[] = [];
  for (const id of column('SELECT tx_id FROM v1_mempool_transactions')) {
    const answer = await get(`/extended/v3/transactions/${id}`);
    const { tx_id, status, receipt_time, receipt_block_height, type, fee_rate: fee, replaced_by_tx_id } = answer;
    const { address: sender, nonce } = answer.sender;
    const receipt = { status, receipt_time, receipt_block_height, replaced_by_tx_id };
    expected.push({ tx_id, ...receipt, type, fee, sender, nonce, ...bodyOf(answer) });
  }
  const names = Object.keys(expected[0]!).map((name) =>
    // The API rounds to seconds.
    name === 'receipt_time'
      ? "CAST(round(strftime('%s', receipt_time) + substr(receipt_time, 21, 3) / 1000.0) AS INTEGER) AS receipt_time"
      : name,
  );
  expectRows(columnsOf('v1_mempool_transactions', names.join(', ')), expected);
});

test('v1_hooks and v1_hook_deliveries contain the stored hooks and deliveries', () => {
  const records = hookRecords(db);
  const definition = JSON.stringify({ name: "alice's", chain: 'stacks', network: 'testnet', filters: { events: [] } });
  db.run(
    `INSERT INTO hooks (uuid, consumer, created_at, definition, url, stage, status, cursor_height, cursor_hash, evaluated,
       occurrences, joined, window_evaluated, window_occurrences, last_occurrence_at, sequence, consecutive_failures)
     VALUES ('u1', 'default', 1700000000123, ?1, 'http://x', 1, 0, 3, x'03', 7, 2, 1, 0, 0, 1700000001999, 1, 0),
            ('u2', 'default', 1700000000000, ?1, 'http://x', 0, 3, 3, x'03', 0, 0, 0, 0, 0, NULL, 0, 4)`,
    [definition],
  );
  db.run('UPDATE progress SET hooks_evaluated = 9, hooks_cursor_height = 70, hooks_evaluated_at = 1700000009000');
  const id = db.query<{ id: number }, []>("SELECT id FROM hooks WHERE uuid = 'u1'").get()!.id;
  const insert = inserter(db, hookDeliveriesTable);
  const delivery = { webhook_id: 'evt_1', hook_id: id, queue: 0, reason: 1, sequence: 1, state: 2, attempts: 2 };
  const times = { created_at: 1_700_000_000_001, delivered_at: 1_700_000_000_999 };
  const blocks = { blocks: '{"apply":[],"rollback":[]}', min_height: 3, max_height: 4 };
  const body = { body_bytes: 5, body_sha256: new Uint8Array(32).fill(0xab) };
  const absent = { next_attempt_at: null, tried_since: null, backfill_id: null, problem: null };
  insert({ ...delivery, ...times, ...blocks, ...body, ...absent });
  const seconds = (name: string) => `substr(${name}, 1, 19) || '.000Z' AS ${name}`;
  const expected = ['u1', 'u2'].map((uuid) => {
    const { status } = serializedHook({
      record: records.find(uuid, 'default')!,
      waiting: { count: 0, oldest: null },
      failing: null,
      lag: 0,
      pausedReason: null,
    });
    return {
      uuid,
      name: "alice's",
      status: status.status,
      is_enabled: status.enabled ? 1 : 0,
      created_at: isoTime(status.created_at),
      last_evaluated_at: isoOrNull(status.last_evaluated_at),
      last_occurrence_at: isoOrNull(status.last_occurrence_at),
      last_evaluated_block_height: status.last_evaluated_block_height,
      evaluated_block_count: status.evaluated_block_count,
      occurrence_count: status.occurrence_count,
      consecutive_failures: status.consecutive_failures,
    };
  });
  const names = Object.keys(expected[0]!).map((name) => (name.endsWith('_at') ? seconds(name) : name));
  expectRows(columnsOf('v1_hooks', names.join(', ')), expected, 2);
  expect(expected[0]).toMatchObject({ status: 'streaming', evaluated_block_count: 15 });

  const { items } = deliveryLog(db).page(id, everyDelivery, 10, null);
  const deliveries = items.map((item) => {
    const serialized = serializedDelivery(item, { lastAttempt: undefined, underWay: false });
    const { sequence, reason, state, body_bytes, body_sha256, attempt_count } = serialized;
    const times = { created_at: isoTime(serialized.created_at), delivered_at: isoOrNull(serialized.delivered_at) };
    return { webhook_id: serialized.id, sequence, reason, state, body_bytes, body_sha256, attempt_count, ...times };
  });
  const columns = Object.keys(deliveries[0]!).map((name) => (name.endsWith('_at') ? seconds(name) : name));
  expectRows(columnsOf('v1_hook_deliveries', columns.join(', ')), deliveries as Row[], 1);
  expect(column('SELECT created_at FROM v1_hook_deliveries')).toEqual(['2023-11-14T22:13:20.001Z']);
});
