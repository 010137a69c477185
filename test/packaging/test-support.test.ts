/** `stackside/test` from the npm package: the example page's code in Bun and in Node, and failures. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import {
  assertErr,
  assertOk,
  type ClarityMatchers,
  cl,
  type Devnet,
  DevnetError,
  matchers,
  type Sent,
  startDevnet,
} from '../../src/testing/index.ts';
import { clarityProject, DEPLOYER, hasClarity, WALLET } from '../support/clarity.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { failureOf } from '../support/failure.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { installPackage, script } from './installed-package.ts';

/** Longer than any wait on a busy machine. */
const LONG_MS = 300_000;

let directory: DataDirectory;
let executable: string;

beforeAll(async () => {
  directory = dataDirectory();
  executable = await installPackage(directory.path);
});
afterAll(() => directory[Symbol.dispose]());

const page = readFileSync(join(import.meta.dir, '../../docs/testing-hooks.md'), 'utf8');
const codeOfPage = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);

const runtimes = [process.execPath, Bun.which('node')].filter((path) => path !== null);
test.each(runtimes)('the code of the page runs with %s', async (runtime) => {
  expect(codeOfPage).toHaveLength(1);
  const file = join(directory.path, 'hook.test.mjs');
  writeFileSync(file, codeOfPage.join('\n'));
  // The PATH contains a shell but not Bun.
  const env = { PATH: '/usr/bin:/bin', TMPDIR: process.env.TMPDIR ?? '/tmp' };
  const child = Bun.spawn([runtime, file], {
    cwd: directory.path,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [errors, code] = await Promise.all([child.stderr.text(), child.exited]);
  expect([errors, code]).toEqual(['', 0]);
});

test('the types of the package hold for a program that uses them', async () => {
  const file = join(directory.path, 'types.mts');
  writeFileSync(
    file,
    `import { cl, startDevnet, DevnetError, type Delivery, type Principal, type Response, type Uint } from 'stackside/test';
    const chain = await startDevnet({ seed: 2 });
    const delivery: Delivery = await chain.hooks.next({ limitMs: 5 });
    const height: number = delivery.payload.event.apply[0]!.block_identifier.index;
    declare global { interface Request { readonly url: string } }
    // @ts-expect-error the type has no such problem
    if (new DevnetError('ended', '').problem === 'none') await chain.mine(height);
    const hook = await chain.hooks.add({ filters: { events: [{ type: 'stx_transfer', sender: 'ST1' }] } });
    const [transaction] = (await hook.next()).payload.event.apply[0]!.transactions;
    for (const operation of transaction!.operations) {
      if (operation.type === 'contract_log') operation.metadata.value.repr satisfies string;
      // @ts-expect-error the type has no such operation
      if (operation.type === 'nothing') chain.hooks.answer({ status: 503, times: 1 });
    }
    const plain = await chain.hooks.add({
      filters: { events: [{ type: 'coinbase' }] },
      options: { decode_clarity_values: false },
    });
    (await plain.next()).payload.event.apply[0]!.transactions[0]!.metadata.result satisfies string;
    const asked = { decode_clarity_values: true as boolean | null };
    const either = await chain.hooks.add({ filters: { events: [] }, options: asked });
    const result = (await either.next()).payload.event.apply[0]!.transactions[0]!.metadata.result;
    // @ts-expect-error the result may be only the hex
    result.repr;
    // @ts-expect-error it may be decoded
    result satisfies string;
    const usual = await chain.hooks.add({ filters: { events: [] }, options: { decode_clarity_values: null } });
    (await usual.next()).payload.event.apply[0]!.transactions[0]!.metadata.result.repr satisfies string;
    type Contracts = {
      counter: {
        calls: { add: { args: [by: Uint, to: Principal]; value: Response<bigint, bigint> } };
        reads: { 'get-count': { args: []; value: bigint } };
      };
    };
    const typed = await startDevnet<Contracts>({ clarity: '.' });
    (await typed.read('counter', 'get-count')) satisfies bigint;
    (await typed.call('counter', 'add', [cl.uint(1), "'ST1"], { sender: 'wallet_1' })).value satisfies Response<bigint, bigint>;
    // @ts-expect-error an argument is missing
    await typed.call('counter', 'add', ['u1']);
    // @ts-expect-error the argument is not an unsigned integer
    await typed.call('counter', 'add', ['1', "'ST1"]);
    // @ts-expect-error the contract has no such function
    await typed.read('counter', 'get-nothing');
    // @ts-expect-error the project has no such contract
    await typed.read('nothing', 'get-count');
    await typed.call('ST1.other', 'anything', ['u1']);
    // @ts-expect-error a filter doesn't have this parameter
    await chain.hooks.add({ filters: { events: [{ type: 'coinbase', sender: 'ST1' }] } });`,
  );
  const program = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
    types: [],
  });
  expect(ts.getPreEmitDiagnostics(program).map(({ messageText }) => messageText)).toEqual([]);
});

