/** Token contracts, their tokens and their metadata: through blocks and forks, and with all kinds of responses from a node. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { tokenContract, tokenNews } from '../../src/chain/token-contracts.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { utf8Bytes } from '../../src/codec/utf8.ts';
import { collectible } from '../../src/devnet/contracts/collectible.ts';
import { gems } from '../../src/devnet/contracts/gems.ts';
import { token as coin } from '../../src/devnet/contracts/token.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { type NodeRpc, NodeUnreachableError } from '../../src/node/rpc.ts';
import { startMetadataFetcher } from '../../src/node/token-metadata.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import type { TokenCommands } from '../../src/store/ingest/token-commands.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openAt } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { alice, block, bob, deployment, type MadeBlock, receipt } from '../support/events/handmade.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const COIN = `${alice.address}.coin`;
const CARDS = `${alice.address}.cards`;
const GEMS = `${alice.address}.gems`;
const MAX_UINT = 2n ** 128n - 1n;

/** Returns a clock that jumps to the next timer whenever no other work is left. */
function eagerClock(): Clock {
  let time = 1_800_000_000_000;
  const timers = new Map<symbol, { at: number; call: () => void }>();
  let running = false;
  const step = () => {
    const [first] = [...timers].sort(([, a], [, b]) => a.at - b.at);
    running = first !== undefined;
    if (first === undefined) return;
    const [key, { at, call }] = first;
    timers.delete(key);
    time = Math.max(time, at);
    call();
    setImmediate(step);
  };
  return {
    now: () => time,
    monotonic: () => time,
    after(milliseconds, call) {
      const key = Symbol();
      timers.set(key, { at: time + milliseconds, call });
      if (!running) setImmediate(step);
      running = true;
      return () => void timers.delete(key);
    },
    every: () => () => {},
    turn: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

/** Result of a read-only function: a serialized value, or a response body. */
type Reply = Uint8Array | object | 'away';
type Replies = (contract: string, name: string, argument: string | undefined) => Reply;

const okay = (value: Uint8Array) => clarity.ok(value);
const none = clarity.none();
const uri = (text: string) => okay(clarity.some(clarity.ascii(text)));

const PLAIN: Record<string, Uint8Array> = {
  'get-name': okay(clarity.ascii('River Coin')),
  'get-symbol': okay(clarity.ascii('RVR')),
  'get-decimals': okay(clarity.uint(6)),
  'get-total-supply': okay(clarity.uint(10_000)),
  'get-last-token-id': okay(clarity.uint(0)),
};
/** The answers of a well-behaved contract. */
const plain: Replies = (_, name) => PLAIN[name] ?? uri('https://art.example/{id}.json');
const respond =
  (replies: Record<string, Reply>, rest: Replies = plain): Replies =>
  (contract, name, argument) =>
    replies[name] ?? rest(contract, name, argument);

/** Returns a node that answers calls with the test's results, and records them. */
function stubNode(reply: Replies) {
  const node = { reply, calls: [] as string[], isAway: false };
  const answer = (body: Reply): Response => {
    if (body instanceof Uint8Array) return Response.json({ okay: true, result: toHex(body) });
    if (body instanceof Response) return body;
    return Response.json(body);
  };
  const rpc: NodeRpc = {
    location: 'http://node',
    async request(path, init) {
      if (node.isAway) throw new NodeUnreachableError('away');
      if (path === '/v2/info') return Response.json({});
      const [, address, name, method] = /call-read\/(\w+)\/([\w-]+)\/([\w-]+)\?tip=/.exec(path) ?? [];
      const [argument] = (JSON.parse(String(init?.body)) as { arguments: string[] }).arguments;
      node.calls.push(`${name} ${method}${argument === undefined ? '' : ` ${BigInt(`0x${argument.slice(4)}`)}`}`);
      const body = node.reply(`${address}.${name}`, method ?? '', argument);
      if (body === 'away') throw new NodeUnreachableError('away');
      return answer(body);
    },
    json: async () => undefined,
    async info() {
      if (node.isAway) throw new NodeUnreachableError('away');
      return { chainId: 1, height: 1_000, burnBlockHeight: 1, indexBlockHash: null };
    },
  };
  return { rpc, node };
}

const eventOf = (txid: string, index: number, type: string, fields: object) => ({
  txid,
  event_index: index,
  committed: true,
  type,
  [type]: fields,
});
const print = (contract: string, txid: string, index: number, value: Uint8Array) =>
  eventOf(txid, index, 'contract_event', { contract_identifier: contract, topic: 'print', raw_value: toHex(value) });
const nftMint = (contract: string, txid: string, index: number, id: bigint | number) =>
  eventOf(txid, index, 'nft_mint_event', {
    asset_identifier: `${contract}::card`,
    raw_value: toHex(clarity.uint(BigInt(id))),
    recipient: bob.address,
  });
const ft = (kind: 'mint' | 'burn', asset: string, txid: string, index: number, amount: bigint) =>
  eventOf(txid, index, `ft_${kind}_event`, {
    asset_identifier: asset,
    amount: String(amount),
    [kind === 'mint' ? 'recipient' : 'sender']: bob.address,
  });

const sftMint = (id: bigint | number, recipient = clarity.principal(bob.address)) =>
  clarity.tuple({
    type: clarity.ascii('sft_mint'),
    'token-id': clarity.uint(BigInt(id)),
    amount: clarity.uint(5),
    recipient,
  });
const notice = (contract: string, more: Record<string, Uint8Array> = {}, kind = 'nft') =>
  clarity.tuple({
    notification: clarity.ascii('token-metadata-update'),
    payload: clarity.tuple({ 'token-class': clarity.ascii(kind), 'contract-id': clarity.principal(contract), ...more }),
  });
const ids = (...numbers: number[]) => ({ 'token-ids': clarity.list(numbers.map((number) => clarity.uint(number))) });

let serial = 0;
/** Returns a block whose only transaction is a deployment by an account, with events of other contracts in it. */
function next(
  parent: MadeBlock | null,
  deployed: { name: string; abi: object; status?: string; from?: typeof alice } | null,
  events: (txid: string) => object[] = () => [],
): MadeBlock {
  serial += 1;
  const { name, abi, status = 'success', from = alice } = deployed ?? { name: `other-${serial}`, abi: {} };
  const transaction = deployment(from, serial, 100, name);
  const listed = receipt(transaction, 0, { contract_interface: abi, status });
  return block(parent, `tokens ${serial}`, [listed], { events: events(transaction.id) });
}

/** An index with blocks and the metadata of their tokens. */
async function makeSettled(reply: Replies, ...blocks: MadeBlock[]) {
  const index = make(reply);
  index.add(...blocks);
  await index.settled();
  return index;
}

/** An index with a metadata fetcher and a stub node. */
function make(reply: Replies = plain) {
  const directory = dataDirectory();
  const open = openAt(directory.path);
  const { ingest } = open;
  const clock = eagerClock();
  const commander = ingest.commander(clock);
  const { rpc, node } = stubNode(reply);
  const snapshots = openSnapshots(directory.path, {
    every: () => () => {},
    now: clock.monotonic,
    beforeSnapshot: ingest.publish,
  });
  const db = new Database(indexPath(directory.path), { readonly: true });
  const logged: object[] = [];
  const events: ReceivedEvent[] = [];
  const lease = { isHeld: true };
  const start = () =>
    startMetadataFetcher({
      snapshots,
      node: rpc,
      commander,
      commits: ingest.commits,
      clock,
      hasLease: () => lease.isHeld,
      random: { number: () => 0 },
      log: (event) => logged.push(event),
    });
  let asker: ReturnType<typeof start> | null = null;
  const row = <T>(sql: string) => db.query<T, []>(sql).get();
  return {
    directory,
    ingest,
    node,
    rpc,
    lease,
    logged,
    events,
    commands: commandsOf<TokenCommands>(commander),
    snapshots,
    add(...blocks: MadeBlock[]): void {
      for (const { event } of blocks) {
        events.push(event);
        ingest.receive(event);
      }
      ingest.publish();
    },
    start() {
      asker ??= start();
    },
    all: <T>(sql: string): T[] => db.query<T, []>(sql).all(),
    row,
    token: (contract: string, id: bigint | number) =>
      snapshots.read((read) => read.tokenMetadata.token(contract, BigInt(id))),
    jobs: () => snapshots.read((read) => read.tokenMetadata.counts().jobs),
    /** Starts the lookups, and waits until no pending job is untried and no token waits for a place in the list. */
    async settled(): Promise<void> {
      asker ??= start();
      await until(
        () =>
          row('SELECT 1 FROM token_jobs WHERE state = 0') === null &&
          row('SELECT 1 FROM token_contracts WHERE listed < last_token_id OR queued_up_to IS NOT NULL') === null,
        'answers',
      );
    },
    async [Symbol.asyncDispose]() {
      await asker?.stop();
      snapshots.close();
      db.close();
      open[Symbol.dispose]();
      directory[Symbol.dispose]();
    },
  };
}

const coins = { name: 'coin', abi: coin.abi };
const cards = { name: 'cards', abi: collectible.abi };
const jewels = { name: 'gems', abi: gems.abi };

test("a contract belongs to the first token family that matches its functions' names and argument order", () => {
  const contractOf = (abi: object) => tokenContract(JSON.stringify(abi));
  expect(contractOf(coin.abi)).toEqual({ family: 'ft', asset: 'coin' });
  expect(contractOf(collectible.abi)).toEqual({ family: 'nft', asset: null });
  expect(contractOf(gems.abi)).toEqual({ family: 'sft', asset: null });
  const without = (abi: typeof coin.abi, name: string) => ({
    ...abi,
    functions: abi.functions.filter((item) => item.name !== name),
  });
  for (const template of [coin, collectible, gems]) {
    const { family } = contractOf(template.abi) ?? { family: '' };
    for (const { name } of template.abi.functions.filter((fn) => !['mint', 'burn', 'get-owner'].includes(fn.name))) {
      const parsed = contractOf(without(template.abi, name));
      // Functions that other accounts' tokens also have may be missing. Required functions may not.
      expect([family, name, parsed?.family === family && name !== 'get-balance']).toEqual([family, name, false]);
    }
  }
  expect(contractOf({ ...coin.abi, fungible_tokens: [] })).toBeNull();
  expect(contractOf({ ...collectible.abi, non_fungible_tokens: [] })).toBeNull();
  const turned = structuredClone(coin.abi);
  turned.functions.find(({ name }) => name === 'transfer')!.args.reverse();
  expect(contractOf(turned)).toBeNull();
  expect(contractOf({ ...coin.abi, functions: [...coin.abi.functions, ...gems.abi.functions] })?.family).toBe('sft');
  expect(['', '[]', 'null', '{"functions":[{}]}'].map(tokenContract)).toEqual([null, null, null, null]);
});

test('a notification counts from the contract itself, or from its deployer through any other contract', () => {
  const through = (contract: string, sender: string, value: Uint8Array) =>
    tokenNews({ kind: 'contract_log', contractId: contract, topic: 'print', value }, sender);
  const other = `${bob.address}.other`;
  expect(through(other, bob.address, notice(CARDS))).toBeNull();
  const whole = { contract: CARDS, tokens: null, mode: 'standard' };
  expect(through(other, alice.address, notice(CARDS))).toMatchObject(whole);
  expect(through(CARDS, bob.address, notice(CARDS))).toMatchObject({ contract: CARDS });
  expect(through(CARDS, bob.address, notice(CARDS, ids(4, 7, 4)))).toMatchObject({ tokens: [4n, 7n] });
  const int = { 'token-ids': clarity.list([clarity.int(9)]) };
  expect(through(CARDS, bob.address, notice(CARDS, int))).toMatchObject({ tokens: [9n] });
  expect(through(CARDS, bob.address, notice(CARDS, ids()))).toMatchObject({ tokens: null });
  expect(through(CARDS, bob.address, notice(CARDS, ids(1), 'ft'))).toMatchObject({ tokens: null });
  expect(through(CARDS, bob.address, notice(CARDS, ids(1), 'sft'))).toBeNull();
  const mode = (word: string, ttl?: Uint8Array) =>
    notice(CARDS, { 'update-mode': clarity.buffer(utf8Bytes(word)), ...(ttl === undefined ? {} : { ttl }) });
  expect(through(CARDS, bob.address, mode('dynamic', clarity.uint(3_600)))).toMatchObject({
    mode: 'dynamic',
    ttl: 3600n,
  });
  expect(through(CARDS, bob.address, mode('dynamic', clarity.int(3_600)))).toMatchObject({
    mode: 'dynamic',
    ttl: null,
  });
  expect(through(CARDS, bob.address, mode('frozen'))).toMatchObject({ mode: 'frozen' });
  expect(through(CARDS, bob.address, mode('often'))).toBeNull();
  expect(through(CARDS, bob.address, clarity.ascii('token-metadata-update'))).toBeNull();
});

test('facts of every token family are requested once and stored as the contract returns them', async () => {
  await using tokens = make(respond({ 'get-last-token-id': okay(clarity.uint(3)) }));
  const failed = { ...coins, name: 'failed', status: 'abort_by_response' };
  const a = next(null, coins);
  const b = next(a, cards, (tx) => [nftMint(CARDS, tx, 0, MAX_UINT), nftMint(`${bob.address}.unknown`, tx, 1, 1)]);
  const c = next(b, jewels, (tx) => [
    ...[0, 1].map((index) => print(GEMS, tx, index, sftMint(4))),
    // This event's token family differs from the contract's.
    print(CARDS, tx, 2, sftMint(9)),
    nftMint(GEMS, tx, 3, 9),
  ]);
  tokens.add(a, b, c, next(c, failed));
  expect(tokens.row<{ n: number }>('SELECT count(*) AS n FROM token_contracts')).toEqual({ n: 3 });
  await tokens.settled();
  expect(tokens.token(COIN, 1)).toMatchObject({
    name: 'River Coin',
    symbol: 'RVR',
    decimals: '6',
    supply: '10000',
    uri: 'https://art.example/1.json',
    facts: 'done',
  });
  expect(tokens.token(CARDS, MAX_UINT)).toMatchObject({ name: null, uri: `https://art.example/${MAX_UINT}.json` });
  for (const id of [1, 2, 3]) expect(tokens.token(CARDS, id)).toMatchObject({ uri: `https://art.example/${id}.json` });
  expect(tokens.token(CARDS, 9)).toBeUndefined();
  expect(tokens.token(GEMS, 4)).toMatchObject({ name: null, decimals: '6', supply: '10000' });
  expect(tokens.token(GEMS, 9)).toBeUndefined();
  expect(tokens.node.calls.filter((call) => call.startsWith('coin '))).toEqual([
    ...['coin get-token-uri', 'coin get-name', 'coin get-symbol', 'coin get-decimals', 'coin get-total-supply'],
  ]);
  expect(new Set(tokens.node.calls).size).toBe(tokens.node.calls.length);
  expect(tokens.logged).toEqual([]);
});

test('a supply changes only with mints and burns of that asset, and a fork reverts them', async () => {
  const a = next(null, coins);
  const b = next(a, null);
  await using index = await makeSettled(plain, a, b);
  const moved = next(b, null, (tx) => [
    ft('mint', `${COIN}::coin`, tx, 0, 2_000n),
    ft('burn', `${COIN}::coin`, tx, 1, 500n),
    ft('mint', `${COIN}::other`, tx, 2, 7n),
  ]);
  index.add(moved);
  expect(index.token(COIN, 1)?.supply).toBe('11500');
  const fork = next(b, null);
  index.add(fork, next(fork, null));
  expect(index.token(COIN, 1)?.supply).toBe('10000');
  expect(index.node.calls.length).toBe(5);
});

test('an answer about an earlier block includes later mints, and answers from a lost or outdated block are ignored', async () => {
  await using index = make();
  const a = next(null, coins);
  const b = next(a, null, (tx) => [ft('mint', `${COIN}::coin`, tx, 0, 50n)]);
  const c = next(b, null, (tx) => [print(COIN, tx, 0, notice(COIN, {}, 'ft'))]);
  index.add(a, b);
  const facts = { name: 'A', symbol: 'B', decimals: String(MAX_UINT), supply: String(2n ** 127n), uri: null };
  const answer = (tip: string, metadata: object = facts) =>
    index.commands.run('tokens.answer', {
      answers: [{ work: 'facts', contract: COIN, token: '1', tip, answer: metadata as typeof facts }],
    });
  expect(await answer('0xdeadbeef')).toBe(0);
  expect(await answer(a.hash)).toBe(1);
  expect(index.token(COIN, 1)).toMatchObject({ decimals: String(MAX_UINT), supply: String(2n ** 127n + 50n) });
  // A second response for the same block changes nothing.
  expect(await answer(a.hash)).toBe(0);
  index.add(c);
  expect(await answer(b.hash)).toBe(0);
  expect(await answer(c.hash, { ...facts, name: 'C' })).toBe(1);
  // Lookups at a block that is orphaned run again, and the old values stay until then.
  const fork = next(b, null);
  index.add(fork, next(fork, null));
  expect(index.token(COIN, 1)).toMatchObject({ name: 'C', facts: 'pending' });
  expect(await answer(c.hash, { ...facts, name: 'D' })).toBe(0);
});

test('a fork that removes a deployment or a mint also removes the token and its metadata', async () => {
  const a = next(null, cards, (tx) => [nftMint(CARDS, tx, 0, 1)]);
  const b = next(a, jewels, (tx) => [print(GEMS, tx, 0, sftMint(1)), nftMint(CARDS, tx, 1, 2)]);
  const c = next(b, coins, (tx) => [print(GEMS, tx, 0, sftMint(1)), nftMint(CARDS, tx, 1, 3)]);
  await using index = await makeSettled(plain, a, b, c);
  const fork = next(b, null);
  index.add(fork, next(fork, null));
  const contracts = index.all<{ address: string }>('SELECT address FROM token_contracts ORDER BY contract_id');
  expect(contracts.map(({ address }) => address)).toEqual([CARDS, GEMS]);
  expect(index.token(COIN, 1)).toBeUndefined();
  expect(index.token(CARDS, 3)).toBeUndefined();
  // A semi-fungible token that an earlier block minted stays.
  expect(index.token(GEMS, 1)).toMatchObject({ decimals: '6' });
  expect(index.all<{ n: number }>('SELECT count(*) AS n FROM tokens')).toEqual([{ n: 3 }]);
  index.ingest.publish();
  expect(checkAndRecount(index.directory.path).flatMap(({ problems }) => problems)).toEqual([]);
});

test('notifications queue the tokens they name, frozen tokens stay unchanged, and a fork reverts a freeze', async () => {
  const a = next(null, cards, (tx) => [1, 2, 3].map((id) => nftMint(CARDS, tx, id - 1, id)));
  await using index = await makeSettled(plain, a);
  const queriedTokens = async (...blocks: MadeBlock[]) => {
    index.node.calls.length = 0;
    index.add(...blocks);
    await index.settled();
    return index.node.calls.filter((call) => call.includes('get-token-uri')).map((call) => Number(call.split(' ')[2]));
  };
  const notify = (parent: MadeBlock, more: Record<string, Uint8Array>) =>
    next(parent, null, (tx) => [print(CARDS, tx, 0, notice(CARDS, more))]);
  const mode = (word: string) => ({ 'update-mode': clarity.ascii(word) });
  const b = notify(a, { ...ids(2, 9), ...mode('frozen') });
  expect(await queriedTokens(b)).toEqual([2]);
  const c = notify(b, {});
  expect((await queriedTokens(c)).sort()).toEqual([1, 3]);
  const d = notify(c, ids(2, 3));
  expect(await queriedTokens(d)).toEqual([3]);
  // A notification about all tokens doesn't apply to a token that is minted later.
  const e = next(d, null, (tx) => [print(CARDS, tx, 0, notice(CARDS, mode('frozen')))]);
  expect((await queriedTokens(e)).sort()).toEqual([1, 3]);
  const f = next(e, null, (tx) => [nftMint(CARDS, tx, 0, 4)]);
  expect(await queriedTokens(f)).toEqual([4]);
  const g = notify(f, {});
  expect(await queriedTokens(g)).toEqual([4]);
  // The operator can still request a refresh.
  index.node.calls.length = 0;
  expect(await index.commands.run('tokens.refresh', { contract: CARDS, tokens: ['2', '4'] })).toBeNull();
  expect(await index.commands.run('tokens.refresh', { contract: CARDS, tokens: ['2', '77'] })).toEqual(['77']);
  expect(await index.commands.run('tokens.refresh', { contract: GEMS, tokens: null })).toBe('contract');
  await index.settled();
  expect(index.node.calls.length).toBe(2);
  expect(await index.commands.run('tokens.refresh', { contract: CARDS, tokens: null })).toBeNull();
  index.node.calls.length = 0;
  await index.settled();
  expect(index.node.calls.filter((call) => call.includes('get-token-uri')).length).toBe(4);
  // The fork removes both freezes, so the tokens can be read again.
  let tip = a;
  const fork: MadeBlock[] = [];
  for (let height = 0; height < 7; height++) {
    tip = next(tip, null);
    fork.push(tip);
  }
  index.add(...fork);
  await index.settled();
  expect(index.all('SELECT * FROM token_events WHERE kind > 0')).toEqual([]);
  expect((await queriedTokens(notify(tip, {}))).sort()).toEqual([1, 2, 3]);
});

test('a dynamic token is read again after its interval, once there is a new block', async () => {
  const dynamic = { 'update-mode': clarity.ascii('dynamic'), ttl: clarity.uint(0) };
  const a = next(null, cards, (tx) => [
    nftMint(CARDS, tx, 0, 1),
    print(CARDS, tx, 1, notice(CARDS, { ...ids(1), ...dynamic })),
  ]);
  await using index = await makeSettled(plain, a);
  const count = () => index.node.calls.filter((call) => call.includes('get-token-uri')).length;
  const before = count();
  const b = next(a, null);
  index.add(b);
  await until(() => count() > before, 'another read');
  // A time below one hour counts as one hour.
  const [{ wait } = { wait: 0 }] = index.all<{ wait: number }>(
    'SELECT j.not_before - t.written_at AS wait FROM token_jobs j JOIN tokens t USING (contract_id, token_id) WHERE j.work = 1',
  );
  expect(wait).toBe(3_600_000);
  index.add(next(b, null, (tx) => [print(CARDS, tx, 0, notice(CARDS, ids(1)))]));
  await until(() => index.row('SELECT 1 FROM token_jobs WHERE work = 1 AND not_before IS NULL AND state = 1') !== null);
});

const wrong: [string, Record<string, Reply>, string][] = [
  ['a number instead of text', { 'get-name': okay(clarity.uint(1)) }, 'invalid'],
  ['text instead of a number', { 'get-decimals': okay(clarity.ascii('6')) }, 'invalid'],
  ['none for decimals', { 'get-decimals': okay(none) }, 'invalid'],
  ['an error', { 'get-symbol': clarity.err(clarity.uint(1)) }, 'invalid'],
  ['a name of a megabyte', { 'get-name': okay(clarity.ascii('n'.repeat(1_000_000))) }, 'invalid'],
  ['a name that is too long', { 'get-name': okay(clarity.ascii('n'.repeat(257))) }, 'invalid'],
  ['a URI that is too long', { 'get-token-uri': uri('u'.repeat(2_049)) }, 'invalid'],
  ['no Clarity value', { 'get-name': { okay: true, result: '0xff' } }, 'invalid'],
  ['a cause', { 'get-name': { okay: false, cause: 'Unchecked(UndefinedFunction("get-name"))' } }, 'invalid'],
  ['a server error', { 'get-name': new Response('x', { status: 500 }) }, 'failed'],
  ['no JSON', { 'get-name': new Response('<html>') }, 'failed'],
  ['no result', { 'get-name': [] }, 'failed'],
  ['silence', { 'get-name': 'away' }, 'failed'],
  ['a runtime error', { 'get-name': { okay: false, cause: 'Runtime(UnwrapFailure)' } }, 'pending'],
  ['an unknown contract', { 'get-name': { okay: false, cause: 'Unchecked(NoSuchContract("x"))' } }, 'pending'],
];
test.each(wrong)(
  '%s sets the right state, is retried if a retry can help, and is never stored',
  async (_, replies, state) => {
    await using index = make(respond(replies));
    index.add(next(null, coins));
    index.start();
    // Looks in each turn: after ten tries, which this clock lets follow at once, the state is another.
    while (index.row('SELECT 1 FROM token_jobs WHERE tries > 0') === null) await systemClock.turn();
    expect(index.token(COIN, 1)).toMatchObject({ name: null, writtenAt: null, facts: state });
    // Once the contract answers, all but the invalid are read by themselves.
    index.node.reply = plain;
    if (state === 'invalid') await index.commands.run('tokens.refresh', { contract: COIN, tokens: null });
    await until(async () => index.token(COIN, 1)?.name === 'River Coin', 'the name');
  },
);

const odd = 'a\u0000b\u202e\u0007 “Ж”';
const locale = 'https://x.example/{ID}/$token_id/{locale}.json';
test.each<[what: string, replies: Record<string, Reply>, deployed: typeof coins, id: number, stored: object]>([
  [
    'no supply and no URI as null',
    { 'get-total-supply': clarity.err(clarity.uint(3)), 'get-token-uri': okay(none) },
    ...([coins, 1, { name: 'River Coin', supply: null, uri: null }] as const),
  ],
  [
    'a URI with its token number, and without a locale',
    { 'get-token-uri': uri(locale), 'get-last-token-id': okay(clarity.uint(2)) },
    ...([cards, 2, { uri: 'https://x.example/2/2/.json' }] as const),
  ],
  [
    'control characters and 128-bit numbers unchanged',
    { 'get-name': okay(clarity.utf8(odd)), 'get-decimals': okay(clarity.uint(2n ** 127n)) },
    ...([coins, 1, { name: odd, decimals: String(2n ** 127n) }] as const),
  ],
])('stores %s', async (_, replies, deployed, id, stored) => {
  await using index = await makeSettled(respond(replies), next(null, deployed));
  expect(index.token(`${alice.address}.${deployed.name}`, id)).toMatchObject(stored);
});

test('a last token id above the cap lists no tokens, and one that is not a number makes the contract invalid', async () => {
  await using index = await makeSettled(
    respond({ 'get-last-token-id': okay(clarity.uint(10_000_000_000)) }),
    next(null, cards),
  );
  expect(index.all('SELECT * FROM tokens')).toEqual([]);
  expect(index.snapshots.read((read) => read.tokenMetadata.contract(CARDS))?.lastTokenId).toBe('done');
  index.node.reply = respond({ 'get-last-token-id': okay(clarity.ascii('no')) });
  await index.commands.run('tokens.refresh', { contract: CARDS, tokens: null });
  await index.settled();
  expect(index.snapshots.read((read) => read.tokenMetadata.contract(CARDS))?.lastTokenId).toBe('invalid');
});

test("contracts that never answer, or change their answer each time, don't prevent reading of others", async () => {
  let [calls, callsAtCoin] = [0, 0];
  await using index = make((contract, name, argument) => {
    calls += 1;
    if (contract === COIN) {
      callsAtCoin = calls;
      return plain(contract, name, argument);
    }
    return calls % 2 === 0 ? 'away' : okay(clarity.ascii(`${calls}`));
  });
  let tip: MadeBlock | null = null;
  for (let count = 0; count < 60; count++) {
    tip = next(tip, { ...coins, name: `silent-${count}` });
    index.add(tip);
  }
  index.start();
  await until(() => calls > 20, 'calls');
  const before = calls;
  index.add(next(tip, coins));
  await until(async () => index.token(COIN, 1)?.name === 'River Coin', 'the name');
  expect(callsAtCoin - before).toBeLessThan(120);
});

test('a restored public backup contains the answers about tokens', async () => {
  await using index = await makeSettled(plain, next(null, coins));
  using places = dataDirectory();
  const [place, directory] = [join(places.path, 'backup'), join(places.path, 'restored')];
  await backupOf(index.directory.path, place, { signer: parseSigner(newPrivateKey())! });
  await restored(place, directory);
  expect(checkAndRecount(directory, { deep: silentMachine }).flatMap(({ problems }) => problems)).toEqual([]);
  using snapshots = snapshotsOf(directory);
  expect(snapshots.read((read) => read.tokenMetadata.token(COIN, 1n))?.name).toBe('River Coin');
});

test('a fetcher without work reads the queue only after commits, once for several, or after five seconds', async () => {
  await using index = make();
  const clock = heldClock([500, 5_000]);
  let reads = 0;
  const asker = startMetadataFetcher({
    node: index.rpc,
    commander: index.ingest.commander(clock),
    commits: index.ingest.commits,
    clock,
    snapshots: {
      ...index.snapshots,
      read(request) {
        reads += 1;
        return index.snapshots.read(request);
      },
    },
    hasLease: () => true,
    random: { number: () => 0 },
    log: () => {},
  });
  const isIdle = () => clock.waiting(5_000) === 1 && clock.waiting(500) === 0;
  await until(() => reads === 1 && isIdle(), 'the first look');
  const first = next(null, null);
  const second = next(first, null);
  const atFirst = reads;
  index.add(first);
  index.add(second);
  expect([reads, clock.waiting(500)]).toEqual([atFirst, 1]);
  clock.pass(500);
  await until(() => reads === atFirst + 1 && isIdle(), 'the look after the commits');
  clock.pass(5_000);
  await until(() => reads === atFirst + 2 && isIdle(), 'the look for jobs after five seconds');
  await asker.stop();
  expect([clock.waiting(500), clock.waiting(5_000)]).toEqual([0, 0]);
});

test('in a cluster, only the host with the lease sends requests about tokens', async () => {
  let calls = 0;
  await using index = make((...args) => {
    calls += 1;
    return plain(...args);
  });
  index.lease.isHeld = false;
  index.add(next(null, coins));
  index.start();
  for (let turn = 0; turn < 200; turn++) await systemClock.turn();
  expect(calls).toBe(0);
  index.lease.isHeld = true;
  await index.settled();
  expect(index.token(COIN, 1)?.name).toBe('River Coin');
});

test('while the node is down, no try is counted and the pause is logged once', async () => {
  await using index = make();
  index.node.isAway = true;
  index.add(next(null, coins));
  index.start();
  await until(() => index.logged.length > 0, 'a word');
  await index.ingest.commander(eagerClock()).run({ type: 'tokens.refresh', args: { contract: GEMS, tokens: null } });
  expect(index.row('SELECT 1 FROM token_jobs WHERE tries > 0')).toBeNull();
  index.node.isAway = false;
  await index.settled();
  expect(index.logged).toEqual([{ event: 'service_failing', service: 'token_metadata', reason: expect.any(String) }]);
});

test('a rebuild stores the same answers without requests to the node, for a contract with many tokens', async () => {
  await using index = make(respond({ 'get-last-token-id': okay(clarity.uint(450)) }));
  const a = next(null, cards);
  const b = next(a, null, (tx) => [print(CARDS, tx, 0, notice(CARDS))]);
  index.add(a);
  await index.settled();
  index.add(b);
  await index.settled();
  expect(index.row<{ tokens: number }>('SELECT count AS tokens FROM counters WHERE kind = 5')).toEqual({ tokens: 450 });
  expect(index.node.calls.length).toBe(1 + 2 * 450);
  const whole = wholeIndex(index.directory.path);
  const checked = checkAndRecount(index.directory.path);
  expect(checked.flatMap(({ problems }) => problems)).toEqual([]);
  index.ingest.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(indexPath(index.directory.path) + suffix, { force: true });
  {
    using reopened = openAt(index.directory.path);
    reopened.ingest.publish();
  }
  expect(wholeIndex(index.directory.path)).toEqual(whole);
});

test('fungible tokens are sorted by name or symbol, unnamed tokens last or first, in pages with a total', async () => {
  const names: Record<string, string> = { b: 'beta', a: 'Alpha', c: 'ALPHA_2', d: 'gamma' };
  await using index = make((contract, name, argument) => {
    const key = contract.split('.')[1] ?? '';
    if (key === 'silent') return { okay: false, cause: 'no' };
    if (name === 'get-name') return okay(clarity.ascii(names[key] ?? 'x'));
    if (name === 'get-symbol') return okay(clarity.ascii(key === 'c' ? 'B' : key));
    return plain(contract, name, argument);
  });
  let tip: MadeBlock | null = null;
  for (const name of ['d', 'silent', 'c', 'b', 'a']) {
    tip = next(tip, { ...coins, name });
    index.add(tip);
  }
  await index.settled();
  const noFilter = { name: null, symbol: null, address: null };
  const list = async (filter: object, by: 'name' | 'symbol', direction: 'asc' | 'desc', limit = 10, offset = 0) => {
    const page = index.snapshots.read((read) =>
      read.tokenMetadata.fts({ ...noFilter, ...filter }, { by, direction }, limit, offset),
    );
    return [page.total, ...page.items.map(({ contractId }) => contractId.split('.')[1])];
  };
  expect(await list({}, 'name', 'asc')).toEqual([5, 'a', 'c', 'b', 'd', 'silent']);
  expect(await list({}, 'name', 'desc')).toEqual([5, 'silent', 'd', 'b', 'c', 'a']);
  expect(await list({}, 'symbol', 'asc')).toEqual([5, 'a', 'b', 'c', 'd', 'silent']);
  expect(await list({}, 'symbol', 'desc')).toEqual([5, 'silent', 'd', 'b', 'c', 'a']);
  expect(await list({ name: 'alpha' }, 'name', 'asc')).toEqual([2, 'a', 'c']);
  expect(await list({ name: 'A_' }, 'name', 'asc')).toEqual([1, 'c']);
  expect(await list({ name: '%' }, 'name', 'asc')).toEqual([0]);
  expect(await list({ symbol: 'b' }, 'name', 'asc')).toEqual([2, 'c', 'b']);
  expect(await list({ address: `${alice.address}.s` }, 'name', 'asc')).toEqual([1, 'silent']);
  expect(await list({}, 'name', 'asc', 2, 1)).toEqual([5, 'c', 'b']);
  expect(await list({ name: 'a' }, 'name', 'asc', 2, 9)).toEqual([4]);
});
