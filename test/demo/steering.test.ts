/** An app's test controls the blocks of a demo, and reads the index immediately after. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { broadcastTransaction, getAddressFromPrivateKey, makeSTXTokenTransfer } from '@stacks/transactions';
import { devnetRoutes } from '../../src/api/devnet/routes.ts';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { journal } from '../../src/devnet/contracts/journal.ts';
import type { LogEvent } from '../../src/log.ts';
import { testApp } from '../api/test-app.ts';
import { command, stackside } from '../e2e/stackside.ts';
import { rawExchange } from '../support/servers/raw-http.ts';
import { until } from '../support/time/until.ts';
import { type Demo, demo } from './demo.ts';

const senderKey = `${'33'.repeat(32)}01`;
const sender = getAddressFromPrivateKey(senderKey, 'testnet');
const recipientKey = `${'44'.repeat(32)}01`;
const recipient = getAddressFromPrivateKey(recipientKey, 'testnet');

let server: Demo;
beforeAll(async () => {
  server = await demo();
  await server.steer('fund', { address: sender, amount: '1000000000' });
});
afterAll(() => server[Symbol.asyncDispose]());

const state = () => server.state();
const indexStatus = () => server.json<{ chain_tip: { block_height: number; index_block_hash: string } }>('/extended');

async function sent(options: { nonce?: number; fee?: number; amount?: number } = {}): Promise<string> {
  const transaction = await sign(options);
  const result = await broadcastTransaction({ transaction, network: 'testnet', client: { baseUrl: server.api } });
  expect(result).toEqual({ txid: transaction.txid() });
  return `0x${transaction.txid()}`;
}

const sign = ({ amount = 5, fee = 400, ...rest }: { nonce?: number; fee?: number; amount?: number }) =>
  makeSTXTokenTransfer({
    recipient,
    amount,
    fee,
    senderKey,
    network: 'testnet',
    client: { baseUrl: server.api },
    ...rest,
  });

const statusOf = async (id: string) =>
  (await server.json<{ tx_status?: string; canonical?: boolean }>(`/extended/v1/tx/${id}`)).tx_status;

test('a mine request returns when the index has the empty block', async () => {
  const before = await state();
  const { blocks } = await server.steer('mine', { count: 3 });
  expect(blocks.map(({ height }) => height)).toEqual([1, 2, 3].map((offset) => before.tip.height + offset));
  expect(blocks.flatMap(({ transactions }) => transactions)).toEqual([]);
  expect((await indexStatus()).chain_tip).toMatchObject({
    block_height: blocks.at(-1)?.height,
    index_block_hash: blocks.at(-1)?.index_block_hash,
  });
});

test('transactions in a mine request are mined with pending ones, in nonce order', async () => {
  const { nonce } = await server.json<{ nonce: number }>(`/v2/accounts/${sender}?proof=0`);
  const last = await sign({ nonce: nonce + 2 });
  const waiting = await sent({ nonce: nonce + 1 });
  expect((await state()).pending).toEqual([waiting]);
  const first = await sign({ nonce });
  const { blocks } = await server.steer('mine', { transactions: [last.serialize(), first.serialize()] });
  expect(blocks[0]?.transactions).toEqual([`0x${first.txid()}`, waiting, `0x${last.txid()}`]);
  const { message } = await server.refuses('mine', { transactions: [first.serialize()] });
  expect(message).toContain('body/transactions/0 is refused: BadNonce');
});

test('a devnet without a project announces no transactions of simulated users', async () => {
  await using quiet = await demo({ automine: 'true' });
  expect(await quiet.json('/extended/v1/tx/mempool')).toMatchObject({ total: 0 });
  await using busy = await demo({ pastBlocks: '20' });
  expect((await busy.json<{ total: number }>('/extended/v1/tx/mempool')).total).toBeGreaterThan(0);
});

test('a devnet logs no advice about its defaults and its node', async () => {
  const logged: LogEvent[] = [];
  const createLog = () => (event: LogEvent) => void logged.push(event);
  await using devnet = await demo({ automine: 'true' }, { ...realEnvironment, createLog });
  await devnet.steer('mine');
  const events = logged.map(({ event }) => event);
  expect(events.filter((event) => event === 'setup_warning' || event === 'state_degraded')).toEqual([]);
});

test('a fork returns a transaction to the mempool, and the next block mines it again', async () => {
  const id = await sent();
  const { blocks } = await server.steer('mine', { count: 2 });
  expect(await statusOf(id)).toBe('success');
  const fork = await server.steer('fork', { depth: 2 });
  expect(fork.orphaned.map(({ index_block_hash }) => index_block_hash)).toEqual(
    blocks.map(({ index_block_hash }) => index_block_hash),
  );
  expect([fork.blocks.length, fork.pending]).toEqual([3, [id]]);
  expect((await indexStatus()).chain_tip.index_block_hash).toBe(fork.blocks.at(-1)!.index_block_hash);
  expect(await statusOf(id)).toBe('pending');
  const mined = await server.steer('mine');
  expect(mined.blocks[0]?.transactions).toEqual([id]);
  expect(await statusOf(id)).toBe('success');
});

test('a fork that is not longer stays orphaned', async () => {
  await server.steer('mine', { count: 2 });
  const { tip } = await state();
  const fork = await server.steer('fork', { depth: 2, length: 2 });
  expect([fork.blocks.length, fork.orphaned, fork.pending]).toEqual([2, [], []]);
  expect((await state()).tip).toEqual(tip);
  expect((await indexStatus()).chain_tip.index_block_hash).toBe(tip.index_block_hash);
});

test('a grant that a fork reverted is mined again with the next grant', async () => {
  const gift = { address: recipient, amount: '7000000' };
  const first = await server.steer('fund', gift);
  expect((await server.steer('fork', { depth: 1 })).pending).toEqual([first.tx_id]);
  const second = await server.steer('fund', gift);
  expect(second.block.transactions).toEqual([first.tx_id, second.tx_id]);
});

test('a balance can be set to any amount without the key of the address', async () => {
  const address = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
  const set = (amount: string) => server.steer<{ tx_id: string; balance: string }>('balance', { address, amount });
  const balance = async () => (await server.json<{ balance: string }>(`/extended/v1/address/${address}/stx`)).balance;
  for (const amount of ['5000000', '2000000', '2000001', '0', '7', '6', '1000', '0', '7']) {
    const changed = await set(amount);
    expect([changed.balance, await balance()]).toEqual([amount, amount]);
    expect(await statusOf(changed.tx_id)).toBe('success');
  }
  expect(await set('7')).toMatchObject({ tx_id: null, balance: '7' });
  for (const [amount, account, message] of [
    ['9999999999999999999', address, ', because the faucet has no more micro-STX'],
    ['9'.repeat(39), address, 'body/amount must be <= '],
    ['-1', address, 'body/amount must be a whole number of at most 39 digits, as text'],
    ['1', 'nobody', 'body/address must be a principal of testnet, or the name of an account (none yet)'],
  ] as const) {
    expect((await server.refuses('balance', { address: account, amount })).message).toContain(message);
  }
});

test('the node signs transfers, deployments and calls for named accounts, each in a separate block', async () => {
  const { address, private_key } = await server.steer<{ address: string; private_key: string }>('account', {
    name: 'alice',
  });
  expect(address).toBe(getAddressFromPrivateKey(private_key, 'testnet'));
  const poor = await server.refuses('transfer', { sender: 'alice', recipient, amount: '5' });
  expect(poor.message).toContain('The transaction is refused: NotEnoughFunds: {');
  await server.steer('transfer', { recipient: address, amount: '9000000', memo: 'for alice' });

  const { contracts } = await server.json<{ contracts: { name: string; source: string }[] }>(
    '/stackside/v1/devnet/contracts',
  );
  const { source } = contracts.find(({ name }) => name === 'token')!;
  const deployed = await server.steer('deploy', { sender: 'alice', name: 'coin', source });
  expect(deployed).toMatchObject({ status: 'success', sender: address, result: '0x0703' });
  expect(deployed.block.transactions).toEqual([deployed.tx_id]);
  const mint = { function: 'mint', arguments: ['u50', `'${recipient}`] };
  const called = await server.steer('call', { sender: 'alice', contract: `${address}.coin`, ...mint });
  expect(called).toMatchObject({ status: 'success', result: '0x0703', repr: '(ok true)' });
  expect(await server.steer('call', { contract: 'coin', ...mint })).toMatchObject({ status: 'success' });
});

test('a read-only function is called with literals, and an unknown account is named', async () => {
  const pox = 'ST000000000000000000002AMW42H.pox-4';
  const read = await server.steer('read', { contract: pox, function: 'get-pox-info' });
  expect(read.repr).toContain('(reward-cycle-id ');
  const failed = await server.refuses('read', { contract: pox, function: 'nothing' });
  expect(failed.reason).toContain('nothing');
  const from = (sender?: string) => server.refuses('transfer', { sender, recipient, amount: '1' });
  expect(await from('alise')).toMatchObject({
    field: 'sender',
    message: expect.stringContaining('POST /stackside/v1/devnet/account adds alise'),
  });
  // An address has no account to add, unless the node has its key.
  expect(await from(pox.split('.')[0])).toMatchObject({
    field: 'sender',
    message: expect.stringMatching(/; a devnet with --unsafe-impersonate accepts every address$/),
  });
  const { faucet } = await state();
  const known = { sender: faucet.address, recipient, amount: '1' };
  expect(await server.steer('transfer', known)).toMatchObject({ sender: faucet.address });
});

test.each([
  ['0x6d79', '0x6d79'],
  // The bytes of a serialized `true`, and of a serialized buffer.
  ['0x03', '0x03'],
  ['0x02000000026d79', '0x6d79'],
])('an argument %s of a buffer is %s', async (argument, repr) => {
  const name = `journal-${argument}`;
  await server.steer('deploy', { name, source: journal.source });
  const body = await server.steer('call', { contract: name, function: 'mark', arguments: [argument, 'none'] });
  const transaction = await server.json<{ contract_call: { function_args: { repr: string }[] } }>(
    `/extended/v1/tx/${body.tx_id}`,
  );
  expect(transaction.contract_call.function_args[0]?.repr).toBe(repr);
});

test.each([
  ['deploy', { name: '1', source: '1' }, 'body/name must be a name of 1 to 40 letters'],
  ['transfer', { recipient: 'ST', amount: '1' }, 'body/recipient must be a principal of testnet'],
  [
    'transfer',
    { recipient: `${recipient.slice(0, -1)}0`, amount: '1' },
    'invalid STX address in body/recipient: its checksum is wrong, so a character may be mistyped',
  ],
  [
    'call',
    { contract: `${recipient.slice(0, -1)}0.c`, function: 'f' },
    'invalid STX address in body/contract: its checksum is wrong, so a character may be mistyped',
  ],
  [
    'transfer',
    { recipient: 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7', amount: '1' },
    'body/recipient must be a principal of testnet',
  ],
  ['transfer', { recipient, amount: '1', memo: '☕'.repeat(12) }, 'body/memo must NOT have more than 34 bytes'],
  [
    'call',
    { contract: recipient, function: 'f' },
    'body/contract must be a contract identifier (an address, a dot and a name), or the name',
  ],
  ['call', { contract: `${recipient}.c`, function: 'f', arguments: ['u1', 'u'] }, 'body/arguments/1 must be a literal'],
  ['call', { contract: `${recipient}.c`, function: 'f', arguments: ['0x0'] }, 'body/arguments/0 must be a literal'],
  ['call', { contract: `${recipient}.c`, function: 'f' }, 'The transaction is refused: NoSuchContract'],
  [
    'call',
    { contract: 'ST000000000000000000002AMW42H.pox-4', function: 'delegate-stx' },
    'The transaction is refused: BadFunctionArgument: expecting 4 arguments, got 0',
  ],
  ['mine', { count: 0 }, 'body/count must be >= 1'],
  ['mine', { blocks: 1 }, 'body/blocks is not allowed'],
  ['mine', { transactions: ['zz'] }, 'body/transactions/0 must be the hex digits'],
  ['mine', { transactions: ['00'] }, 'body/transactions/0 is refused'],
  ['fork', { depth: 101 }, 'body/depth must be <= 100'],
  ['fund', { address: 'nobody', amount: '1' }, 'body/address must be a principal of testnet'],
  ['fund', { address: sender, amount: '9999999999999999' }, 'body/amount must be <= '],
  ['time', {}, 'body'],
  ['interval', { seconds: -1 }, 'body/seconds must be >= 0'],
])('/stackside/v1/devnet/%s rejects %j', async (path, body, message) => {
  const { tip } = await state();
  expect((await server.refuses(path, body)).message).toContain(message);
  expect((await state()).tip).toEqual(tip);
});

test('a tenure starts with its Bitcoin block if tenures are requested, otherwise with the next block', async () => {
  const before = await state();
  const steered = await server.steer('bitcoin', { count: 2 });
  expect(steered.blocks.map(({ tenure_height }) => tenure_height)).toEqual([
    before.tip.tenure_height + 1,
    before.tip.tenure_height + 2,
  ]);
  const alone = await server.steer('bitcoin', { tenures: false });
  expect(alone.blocks).toEqual([]);
  const { blocks } = await server.steer('mine');
  expect(blocks[0]).toMatchObject({
    tenure_height: before.tip.tenure_height + 3,
    bitcoin_height: alone.bitcoin_blocks[0]?.height,
  });
});

test('a cycle request stops at the first block of the next cycle', async () => {
  const before = await state();
  const { bitcoin_blocks, blocks } = await server.steer('cycle');
  expect([bitcoin_blocks.length, blocks.length]).toEqual([before.cycle.blocks_left, before.cycle.blocks_left]);
  const after = await state();
  expect(after.cycle).toMatchObject({ number: before.cycle.number + 1, blocks_left: 20 });
  const cycles = await server.json<{ results: { cycle_number: number }[] }>('/extended/v2/pox/cycles');
  expect(cycles.results[0]?.cycle_number).toBeGreaterThanOrEqual(after.cycle.number);
});

test('time can be set to the second, and further seconds add up until a block is mined', async () => {
  const { tip } = await state();
  await server.steer('time', { until_time: tip.time + 1 });
  await server.steer('time', { seconds: 2 });
  const { blocks } = await server.steer('mine', { count: 2 });
  expect(blocks[0]!.time).toBe(tip.time + 3);
  expect(blocks[1]!.time).toBeGreaterThan(tip.time + 3);
  // A Bitcoin block may be later than the given time. Its tenure's block is never earlier.
  await server.steer('time', { seconds: 1 });
  const { bitcoin_blocks: bitcoin, blocks: later } = await server.steer('bitcoin');
  expect(later[0]!.time).toBeGreaterThanOrEqual(bitcoin[0]!.time);
  const { message } = await server.refuses('time', { until_time: later[0]!.time });
  expect(message).toBe(`body/until_time must be > ${later[0]!.time} and <= ${later[0]!.time + 31_536_000}`);
});

test('mines blocks, Bitcoin blocks and cycles up to a given height or number', async () => {
  const { tip, cycle } = await state();
  const { blocks } = await server.steer('mine', { until_height: tip.height + 3 });
  expect(blocks.map(({ height }) => height)).toEqual([1, 2, 3].map((offset) => tip.height + offset));
  // Bitcoin blocks without a tenure count as well.
  const [unseen] = (await server.steer('bitcoin', { tenures: false })).bitcoin_blocks;
  const { bitcoin_blocks } = await server.steer('bitcoin', { until_height: unseen!.height + 2 });
  expect(bitcoin_blocks.map(({ height }) => height)).toEqual([unseen!.height + 1, unseen!.height + 2]);
  await server.steer('cycle', { until_cycle: cycle.number + 2 });
  expect((await state()).cycle).toMatchObject({ number: cycle.number + 2, blocks_left: 20 });
  const { tip: now } = await state();
  for (const [path, body, message] of [
    ['mine', { until_height: now.height }, `body/until_height must be > ${now.height} (the current value) and <= `],
    ['mine', { until_height: now.height + 1_001 }, 'body/until_height must be > '],
    ['mine', { until_height: now.height + 1, count: 1 }, 'body/until_height must not be given together with count'],
    ['bitcoin', { until_height: 1 }, 'body/until_height must be > '],
    ['cycle', { until_cycle: cycle.number }, 'body/until_cycle must be > '],
    ['cycle', { until_cycle: cycle.number + 30 }, 'body/until_cycle must be > '],
    ['time', { until_time: 5, seconds: 5 }, 'body/until_time must not be given together with seconds'],
    ['fork', { depth: now.height + 1 }, `body/depth must be <= ${now.height}, the number of blocks below the tip`],
  ] as const) {
    expect((await server.refuses(path, body)).message).toContain(message);
  }
  expect((await state()).tip).toEqual(now);
});

test("stackside devnet controls the chain, and prints the server's errors", async () => {
  const run = (...args: string[]) => stackside('devnet', ...args, '--url', server.api);
  const { tip, bitcoin } = await state();
  const mined = await run('mine', '--until-height', String(tip.height + 2));
  expect([mined.code, JSON.parse(mined.stdout).blocks.length]).toEqual([0, 2]);
  const busy = JSON.parse((await run('mine', '--traffic', '3')).stdout);
  expect(busy.blocks[0].transactions.length).toBeGreaterThanOrEqual(3);
  await run('time', '--until-time', new Date((tip.time + 5_000) * 1000).toISOString());
  const named = await run('snapshot', 'commands');
  expect(JSON.parse(named.stdout).snapshots).toContainEqual(expect.objectContaining({ name: 'commands' }));
  const steered = await run('bitcoin', '--until-height', String(bitcoin.height + 1));
  expect(JSON.parse(steered.stdout).blocks[0].time).toBeGreaterThanOrEqual(tip.time + 5_000);
  expect(JSON.parse((await run('revert', 'commands')).stdout).orphaned).toHaveLength(1);
  const mistakes: [args: string[], message: string][] = [
    [['mine', '2', '--until-height', String(tip.height + 20)], 'until_height must not be given together with count.'],
    [['mine', '0'], 'count must be >= 1.'],
    [['mine', '--traffic', '201'], 'traffic must be <= 200.'],
    [['cycle', '--until-cycle', '1'], 'until_cycle must be > '],
    [['time'], 'body must have seconds or until_time.'],
    [['revert', 'nothing'], 'snapshot must name a snapshot of the chain '],
    [['drop', 'nothing'], 'tx_id must be '],
    [['fund', 'nobody', '1'], 'address must be a principal of testnet.'],
    [['fund', 'nobody', 'x'], 'amount must be a whole number of micro-STX above 0, of at most 19 digits, as text\\.'],
  ];
  for (const [args, message] of mistakes) {
    const stderr = expect.stringMatching(new RegExp(`^${message}.*\\nCorrect the value\\.\\n$`));
    expect([args, await run(...args)]).toEqual([args, { code: 1, stdout: '', stderr }]);
  }
});

test('on a terminal, a command prints one line, and JSON on request', async () => {
  async function written(...args: string[]): Promise<string> {
    let text = '';
    const decoder = new TextDecoder();
    const child = Bun.spawn([...command, 'devnet', ...args, '--url', server.api], {
      terminal: {
        cols: 80,
        rows: 24,
        data: (_, bytes) => {
          text += decoder.decode(bytes, { stream: true });
        },
      },
    });
    expect(await child.exited).toBe(0);
    await until(() => text.endsWith('\r\n'), 'the end of the output');
    return text.trimEnd();
  }
  const text = await written('bitcoin', '2');
  const { tip } = await state();
  const position = `height ${tip.height}, ${new Date(tip.time * 1_000).toISOString()}, block ${tip.index_block_hash}`;
  expect(text).toBe(`${position}, 2 blocks, 2 Bitcoin blocks`);
  expect(await written('snapshot', 'commands')).toMatch(/^height \d+, .*, snapshots .*\bcommands$/);
  // It drops pending transactions.
  expect(await written('revert', 'commands')).toBe('no new block');
  expect(await written('fund', sender, '5')).toMatch(/^height \d+, .*, transaction 0x[0-9a-f]{64}$/);
  expect(JSON.parse((await written('mine', '--json')).replaceAll('\r\n', ''))).toMatchObject({ blocks: [{}] });
});

test('a transaction with a higher fee replaces one with the same nonce', async () => {
  const { nonce } = await server.json<{ nonce: number }>(`/v2/accounts/${sender}?proof=0`);
  const cheap = await sent({ nonce, fee: 400 });
  const dear = await sent({ nonce, fee: 500 });
  expect((await state()).pending).toEqual([dear]);
  expect(await statusOf(cheap)).toBe('dropped_replace_by_fee');
  const transaction = await sign({ nonce, fee: 500, amount: 6 });
  expect(
    await broadcastTransaction({ transaction, network: 'testnet', client: { baseUrl: server.api } }),
  ).toMatchObject({ reason: 'ConflictingNonceInMempool' });
  await server.steer('mine');
  expect(await statusOf(dear)).toBe('success');
});

test('a transaction of a simulated user that a fork made pending again can be replaced', async () => {
  await using busy = await demo({ pastBlocks: '19' });
  const { pending } = await busy.steer('fork', { depth: 3 });
  const facts = async (id: string) =>
    await busy.json<{ sponsored: boolean; fee_rate: string }>(`/extended/v1/tx/${id}`);
  const all = await Promise.all(pending.map(async (id) => ({ id, ...(await facts(id)) })));
  const { id, fee_rate: fee } = all.find(({ sponsored }) => !sponsored)!;
  const body = { tx_id: id, fee: String(2 * Number(fee)) };
  const { tx_id: replacement } = await busy.steer('replace', body);
  const { tx_status: status } = await busy.json<{ tx_status: string }>(`/extended/v1/tx/${id}`);
  expect([status, (await facts(replacement)).fee_rate]).toEqual(['dropped_replace_by_fee', body.fee]);
  await busy.steer('mine');
  const mined = await busy.json<{ tx_status: string }>(`/extended/v1/tx/${replacement}`);
  expect(mined.tx_status).not.toBe('pending');
});

test('requests from other sites and with other host names are rejected', async () => {
  const { host } = new URL(server.api);
  const refused: [headers: Record<string, string>, status: number][] = [
    [{ host, origin: 'https://example.com' }, 403],
    [{ host, 'sec-fetch-site': 'cross-site' }, 403],
    [{ host: 'example.com' }, 421],
    [{ host, origin: server.api }, 200],
  ];
  for (const path of ['/stackside/v1/devnet', '/stackside/v1/devnet/contracts']) {
    for (const [headers, status] of refused) {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      const { status: answered } = await rawExchange(
        server.api,
        `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`,
      );
      expect([path, headers, answered]).toEqual([path, headers, status]);
    }
  }
});

test('a server without a simulated node returns 404 on every devnet route', async () => {
  for (const { method, path } of devnetRoutes(null)) {
    const answer = await testApp().json(path.replace('{tx_id}', `0x${'12'.repeat(32)}`), { method });
    expect([path, answer.status, answer.body]).toEqual([
      path,
      404,
      expect.objectContaining({ code: 'NOT_A_DEVNET' }) as never,
    ]);
  }
});

test('after a pending transaction is dropped, another with its nonce is mined', async () => {
  const id = await sent({ fee: 900 });
  await server.steer('drop', { tx_id: id });
  expect([(await state()).pending, await statusOf(id)]).toEqual([[], 'dropped_stale_garbage_collect']);
  const nextId = await sent({ fee: 300 });
  await server.steer('mine');
  expect(await statusOf(nextId)).toBe('success');
  expect((await server.refuses('drop', { tx_id: id })).field).toBe('tx_id');
});

test('drop and revert also drop pending transactions of simulated users', async () => {
  // Without a fork.
  await using busy = await demo({ pastBlocks: '19' });
  const pending = async () => {
    const { results } = await busy.json<{ results: { tx_id: string }[] }>('/extended/v1/tx/mempool?limit=50');
    return results.map(({ tx_id }) => tx_id).sort();
  };
  const [first, ...others] = await pending();
  expect(others.length).toBeGreaterThan(1);
  await busy.steer('drop', { tx_id: first });
  expect(await pending()).toEqual(others);
  await busy.steer('snapshot');
  await busy.steer('mine');
  await busy.steer('revert', { snapshot: 'default' });
  expect(await pending()).toEqual([]);
});

test('a revert restores the state after a block, and drops later transactions', async () => {
  const { tip } = await state();
  const before = await server.json(`/extended/v1/address/${sender}/stx`);
  const dropped = await sent();
  await server.steer('mine', { count: 2 });
  const { orphaned, blocks } = await server.steer('revert', { index_block_hash: tip.index_block_hash });
  expect([orphaned.length, blocks.length]).toEqual([2, 3]);
  expect(await server.json(`/extended/v1/address/${sender}/stx`)).toEqual(before);
  await server.steer('mine');
  expect([(await state()).pending, await statusOf(dropped)]).toEqual([[], 'dropped_stale_garbage_collect']);
  const unknown = await server.refuses('revert', { index_block_hash: `0x${'ab'.repeat(32)}` });
  expect(unknown.field).toBe('index_block_hash');
});

test('the chain can return to a snapshot several times, and deletes later snapshots', async () => {
  const snapshotNames = async () => (await state()).snapshots.map(({ name }) => name);
  await server.steer('snapshot');
  const before = await server.json(`/extended/v1/address/${sender}/stx`);
  // A snapshot keeps the blocks above it, so a revert has no maximum depth.
  let height = 0;
  for (const [round, blocks] of [3, 101, 1].entries()) {
    height = (await state()).tip.height + 1;
    await sent();
    await server.steer('mine', { count: blocks });
    await server.steer('snapshot', { name: 'later' });
    expect((await snapshotNames()).slice(-2)).toEqual(['default', 'later']);
    const { orphaned } = await server.steer('revert', { snapshot: 'default' });
    expect([round, orphaned.length]).toEqual([round, blocks]);
    expect((await state()).pending).toEqual([]);
    expect(await server.json(`/extended/v1/address/${sender}/stx`)).toEqual(before);
    expect(await snapshotNames()).not.toContain('later');
  }
  // Time that was added after the snapshot is taken back.
  const { tip } = await state();
  await server.steer('time', { seconds: 86_400 });
  await server.steer('mine');
  await server.steer('revert', { snapshot: 'default' });
  const { blocks: after } = await server.steer('mine');
  expect(after[0]!.time).toBeLessThan(tip.time + 1_000);
  const named = 'body/snapshot must name a snapshot of the chain (commands, default)';
  for (const [body, message] of [
    [{ snapshot: 'later' }, `${named}: a fork or a revert at height ${height} removed later`],
    [{}, 'body must have index_block_hash or snapshot'],
  ] as const) {
    expect((await server.refuses('revert', body)).message).toBe(message);
  }
});

test('a pending transaction can be replaced with a higher fee if the node can sign for its sender', async () => {
  const alice = await server.steer<{ address: string; private_key: string }>('account', { name: 'bidder' });
  await server.steer('fund', { address: alice.address, amount: '1000000' });
  const options = { network: 'testnet', client: { baseUrl: server.api } } as const;
  const transaction = await makeSTXTokenTransfer({
    recipient,
    amount: 7,
    memo: 'kept',
    fee: 300,
    senderKey: alice.private_key,
    ...options,
  });
  const { txid } = (await broadcastTransaction({ transaction, ...options })) as { txid: string };
  const bid = (fee: string, id = `0x${txid}`) => server.refuses('replace', { tx_id: id, fee });
  expect((await bid('300')).reason).toBe('ConflictingNonceInMempool');
  const replaced = await server.steer('replace', { tx_id: `0x${txid}`, fee: '900' });
  expect(await state()).toMatchObject({ pending: [replaced.tx_id], replaceable: [replaced.tx_id] });
  expect(await statusOf(`0x${txid}`)).toBe('dropped_replace_by_fee');
  await server.steer('mine');
  expect(await server.json(`/extended/v1/tx/${replaced.tx_id}`)).toMatchObject({
    tx_status: 'success',
    fee_rate: '900',
    sender_address: alice.address,
    token_transfer: { recipient_address: recipient, amount: '7' },
  });
  const foreignId = await sent();
  expect(await state()).toMatchObject({ pending: [foreignId], replaceable: [] });
  const foreign = await bid('900', foreignId);
  expect(foreign.message).toStartWith('body/tx_id must have one signature, no sponsor, and an account with a key');
  expect((await bid('900')).message).toBe('body/tx_id must be the id of a pending transaction');
  await server.steer('mine');
});

test('a demo signs for an account without its key only with --unsafe-impersonate', async () => {
  const transfer = { sender: recipient, recipient: sender, amount: '5' };
  await server.refuses('transfer', transfer);
  await using unsafe = await demo({ unsafeImpersonate: 'true' });
  await unsafe.steer('fund', { address: recipient, amount: '1000000' });
  const { tx_id: id } = await unsafe.steer('transfer', transfer);
  const options = { network: 'testnet', client: { baseUrl: unsafe.api } } as const;
  const signedBySelf = await makeSTXTokenTransfer({
    recipient: sender,
    amount: 1,
    fee: 200,
    senderKey: recipientKey,
    ...options,
  });
  await broadcastTransaction({ transaction: signedBySelf, ...options });
  const pending = `0x${signedBySelf.txid()}`;
  await unsafe.steer('replace', { tx_id: pending, fee: '400' });
  expect(await unsafe.json(`/extended/v1/tx/${id}`)).toMatchObject({ tx_status: 'success', sender_address: recipient });
});
