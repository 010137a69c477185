/** A project's contracts run in a real engine behind the API, through published clients. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Pox4SignatureTopic, StackingClient } from '@stacks/stacking';
import {
  broadcastTransaction,
  Cl,
  cvToValue,
  fetchCallReadOnlyFunction,
  makeContractCall,
  makeContractDeploy,
  makeSTXTokenTransfer,
  Pc,
  PostConditionMode,
  privateKeyToPublic,
} from '@stacks/transactions';
import { formAt } from '../../src/devnet/clarity/failure.ts';
import { clarityProject, DEPLOYER, hasClarity, stopEngines, WALLET } from '../support/clarity.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { until } from '../support/time/until.ts';
import { type Demo, demo, type Steered } from './demo.ts';

const TOKEN = `
(define-fungible-token gold)
(define-fungible-token rare u100000000000000000000)
(define-read-only (get-rare (who principal)) (ft-get-balance rare who))
(define-non-fungible-token art uint)
(define-constant ERR_NONE (err u404))
(define-read-only (get-balance (who principal)) (ok (ft-get-balance gold who)))
(define-read-only (get-stx (who principal)) (stx-get-balance who))
(define-public (mint (amount uint)) (ft-mint? gold amount tx-sender))
(define-public (send (amount uint) (to principal)) (ft-transfer? gold amount tx-sender to))
(define-public (make (id uint)) (nft-mint? art id tx-sender))
(define-private (hide) u1)
(define-public (fail) ERR_NONE)
(define-public (crash) (ok (/ u1 u0)))`;
const LIMITS = `
(define-map written uint bool)
(define-constant FIFTY (list ${'u1 '.repeat(50)}))
(define-private (write-one (ignored uint) (at uint)) (begin (map-set written at true) (+ at u1)))
(define-private (write-fifty (ignored uint) (at uint)) (fold write-one FIFTY at))
(define-private (write-many (ignored uint) (at uint)) (fold write-fifty FIFTY at))
(define-public (overspend) (ok (fold write-many FIFTY u0)))
(define-constant KILO 0x${'ab'.repeat(1024)})
(define-constant KILOS (list ${'KILO '.repeat(1000)}))
(define-public (shout) (begin (print KILOS) (ok true)))`;
const RULES = `
(define-constant OWNER tx-sender)
(define-constant LIMIT (* u2 (next u20)))
(define-constant PLAIN u7)
(define-constant BORN stacks-block-height)
(define-constant WIDE u"\\u{c3a9}")
(define-read-only (next (n uint)) (+ n u1)) ;; without a line's end`;
const SHOP = `
;; .nothing is named here, and "there is .nothing" in a text.
(define-data-var sold uint u0)
(define-map buyers principal { units: uint, at: uint })
(define-public (buy (units uint))
  (begin
    (try! (stx-transfer? units tx-sender (as-contract tx-sender)))
    (try! (contract-call? .token mint units))
    (var-set sold (+ (var-get sold) units))
    (map-set buyers tx-sender { units: units, at: stacks-block-height })
    (print { event: "bought", height: stacks-block-height, bitcoin: burn-block-height, left: (stx-get-balance tx-sender) })
    (ok (var-get sold))))
(define-read-only (heights) (list stacks-block-height burn-block-height))
(define-read-only (tenure) (get-tenure-info? time (- stacks-block-height u1)))`;

const VAULT = `(define-constant ERR_SMALL (err u7))
(define-data-var total uint u0)
;; A comment (with a bracket, and "a quote.
(define-private (check (amount uint))
  (begin
    (asserts! (> amount u5)
      ERR_SMALL)
    (ok true)))
(define-public (deposit (amount uint))
  (begin
    (try! (check amount))
    (var-set total (+ (var-get total) amount))
    (unwrap! (if (> amount u10) (some amount) none) (err u9))
    (try! (stx-transfer? (* amount u1000000000000000) tx-sender (as-contract tx-sender)))
    (ok amount)))
(define-public (plain) ERR_SMALL)
(define-public (tail (amount uint)) (if (> amount u1) (err u3) (check amount)))
(define-public (crash (by uint)) (ok (+ u1 (/ u8 by))))
(define-public (panic) (ok (unwrap-panic (if (> u1 u2) (some u1) none))))
(define-public (mint-none) (stx-transfer? u0 tx-sender (as-contract tx-sender)))`;
const CALLER = `(define-public (outer (amount uint))
  (let ((got (try! (contract-call? .vault deposit amount))))
    (ok (+ got u1))))`;

interface Tx {
  tx_id: string;
  tx_status: string;
  block_height: number;
  block_time: number;
  fee_rate: string;
  tx_result: { hex: string; repr: string };
  vm_error: string | null;
  events: { event_type: string; contract_log?: { value: { repr: string } } }[];
}

interface Answer extends Steered {
  failure: {
    place: { contract: string; line: number; column: number; expression: string } | null;
    trace: string;
    costs: { function: string; runtime: number }[];
  } | null;
}

test('the expression at a position has the positions of its arguments', () => {
  const source = '(a ;; (\n  "x)" {k: (b)} c)\nd';
  expect(formAt(source, 1, 1)).toEqual({
    text: '(a ;; (\n  "x)" {k: (b)} c)',
    parts: [
      { line: 2, column: 3 },
      { line: 2, column: 8 },
      { line: 2, column: 17 },
    ],
  });
  expect(formAt(source, 3, 1)).toEqual({ text: 'd', parts: [] });
  expect(formAt(source, 9, 1)).toBe(null);
});

afterAll(stopEngines);

describeWith('Clarity', hasClarity, () => {
  let project: DataDirectory;
  let server: Demo;
  beforeAll(async () => {
    project = await clarityProject({
      shop: SHOP,
      token: TOKEN,
      rules: RULES,
      limits: LIMITS,
      vault: VAULT,
      caller: CALLER,
    });
    server = await demo({ clarity: project.path });
  });
  test('a chain with real contracts has no simulated users', async () => {
    const { message } = await server.refuses('mine', { traffic: 3 });
    expect(message).toBe('body/traffic must be 0, because a chain with real contracts has no simulated users');
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    project?.[Symbol.dispose]();
  });

  const common = () => ({ network: 'testnet' as const, client: { baseUrl: server.api } });
  const minedTx = async (id: string): Promise<Tx> => {
    const read = () => server.json<Tx>(`/extended/v1/tx/0x${id}`);
    await until(async () => !['pending', undefined].includes((await read()).tx_status), `transaction ${id}`);
    return read();
  };
  type Call = Partial<Parameters<typeof makeContractCall>[0]> & { functionName: string };
  async function call({ functionName, functionArgs = [], contractName = 'token', ...options }: Call): Promise<Tx> {
    const transaction = await makeContractCall({
      contractAddress: DEPLOYER.address,
      contractName,
      functionName,
      functionArgs,
      senderKey: WALLET.key,
      fee: 2_000,
      postConditionMode: PostConditionMode.Allow,
      ...common(),
      ...(options as object),
    });
    const result = await broadcastTransaction({ transaction, ...common() });
    expect(result).toEqual({ txid: transaction.txid() });
    return minedTx(transaction.txid());
  }
  const readOnly = async (
    contractName: string,
    functionName: string,
    functionArgs = [] as ReturnType<typeof Cl.uint>[],
  ) =>
    cvToValue(
      await fetchCallReadOnlyFunction({
        contractAddress: DEPLOYER.address,
        contractName,
        functionName,
        functionArgs,
        senderAddress: WALLET.address,
        ...common(),
      }),
    );
  const buy = (units: number, options: Partial<Call> = {}) =>
    call({ contractName: 'shop', functionName: 'buy', functionArgs: [Cl.uint(units)], ...options });
  const goldOf = async (address: string) =>
    BigInt((await readOnly('token', 'get-balance', [Cl.principal(address) as never])).value);
  const sold = async () =>
    (await server.json<{ data: string }>(`/v2/data_var/${DEPLOYER.address}/shop/sold?proof=0`)).data;
  const heights = async () =>
    ((await readOnly('shop', 'heights')) as { value: string }[]).map(({ value }) => Number(value));
  const stxOf = async (address: string): Promise<bigint> =>
    BigInt((await server.json<{ balance: string }>(`/v2/accounts/${address}?proof=0`)).balance);

  test("the project's contracts are deployed in the order of their references", async () => {
    expect((await server.state()).tip.height).toBe(7);
    const { results } = await server.json<{ results: { contract_id: string }[] }>('/stackside/v1/contracts');
    expect(results.map(({ contract_id }) => contract_id).slice(0, 6)).toEqual(
      ['caller', 'vault', 'limits', 'rules', 'shop', 'token'].map((name) => `${DEPLOYER.address}.${name}`),
    );
  });

  test('sets a balance of tokens by minting, and rejects a lower one or an unknown token', async () => {
    const asset = `${DEPLOYER.address}.token::gold`;
    const address = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
    const set = (amount: string, token = asset) => server.steer('balance', { address, amount, asset: token });
    const { tx_id: id } = await set('70');
    expect(await goldOf(address)).toBe(70n);
    const { events } = await minedTx(id.slice(2));
    expect(events.map(({ event_type }) => event_type)).toEqual(['stx_asset', 'fungible_token_asset']);
    const { results } = await server.json<{ results: { principal: string; balance: string }[] }>(
      `/extended/v3/tokens/ft/${asset}/holders`,
    );
    expect(results.find(({ principal }) => principal === address)?.balance).toBe('70');
    expect((await set('70')).tx_id).toBe(null as never);
    const large = String(10n ** 22n);
    await set(large);
    expect(await goldOf(address)).toBe(BigInt(large));
    const rare = `${DEPLOYER.address}.token::rare`;
    const refuses = async (amount: string, token: string, message: string) =>
      expect((await server.refuses('balance', { address, amount, asset: token })).message).toContain(message);
    await refuses('200000000000000000000', rare, 'is refused by the interpreter');
    await set('50000000000000000000', rare);
    // Nothing is left of the refused mint.
    expect(await readOnly('token', 'get-rare', [Cl.principal(address) as never])).toBe(5n * 10n ** 19n);
    await refuses('9'.repeat(39), asset, ': one request mints at most ');
    await refuses('69', asset, `must be >= ${large}, because only the contract can take tokens away`);
    await refuses(`${large}0`, `${asset}2`, 'must be a fungible token of a contract on this chain');
  });

  test('an address can be given by the name of an account, and the limit of an amount has its reason', async () => {
    for (const [path, field] of [
      ['fund', 'address'],
      ['transfer', 'recipient'],
      ['balance', 'address'],
    ] as const) {
      const before = await stxOf(WALLET.address);
      const amount = String(path === 'balance' ? before + 5n : 5n);
      await server.steer(path, { amount, [field]: 'wallet_1' });
      expect(await stxOf(WALLET.address)).toBe(before + 5n);
      expect((await server.refuses(path, { amount: '5', [field]: 'wallet_2' })).message).toBe(
        `body/${field} must be a principal of testnet, or the name of an account (deployer, wallet_1)`,
      );
    }
    const refused = await server.refuses('fund', { address: 'wallet_1', amount: '9'.repeat(19) });
    expect(refused.message).toMatch(
      /must be <= \d+, because the faucet has no more micro-STX; settings\/Devnet\.toml can give an account more$/,
    );
  });

  test("the project's accounts have their names and balances", async () => {
    const { accounts } = await server.json<{ accounts: { name: string; address: string; balance: string }[] }>(
      '/stackside/v1/devnet',
    );
    expect(accounts).toEqual([
      { name: 'deployer', address: DEPLOYER.address, balance: String(await stxOf(DEPLOYER.address)) },
      { name: 'wallet_1', address: WALLET.address, balance: String(await stxOf(WALLET.address)) },
    ]);
  });

  test("a call is executed, with result, events and fee, and the node's routes read its changes", async () => {
    const before = await stxOf(WALLET.address);
    const { tx_status, tx_result, events, block_height } = await buy(7);
    expect([tx_status, tx_result.repr]).toEqual(['success', '(ok u7)']);
    expect(events.map(({ event_type }) => event_type)).toEqual([
      ...['stx_asset', 'fungible_token_asset', 'smart_contract_log'],
    ]);
    expect(await stxOf(WALLET.address)).toBe(before - 2_007n);
    // The contract sees the account's STX balance after the fee, and the heights of the chain.
    const { chain_tip: tip } = await server.json<{ chain_tip: { burn_block_height: number } }>('/extended');
    expect(events[2]?.contract_log?.value.repr).toBe(
      `(tuple (bitcoin u${tip.burn_block_height}) (event "bought") (height u${block_height}) (left u${before - 2_007n}))`,
    );
    expect(await goldOf(WALLET.address)).toBe(7n);
    const variable = await server.json<{ data: string }>(`/v2/data_var/${DEPLOYER.address}/shop/sold?proof=0`);
    expect(variable).toEqual({ data: Cl.serialize(Cl.uint(7)).replace(/^(0x)?/, '0x') });
    const entry = await server.post<{ data: string }>(
      `/v2/map_entry/${DEPLOYER.address}/shop/buyers?proof=0`,
      Cl.serialize(Cl.principal(WALLET.address)),
    );
    expect(entry.body.data.startsWith('0x0a0c00000002')).toBe(true);
  });

  test("failures have the node's error messages", async () => {
    const outcome = async (functionName: string, functionArgs: ReturnType<typeof Cl.uint>[] = []) => {
      const { tx_status, tx_result, vm_error } = await call({ functionName, functionArgs });
      return [tx_status, tx_result.repr, vm_error];
    };
    expect(await outcome('fail')).toEqual(['abort_by_response', '(err u404)', null]);
    expect(await outcome('crash')).toEqual(['abort_by_response', '(err none)', 'DivisionByZero']);
    expect(await outcome('make', [Cl.uint(1)])).toEqual(['success', '(ok true)', null]);
    expect(await outcome('make', [Cl.uint(1)])).toEqual(['abort_by_response', '(err u1)', null]);
  });

  test.each([
    ['call', 'get-balance', 'NoSuchPublicFunction', ': get-balance is read-only, so use read'],
    ['call', 'hide', 'NoSuchPublicFunction', ': hide is private'],
    ['call', 'crush', 'NoSuchPublicFunction', ': did you mean crash?'],
    ['call', 'q', 'NoSuchPublicFunction', ': the contract has crash, fail, make, mint, send'],
    ['read', 'mint', 'NotReadOnly', ': mint is public, so use call'],
    ['read', 'get-balence', 'Unchecked(UndefinedFunction("get-balence"))', ': did you mean get-balance?'],
    ['read', 'get-balance', 'Unchecked(IncorrectArgumentCount(1, 0))', ''],
  ])('a %s of the function %s fails with %s and a hint', async (path, name, reason, hint) => {
    const refusal = await server.refuses(path, { contract: 'token', function: name });
    expect(refusal.reason).toBe(reason);
    expect(refusal.message).toEndWith(`${reason}${hint}`);
    expect(refusal.field).toBe(path === 'call' ? 'function' : (undefined as never));
  });

  test('only a call above the block limit fails, and a megabyte is printed', async () => {
    const overspent = await call({ contractName: 'limits', functionName: 'overspend' });
    expect([overspent.tx_status, overspent.vm_error]).toEqual(['abort_by_response', 'CostBalanceExceeded']);
    const shouted = await call({ contractName: 'limits', functionName: 'shout' });
    expect([shouted.tx_status, shouted.events.length]).toEqual(['success', 1]);
    expect(shouted.events[0]!.contract_log!.value.repr.length).toBeGreaterThan(2_000_000);
  });

  test('a failed post-condition undoes everything but the fee', async () => {
    const [before, gold] = [await stxOf(WALLET.address), await goldOf(WALLET.address)];
    const denied = await buy(5, {
      postConditionMode: PostConditionMode.Deny,
      postConditions: [Pc.principal(WALLET.address).willSendEq(4).ustx()],
    });
    expect([denied.tx_status, denied.events]).toEqual(['abort_by_post_condition', []]);
    expect(await stxOf(WALLET.address)).toBe(before - 2_000n);
    expect(await goldOf(WALLET.address)).toBe(gold);
    const unnamed = await buy(5, { postConditionMode: PostConditionMode.Deny });
    expect([unnamed.tx_status, unnamed.vm_error]).toEqual([
      'abort_by_post_condition',
      `Post-condition check failure: Fungible asset S0000000000000000000002AA028H.STX::STX was moved by ${WALLET.address} but not checked`,
    ]);
    const failureOf = async ({ tx_id }: Tx) =>
      (await server.json<Answer>(`/stackside/v1/devnet/transactions/${tx_id}`)).failure;
    const moved = ['Sent by the transaction:', `  ${WALLET.address} sent 5 micro-STX`].join('\n');
    const failure = await failureOf(denied);
    expect(failure?.place).toBe(null);
    expect(failure?.trace).toContain('.token mint units )  shop:8:11');
    expect(failure?.trace).toEndWith(
      `\n\nPost-condition: ${WALLET.address} must send exactly 4 micro-STX, but sent 5.\n${moved}`,
    );
    expect((await failureOf(unnamed))?.trace).toEndWith(
      `\n\nPost-condition mode deny: ${WALLET.address} sent 5 micro-STX without a condition.\n${moved}`,
    );
    expect((await buy(1)).tx_result.repr).toBe('(ok u8)');
    // The engine traces from a state without the aborted calls.
    const failed = await call({ functionName: 'make', functionArgs: [Cl.uint(1)] });
    expect((await failureOf(failed))?.place).toMatchObject({ expression: '(nft-mint? art id tx-sender)' });
  });

  test('a contract is deployed through a client, and one with a mistake is not', async () => {
    const deploy = async (contractName: string, codeBody: string) => {
      const transaction = await makeContractDeploy({
        contractName,
        codeBody,
        senderKey: WALLET.key,
        fee: 20_000,
        ...common(),
      });
      expect(await broadcastTransaction({ transaction, ...common() })).toEqual({ txid: transaction.txid() });
      return minedTx(transaction.txid());
    };
    const good = await deploy('mine', '(define-data-var n int -1) (define-read-only (n?) (var-get n))');
    expect([good.tx_status, good.tx_result.repr]).toEqual(['success', '(ok true)']);
    const described = await server.json<{ functions: { name: string; outputs: { type: string } }[] }>(
      `/v2/contracts/interface/${WALLET.address}/mine`,
    );
    expect(described.functions).toMatchObject([{ name: 'n?', outputs: { type: 'int128' } }]);
    const wrong = await deploy('wrong', '(define-public (x) (ok (+ 1 u1)))');
    expect([wrong.tx_status, wrong.tx_result.repr, wrong.vm_error]).toEqual([
      ...['abort_by_response', '(err none)', "expecting expression of type 'int', found 'uint'"],
    ]);
    const response = await server.get(`/v2/contracts/interface/${WALLET.address}/wrong`);
    expect(response.status).toBe(404);
  });

  test('a contract without functions has an interface without definitions, and its data can be read', async () => {
    const source = '(define-fungible-token ore) (define-data-var n uint u7) (define-constant sum (+ u1 u2))';
    const deployment = { sender: 'wallet_1', name: 'mute', source };
    expect((await server.steer('deploy', deployment)).status).toBe('success');
    const id = `${WALLET.address}/mute`;
    expect(await server.json<object>(`/v2/contracts/interface/${id}`)).toMatchObject({
      functions: [],
      clarity_version: 'Clarity5',
      epoch: 'Epoch34',
    });
    expect(await server.json<object>(`/v2/data_var/${id}/n?proof=0`)).toEqual({
      data: Cl.serialize(Cl.uint(7)).replace(/^(0x)?/, '0x'),
    });
    expect((await server.get(`/v2/data_var/${id}/m?proof=0`)).status).toBe(404);
    expect(await server.json<object>(`/v2/constant_val/${id}/sum`)).toEqual({ data: `0x${Cl.serialize(Cl.uint(3))}` });
    expect((await server.refuses('deploy', deployment)).reason).toBe('ContractAlreadyExists');
  });

  test('a failed deployment names the line of its mistake', async () => {
    const deploy = async (source: string) => {
      const deployment = { sender: 'wallet_1', name: `line-${source.length}`, source };
      const { error, error_line } = await server.steer<{ error: string | null; error_line: number | null }>(
        'deploy',
        deployment,
      );
      return [error, error_line];
    };
    const good = ';; a comment (with a bracket\n(define-data-var n uint u0)\n\n(define-read-only (n?) (var-get n))\n';
    expect(await deploy(good)).toEqual([null, null]);
    expect(await deploy(`${good}\n(define-public (add)\n  (ok (+ 1 (n?))))\n(define-constant x u1)`)).toEqual([
      ...["expecting expression of type 'int', found 'uint'", 6],
    ]);
    expect(await deploy(`${good}(define-constant half (/ u1 u0))`)).toEqual(['DivisionByZero', 5]);
    expect(await deploy(`${good}(contract-call? '${DEPLOYER.address}.token mint "text")`)).toEqual([
      ...["expecting expression of type 'uint', found '(string-ascii 4)'", 5],
    ]);
    expect(await deploy(`${good}(define-public (add`)).toEqual([expect.any(String), 5]);
    expect(await deploy(`${good}(define-public (add) (ok u1)`)).toEqual(["expected closing ')'", 5]);
    expect(await deploy(`${good}\n(define-public (add) (ok u1)))`)).toEqual(["unexpected ')'", 6]);
    // A dry run leaves nothing on the chain.
    expect((await buy(1)).tx_status).toBe('success');
  });

  test("a fork reverts the contracts' changes, and its transactions are mined again", async () => {
    const before = await sold();
    await buy(9);
    const after = await sold();
    const { orphaned, blocks } = await server.steer('fork', { depth: 1 });
    expect([orphaned.length, blocks.length]).toEqual([1, 2]);
    expect(await sold()).toBe(before);
    await server.steer('mine', {});
    expect(await sold()).toBe(after);
  });

  test("contracts read the chain's heights and times, across Bitcoin blocks and steps in time", async () => {
    for (const [command, body] of [
      ['mine', { count: 2 }],
      ['bitcoin', { count: 2 }],
      ['time', { seconds: 1_800 }],
    ] as const) {
      await server.steer(command, body);
      const { tip, bitcoin } = await server.state();
      expect([command, await heights()]).toEqual([command, [tip.height, bitcoin.height]]);
    }
  });

  test('time is moved by Bitcoin blocks as far as they go, then by blocks of ten seconds', async () => {
    const { state } = server;
    for (const seconds of [1, 609, 610, 1_805]) {
      const { tip, bitcoin } = await state();
      const until = tip.time + seconds;
      await server.steer('time', seconds === 610 ? { until_time: until } : { seconds });
      const after = await state();
      expect([seconds, after.tip.time - until < 10 && after.tip.time >= until]).toEqual([seconds, true]);
      // Never more blocks than the time needs: each Bitcoin block is ten minutes after its parent.
      expect(after.bitcoin.height - bitcoin.height).toBe(Math.floor((until - 10 - bitcoin.time) / 600));
    }
    // The contract sees the time of the Bitcoin block that the API returns.
    await server.steer('mine', {});
    const { bitcoin } = await state();
    expect(Number(((await readOnly('shop', 'tenure')) as { value: string }).value)).toBe(bitcoin.time);
    const { burn_block_time: time } = await server.json<{ burn_block_time: number }>('/extended/v2/blocks/latest');
    expect(time).toBe(bitcoin.time);
    const past = await server.refuses('time', { until_time: bitcoin.time });
    expect(past.message).toContain('body/until_time must be > ');
  });

  test('constants have the values that the deployment gave them', async () => {
    const path = `/v2/constant_val/${DEPLOYER.address}/rules`;
    const hex = (value: Parameters<typeof Cl.serialize>[0]) => ({ data: `0x${Cl.serialize(value)}` });
    for (const [name, value] of [
      ['OWNER', Cl.principal(DEPLOYER.address)],
      ['PLAIN', Cl.uint(7)],
      // The third block deployed the contract; a block's own height is visible in it.
      ['BORN', Cl.uint(4)],
      ['LIMIT', Cl.uint(42)],
      ['WIDE', Cl.stringUtf8('\uc3a9')],
    ] as const)
      expect([name, await server.json(`${path}/${name}`)]).toEqual([name, hex(value)]);
    for (const name of ['NONE', 'next', encodeURIComponent('(next u1)')])
      expect([name, (await server.get(`${path}/${name}`)).status]).toEqual([name, 404]);
    const boot = await server.json<object>('/v2/constant_val/ST000000000000000000002AMW42H/pox-4/MAX_ADDRESS_VERSION');
    expect(boot).toEqual(hex(Cl.uint(6)));
  });

  test('the contract counts stacking, and the route, the state and the client agree', async () => {
    const client = new StackingClient({ address: WALLET.address, network: 'testnet', client: { baseUrl: server.api } });
    const info = await client.getPoxInfo();
    const { cycle, bitcoin } = await server.state();
    const onChain = cvToValue(
      await fetchCallReadOnlyFunction({
        contractAddress: 'ST000000000000000000002AMW42H',
        contractName: 'pox-4',
        functionName: 'get-pox-info',
        functionArgs: [],
        senderAddress: WALLET.address,
        ...common(),
      }),
    ).value as Record<string, { value: string }>;
    expect(info).toMatchObject({
      contract_id: 'ST000000000000000000002AMW42H.pox-4',
      current_epoch: 'Epoch34',
      reward_cycle_length: Number(onChain['reward-cycle-length']!.value),
      prepare_cycle_length: Number(onChain['prepare-cycle-length']!.value),
      reward_cycle_id: Number(onChain['reward-cycle-id']!.value),
      min_amount_ustx: Number(onChain['min-amount-ustx']!.value),
      total_liquid_supply_ustx: Number(onChain['total-liquid-supply-ustx']!.value),
      current_burnchain_block_height: bitcoin.height,
    });
    expect(cycle).toEqual({ number: 0, length: 1_050, blocks_left: 1_050 - bitcoin.height });
    const { functions } = await server.json<{ functions: { name: string; outputs: object }[] }>(
      '/v2/contracts/interface/ST000000000000000000002AMW42H/pox-4',
    );
    expect(functions.find(({ name }) => name === 'get-total-ustx-stacked')?.outputs).toEqual({ type: 'uint128' });
    expect(functions.filter(({ name }) => name.startsWith('stackside'))).toEqual([]);
    // The contract and the account agree about locked STX.
    const poxAddress = 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss';
    const facts = { poxAddress, rewardCycle: cycle.number, period: 2, topic: Pox4SignatureTopic.StackStx };
    const limits = { maxAmount: 10n ** 18n, authId: 1 };
    const amount = BigInt(info.min_amount_ustx);
    const { txid } = await client.stack({
      amountMicroStx: amount,
      poxAddress,
      cycles: 2,
      burnBlockHeight: bitcoin.height,
      privateKey: WALLET.key,
      signerKey: privateKeyToPublic(WALLET.key) as string,
      ...limits,
      fee: 5_000,
      signerSignature: client.signPoxSignature({ ...facts, ...limits, signerPrivateKey: WALLET.key }),
    });
    expect((await minedTx(txid)).tx_result.repr).toStartWith('(ok ');
    const account = await server.json<{ locked: string; unlock_height: number }>(
      `/v2/accounts/${WALLET.address}?proof=0`,
    );
    expect([BigInt(account.locked), account.unlock_height]).toEqual([amount, 3 * 1_050]);
    expect((await client.getPoxInfo()).next_cycle.stacked_ustx).toBe(Number(amount));
  });

  test('Bitcoin blocks that a fork took back come again one by one, as contracts count them', async () => {
    await server.steer('bitcoin', { count: 3 });
    await server.steer('fork', { depth: 3 });
    for (let tenure = 0; tenure < 4; tenure += 1) {
      const { bitcoin: before } = await server.state();
      const next = before.height + 1;
      const steered = await server.steer('bitcoin', { until_height: next });
      expect(steered.bitcoin_blocks.map(({ height }) => height)).toEqual([next]);
      const { tip, bitcoin } = await server.state();
      expect(await heights()).toEqual([tip.height, bitcoin.height]);
    }
  });

  test("a snapshot reverts the contracts' changes, and stays for the next test", async () => {
    await server.steer('snapshot', { name: 'shop' });
    const before = await sold();
    for (const units of [3, 4]) {
      const { tx_status } = await buy(units);
      expect([tx_status, await sold()]).not.toEqual(['success', before]);
      await server.steer('revert', { snapshot: 'shop' });
      expect(await sold()).toBe(before);
    }
  });

  test('sponsored, chained and replaced transactions are mined as on a node', async () => {
    const transfer = (nonce: number | bigint, fee: number, amount = 5) =>
      makeSTXTokenTransfer({ recipient: DEPLOYER.address, amount, fee, nonce, senderKey: WALLET.key, ...common() });
    const { nonce } = await server.json<{ nonce: number }>(`/v2/accounts/${WALLET.address}?proof=0`);
    const later = await transfer(nonce + 1, 400);
    const cheap = await transfer(nonce + 1, 300);
    expect(await broadcastTransaction({ transaction: later, ...common() })).toEqual({ txid: later.txid() });
    expect(await broadcastTransaction({ transaction: cheap, ...common() })).toMatchObject({
      reason: 'ConflictingNonceInMempool',
    });
    const first = await transfer(nonce, 400);
    expect(await broadcastTransaction({ transaction: first, ...common() })).toEqual({ txid: first.txid() });
    const [early, late] = [await minedTx(first.txid()), await minedTx(later.txid())];
    expect([early, late].map(({ tx_status }) => tx_status)).toEqual(['success', 'success']);
    expect(late.block_height - early.block_height).toBe(1);
  });

  test("contracts see the STX of a client's transfer, whose mode denies other transfers", async () => {
    const seen = async () =>
      BigInt((await readOnly('token', 'get-stx', [Cl.principal(DEPLOYER.address) as never])) as string);
    const before = await seen();
    const transfer = { recipient: DEPLOYER.address, amount: 7, fee: 400, senderKey: WALLET.key };
    const transaction = await makeSTXTokenTransfer({ ...transfer, ...common() });
    await broadcastTransaction({ transaction, ...common() });
    expect((await minedTx(transaction.txid())).tx_status).toBe('success');
    expect(await seen()).toBe(before + 7n);
  });

  test('contracts that name each other are rejected', async () => {
    using wrong = await clarityProject({ a: '(contract-call? .b x)', b: '(contract-call? .a x)' });
    await expect(demo({ clarity: wrong.path })).rejects.toThrow('the contracts a, b refer to each other');
  });

  test('after a fork reverts the deployments of a project, the next blocks contain them again', async () => {
    using other = await clarityProject({
      counter: '(define-public (one) (ok u1))',
      user: '(define-public (two) (contract-call? .counter one))',
    });
    await using fresh = await demo({ clarity: other.path });
    const statuses = async () => {
      const paths = ['counter', 'user'].map((name) => `/v2/contracts/interface/${DEPLOYER.address}/${name}`);
      return Promise.all(paths.map(async (path) => (await fresh.get(path)).status));
    };
    expect(await statuses()).toEqual([200, 200]);
    const { pending } = await fresh.steer('fork', { depth: 2 });
    expect([pending.length, await statuses()]).toEqual([2, [404, 404]]);
    await fresh.steer('mine');
    expect(await statuses()).toEqual([200, 200]);
  });

  describe('the explanation of a failed call', () => {
    const callPlainly = (contract: string, name: string, ...args: string[]) =>
      server.steer<Answer>('call', { contract, function: name, arguments: args, sender: 'wallet_1' });
    const vault = `${DEPLOYER.address}.vault`;

    test.each([
      ['caller', 'outer', ['u1'], '(err u7)', [6, 5, '(asserts! (> amount u5)\n      ERR_SMALL)']],
      ['vault', 'deposit', ['u7'], '(err u9)', [13, 5, '(unwrap! (if (> amount u10) (some amount) none) (err u9))']],
      [
        ...(['caller', 'outer', ['u11'], '(err u1)'] as const),
        [14, 5, '(try! (stx-transfer? (* amount u1000000000000000) tx-sender (as-contract tx-sender)))'],
      ],
      ['vault', 'plain', [], '(err u7)', [16, 24, 'ERR_SMALL']],
      ['vault', 'tail', ['u2'], '(err u3)', [17, 55, '(err u3)']],
      ['vault', 'tail', ['u1'], '(err u7)', [6, 5, '(asserts! (> amount u5)\n      ERR_SMALL)']],
      ['vault', 'crash', ['u0'], '(err none)', [18, 44, '(/ u8 by)']],
      ['vault', 'panic', [], '(err none)', [19, 28, '(unwrap-panic (if (> u1 u2) (some u1) none))']],
      ['vault', 'mint-none', [], '(err u3)', [20, 28, '(stx-transfer? u0 tx-sender (as-contract tx-sender))']],
    ] as [string, string, string[], string, [number, number, string]][])(
      '%s.%s(%j) fails with %s at %j',
      async (contract, name, args, repr, [line, column, expression]) => {
        const answer = await callPlainly(contract, name, ...args);
        expect([answer.status, answer.repr]).toEqual(['abort_by_response', repr]);
        expect(answer.failure?.place).toEqual({ contract: vault, line, column, expression });
      },
    );

    test('a failed call has the calls with arguments and results, and the costs of its functions', async () => {
      const { failure } = await callPlainly('caller', 'outer', 'u1');
      expect(failure?.trace).toContain('( check amount )  vault:11:11');
      expect(failure?.trace).toContain('args: u1');
      const costs = failure?.costs ?? [];
      expect(costs.map((cost) => cost.function).sort()).toEqual([
        `${DEPLOYER.address}.caller.outer`,
        `${vault}.check`,
        `${vault}.deposit`,
      ]);
      for (const { runtime } of costs) expect(runtime).toBeGreaterThan(0);
    });

    test("a transaction's own answer has the failure, and an unknown transaction is a 404", async () => {
      const sent = await callPlainly('caller', 'outer', 'u1');
      // A later block doesn't change the answer.
      await callPlainly('vault', 'crash', 'u2');
      expect(await server.json<Answer>(`/stackside/v1/devnet/transactions/${sent.tx_id}`)).toEqual(sent);
      const unknown = await server.get(`/stackside/v1/devnet/transactions/0x${'00'.repeat(32)}`);
      expect(unknown.status).toBe(404);
    });

    test('a call that succeeds has no failure, and the chain continues after a failed one', async () => {
      expect(await callPlainly('vault', 'crash', 'u0')).toMatchObject({ status: 'abort_by_response' });
      expect(await callPlainly('vault', 'crash', 'u2')).toMatchObject({
        status: 'success',
        repr: '(ok u5)',
        failure: null,
      });
      // The fork builds the engine's chains again.
      await server.steer('fork', { depth: 1 });
      expect((await callPlainly('vault', 'plain')).failure?.place).toMatchObject({ line: 16 });
    });
  });
});