/** Returns the problem and the message that work fails with. */
async function problemOf(work: Promise<unknown>): Promise<[problem: string, message: string]> {
  const { problem, message } = await failureOf(DevnetError, work);
  return [problem, message];
}

test("a chain that doesn't start reports why", async () => {
  for (const [name, commands, limitMs, problem, message] of [
    ['none', null, LONG_MS, 'executable_missing', 'STACKSIDE_EXECUTABLE'],
    [
      'ends',
      'echo "Port $4 is in use." >&2; exit 1',
      LONG_MS,
      'not_started',
      'it ended with exit code 1. Its last log lines:\nPort 4321 is in use.',
    ],
    ['other', 'echo hello; read line', LONG_MS, 'not_started', 'The executable is not Stackside: it printed hello'],
    ['silent', 'read line', 1, 'time_limit', 'Waited 1 ms for the chain to start'],
  ] as const) {
    const path = join(directory.path, name);
    if (commands !== null) script(path, commands);
    const start = startDevnet({ executable: path, port: 4321, limitMs });
    expect(await problemOf(start)).toEqual([problem, expect.stringContaining(message)]);
  }
});

describe('a chain that runs', () => {
  let chain: Devnet;
  let ending: Promise<unknown>;
  beforeAll(async () => {
    chain = await startDevnet({ executable, pox5Height: 214, limitMs: LONG_MS });
  });
  afterAll(() => chain.stop());

  test('rejects wrong arguments, and waits end', async () => {
    const mistyped = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJX';
    for (const request of [() => chain.transfer(mistyped, 5n), () => chain.balance(mistyped)]) {
      expect(await problemOf(request())).toEqual(['refused', expect.stringContaining('checksum')]);
    }
    expect(await problemOf(chain.hooks.next())).toEqual(['refused', expect.stringContaining('chain.hooks.add()')]);
    expect(await problemOf(chain.fork(200))).toEqual([
      'refused',
      'The chain refused /stackside/v1/devnet/fork: depth must be <= 100',
    ]);
    const events = [{ type: 'stx' as 'stx_event' }];
    expect(await problemOf(chain.hooks.add({ filters: { events } }))).toEqual([
      'refused',
      expect.stringMatching(/^The chain refused \/chainhooks\/me: filters\.events\.0\.type must be one of /),
    ]);
    // Options that are null have their defaults.
    const options = { decode_clarity_values: null, enable_on_registration: null };
    const hook = await chain.hooks.add({ filters: { events: [{ type: 'contract_deploy' }] }, options });
    expect(await problemOf(hook.next({ limitMs: 0 }))).toEqual([
      'time_limit',
      `Waited 0 ms for a delivery of ${hook.uuid}, which did not come. The chainhook "test" is new, with 0 waiting deliveries.`,
    ]);
    expect(hook.warnings).toEqual([]);
    // A wait that has ended takes no delivery from a later one.
    const { contract_id } = await chain.deploy('(define-constant one u1)', { sender: (await chain.account('a')).name });
    const { payload, hook: uuid } = await hook.next();
    const { status, result } = payload.event.apply[0]!.transactions[0]!.metadata;
    expect<unknown>([uuid, status, result]).toEqual([
      hook.uuid,
      'success',
      expect.objectContaining({ repr: '(ok true)' }),
    ]);
    expect(contract_id).toEndWith('.contract-1');
  });

  test('has the requested stacking contract', async () => {
    const pox = (await (await fetch(`${chain.url}/v2/pox`)).json()) as { contract_id: string };
    expect(pox.contract_id).toEndWith('.pox-5');
  });

  test('names the status, the field and the reason of a refusal', async () => {
    const refusal = async (work: Promise<unknown>) => {
      const { problem, status, field, reason, message } = await failureOf(DevnetError, work);
      expect([problem, status]).toEqual(['refused', 400]);
      return [field, reason, message];
    };
    const { address } = await chain.account('poor', 1);
    expect(await refusal(chain.fork(200))).toEqual(['depth', null, expect.any(String)]);
    for (const amount of ['1.5', 0, -1n, 10n ** 19n]) {
      expect(await refusal(chain.transfer(address, amount))).toEqual([
        'amount',
        null,
        expect.stringContaining(': amount must be a whole number of micro-STX above 0'),
      ]);
    }
    expect(await refusal(chain.mine(1, ['00']))).toEqual(['transactions.0', 'Deserialization', expect.any(String)]);
    const other = (await chain.account('other')).address;
    expect(await refusal(chain.transfer(other, 5, { sender: 'poor' }))).toEqual([
      null,
      'NotEnoughFunds',
      expect.any(String),
    ]);
  });

  test('reverts to the state after a block, and to a named one any number of times', async () => {
    const { address } = await chain.account('saver');
    const balance = async (): Promise<string> => {
      const { stx } = (await (await fetch(`${chain.url}/extended/v1/address/${address}/balances`)).json()) as {
        stx: { balance: string };
      };
      return stx.balance;
    };
    const [before, funds] = [await chain.tip(), await balance()];
    await chain.transfer(address, 5);
    const paid = await chain.tip();
    expect(await balance()).not.toBe(funds);
    const { orphaned, blocks } = await chain.revert(before);
    expect(orphaned).toEqual([paid]);
    expect([blocks.at(-1), await balance()]).toEqual([await chain.tip(), funds]);
    await chain.snapshot();
    for (const amount of [6, 7]) {
      await chain.transfer(address, amount);
      expect((await chain.revert()).orphaned).toHaveLength(1);
      expect(await balance()).toBe(funds);
    }
    expect((await chain.revert(await chain.tip())).orphaned).toEqual([]);
  });

  test('keeps its port, and another chain on that port fails with the reason', async () => {
    const port = Number(new URL(chain.url).port);
    expect(await problemOf(startDevnet({ executable, port, limitMs: LONG_MS }))).toEqual([
      'not_started',
      expect.stringMatching(new RegExp(`ended with exit code \\d+\\. Its last log lines:[^]*${port}`)),
    ]);
  });

  test('has a receiver that fails, answers late, or never', async () => {
    // The account receives its funds before the hook exists, because that transfer would match.
    const { address } = await chain.account('paid');
    const hook = await chain.hooks.add({ filters: { events: [{ type: 'stx_transfer' }] } });
    chain.hooks.answer({ status: 503, times: 1 });
    await chain.transfer(address, 5);
    const [failed, retried] = [await hook.next(), await hook.next()];
    expect([failed.answer, retried.answer, retried.id === failed.id]).toEqual([503, 204, true]);
    chain.hooks.answer({ hangs: true });
    const unanswered = fetch(retried.request()).catch(() => 'never answered');
    expect((await hook.next()).answer).toBe(null);
    chain.hooks.answer({ status: 410, delayMs: 1 });
    expect((await fetch(retried.request())).status).toBe(410);
    chain.hooks.answer();
    expect((await fetch(retried.request())).status).toBe(204);
    expect([(await hook.next()).answer, (await hook.next()).answer]).toEqual([410, 204]);
    // This wait ends with the receiver, below.
    ending = unanswered;
  });

  test('answers a delivery that is not signed with 401, and the wait ends', async () => {
    const waiting = problemOf(chain.hooks.next());
    const { url } = (
      (await (await fetch(`${chain.url}/chainhooks/me`)).json()) as {
        results: { definition: { action: { url: string } } }[];
      }
    ).results[0]!.definition.action;
    const headers = { 'webhook-id': 'evt_1', 'webhook-signature': 'v1,none' };
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(401);
    expect(await waiting).toEqual(['wrong_signature', 'The signature of evt_1 is wrong.']);
  });

  test('that is stopped ends all waits', async () => {
    await chain.stop();
    expect(await ending).toBe('never answered');
    expect((await problemOf(chain.mine()))[0]).toBe('stopped');
  });
});

test('a chain that dies ends all waits with its last log lines', async () => {
  const pid = join(directory.path, 'pid');
  const ready = `{"ready":true,"api":"http://127.0.0.1:9"}`;
  const dies = script(
    join(directory.path, 'dies'),
    `echo $$ >'${pid}'; echo 'out of memory' >&2; echo '${ready}'; read line`,
  );
  const chain = await startDevnet({ executable: dies, limitMs: LONG_MS });
  process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL');
  expect(await problemOf(chain.mine())).toEqual([
    'ended',
    'The chain ended by SIGKILL. Its last log lines:\nout of memory',
  ]);
  await chain.stop();
});

const COUNTER = `
(define-data-var count uint u0)
(define-public (increment (by uint))
  (begin (var-set count (+ (var-get count) by)) (print { count: (var-get count) }) (ok (var-get count))))`;
const TOKEN = `
(define-fungible-token gold)
(define-map notes principal { text: (string-ascii 20), tags: (list 3 (buff 2)) })
(define-public (mint (amount uint))
  (begin (asserts! (> amount u0) (err u100)) (ft-mint? gold amount tx-sender)))
(define-public (note (text (string-ascii 20)) (tags (list 3 (buff 2))))
  (ok (map-set notes tx-sender { text: text, tags: tags })))
(define-read-only (note-of (who principal)) (map-get? notes who))
(define-read-only (divide (by uint)) (/ u8 by))`;

describeWith('Clarity', hasClarity, () => {
  let project: DataDirectory;
  let first: Devnet;
  beforeAll(async () => {
    project = await clarityProject({ counter: COUNTER, token: TOKEN });
    first = await startDevnet({ executable, clarity: relative('.', project.path), limitMs: LONG_MS });
  });
  afterAll(async () => {
    await first?.stop();
    project?.[Symbol.dispose]();
  });

  test('a chain runs the contracts of a project next to another chain: call, fork, hook', async () => {
    const contract = `${DEPLOYER.address}.counter`;
    await using second = await startDevnet({ executable, limitMs: LONG_MS });
    // An account of the project has the project's balance, and no faucet pays it.
    const { height } = await first.tip();
    expect(await first.account('wallet_1')).toEqual({
      name: 'wallet_1',
      address: WALLET.address,
      private_key: WALLET.key,
    });
    expect((await first.tip()).height).toBe(height);
    const increment = async (by: string) =>
      (await first.call(contract, 'increment', [by], { sender: 'wallet_1' })).repr;
    const hook = await first.hooks.add({
      filters: { events: [{ type: 'contract_log', contract_identifier: contract }] },
    });
    expect(await increment('u2')).toBe('(ok u2)');
    const { payload } = await hook.next();
    expect(payload.event.apply).toHaveLength(1);
    await second.mine(2);
    expect((await first.fork(1)).orphaned).toHaveLength(1);
    expect((await hook.next()).payload.event.rollback).toHaveLength(1);
    // The transaction that the fork undid is mined again, before the next call.
    expect(await increment('u3')).toBe('(ok u5)');
  });

  test('a project is called by the names of its contracts and accounts, and results are values', async () => {
    const sender = { sender: 'wallet_1' };
    const minted = await first.call('token', 'mint', [cl.uint(5)], sender);
    expect([minted.status, minted.repr, minted.value]).toEqual(['success', '(ok true)', { ok: true }]);
    expect(await first.balance('wallet_1', 'token::gold')).toBe(5n);
    expect(await first.balance('deployer', 'token::gold')).toBe(0n);
    expect(await first.balance('wallet_1')).toBeGreaterThan(99_999_000_000_000n);
    expect(await first.balance('token')).toBe(0n);
    const text = 'a "b" \\ \n c';
    await first.call('token', 'note', [cl.ascii(text), cl.list([cl.buffer('01ff'), cl.buffer('')])], sender);
    const note = await first.read('token', 'note-of', [cl.principal(WALLET.address)]);
    expect(note).toEqual({ text, tags: ['0x01ff', '0x'] });
    expect(await first.read('token', 'note-of', [cl.principal(DEPLOYER.address)])).toBe(null);
    expect(await first.read(`${DEPLOYER.address}.token`, 'divide', ['u2'])).toBe(4n);

    const refused = await first.call('token', 'mint', ['u0'], sender);
    expect([refused.status, assertErr(refused, 100n)]).toEqual(['abort_by_response', 100n]);
    expect(await first.transaction(refused.tx_id)).toEqual(refused);
    expect(assertOk(minted, true)).toBe(true);
    expect(() => assertOk(refused)).toThrow(
      `Expected (ok), received (err 100n), abort_by_response\n${DEPLOYER.address}.token:5:10: (asserts! (> amount u0) (err u100))`,
    );
    expect(() => assertOk(minted, { a: [1n] })).toThrow('Expected (ok { a: [ 1n ] }), received (ok true), success');
    expect(() => assertErr(refused, 100)).toThrow(
      /^Expected \(err 100\), received \(err 100n\), (.|\n)*\nAn int or uint is a bigint: write 100n\.$/,
    );
    expect(() => assertErr(refused, 3n)).toThrow('Expected (err 3n), received (err 100n), ');
    expect(() => assertOk(note)).toThrow("Expected (ok), received { tags: [ '0x01ff', '0x' ]");
    expect.extend(matchers);
    const checked = (sent: Sent) => expect(sent) as unknown as ClarityMatchers & { not: ClarityMatchers };
    checked(minted).toBeOk(expect.any(Boolean));
    checked(refused).toBeErr(100n);
    checked(refused).not.toBeErr(101n);
    checked(refused).not.toBeOk();

    const silent = await first.hooks.add({
      filters: { events: [{ type: 'contract_log', contract_identifier: `${DEPLOYER.address}.token`, topic: 'none' }] },
    });
    expect(silent.warnings).toEqual([expect.stringContaining('topic')]);

    const failures: [() => Promise<unknown>, string, string | null, string | null][] = [
      [() => first.read('token', 'divide', ['u0']), 'refused', null, 'DivisionByZero'],
      [() => first.call('none', 'mint', ['u1']), 'refused', 'contract', null],
      [() => first.call('token', 'mint', ['u1'], { sender: 'walet_1' }), 'refused', 'sender', null],
      [() => first.call('token', 'mint', ['one']), 'refused', 'arguments.0', null],
      // @ts-expect-error arguments are literals
      [() => first.call('token', 'mint', [1n]), 'refused', 'arguments.0', null],
      // @ts-expect-error arguments are literals
      [() => first.read('token', 'divide', [1n]), 'refused', 'arguments.0', null],
      // @ts-expect-error a count is a number
      [() => first.mine(1n), 'refused', 'count', null],
      [() => first.transaction(`0x${'00'.repeat(32)}`), 'refused', null, null],
      [() => first.account('walet_1'), 'refused', 'name', null],
      [() => first.transfer('walet_1', 1), 'refused', 'recipient', null],
      [() => first.balance('walet_1'), 'refused', 'owner', null],
      [() => first.deploy('(define-constant x (/ u1 u0))'), 'not_deployed', null, 'DivisionByZero'],
    ];
    for (const [work, problem, field, reason] of failures) {
      expect(await failureOf(DevnetError, work())).toMatchObject({ problem, field, reason });
    }
    // @ts-expect-error arguments are literals
    await expect(first.call('token', 'mint', [1n])).rejects.toThrow(
      "arguments.0 is a bigint, which JSON doesn't have. Write cl.uint(1n) or cl.int(1n).",
    );
    // @ts-expect-error amounts of filters are text
    await expect(first.hooks.add({ filters: { events: [{ type: 'stx_transfer', min_amount: 5n }] } })).rejects.toThrow(
      "filters.events.0.min_amount is a bigint, which JSON doesn't have. Write '5'.",
    );
    // @ts-expect-error an account has a name
    const nameless = first.transfer(DEPLOYER.address, 1, { sender: { address: DEPLOYER.address } });
    await expect(nameless).rejects.toMatchObject({ problem: 'refused', field: 'sender' });
    const wallet = await first.account('wallet_1');
    for (const account of [wallet, wallet.name, wallet.address])
      expect((await first.call('token', 'mint', ['u1'], { sender: account })).sender).toBe(wallet.address);
    expect((await first.transfer(DEPLOYER.address, 1, { sender: wallet })).sender).toBe(wallet.address);
    const guest = await first.account('guest', 1_000);
    for (const owner of [guest, guest.name, guest.address]) expect(await first.balance(owner)).toBe(1_000n);
    await first.transfer(guest, 5);
    expect(await first.balance(guest)).toBe(1_005n);
    // @ts-expect-error an account has an address
    const unknown: Promise<bigint> = first.balance({ name: 'guest' });
    await expect(unknown).rejects.toMatchObject({ problem: 'refused', field: 'owner' });
  });
});
