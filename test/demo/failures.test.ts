/** Explanations of failed calls: the expression, the calls, and the costs of functions. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { formAt } from '../../src/devnet/clarity/failure.ts';
import { clarityProject, DEPLOYER, hasClarity } from '../support/clarity.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { type Demo, demo, type Steered } from './demo.ts';

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

interface Answer extends Steered {
  status: string;
  repr: string;
  failure: {
    place: { contract: string; line: number; column: number; expression: string } | null;
    trace: string;
    costs: { function: string; runtime: number }[];
  } | null;
}

test('the expression at a place has the places of its arguments', () => {
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

describeWith('Clarity', hasClarity, () => {
  let project: DataDirectory;
  let server: Demo;
  beforeAll(async () => {
    project = await clarityProject({ vault: VAULT, caller: CALLER });
    server = await demo({ clarity: project.path });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    project?.[Symbol.dispose]();
  });
  const call = async (contract: string, name: string, ...args: string[]) => {
    const body = { contract, function: name, arguments: args, sender: 'wallet_1' };
    return (await server.post<Answer>('/stackside/v1/devnet/call', body)).body;
  };
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
      const answer = await call(contract, name, ...args);
      expect([answer.status, answer.repr]).toEqual(['abort_by_response', repr]);
      expect(answer.failure?.place).toEqual({ contract: vault, line, column, expression });
    },
  );

  test('a failed call has the calls with arguments and results, and the costs of its functions', async () => {
    const { failure } = await call('caller', 'outer', 'u1');
    expect(failure?.trace).toContain('( check amount )  vault:11:11');
    expect(failure?.trace).toContain('args: u1');
    const costs = failure?.costs ?? [];
    expect(costs.map((one) => one.function).sort()).toEqual([
      `${DEPLOYER.address}.caller.outer`,
      `${vault}.check`,
      `${vault}.deposit`,
    ]);
    for (const { runtime } of costs) expect(runtime).toBeGreaterThan(0);
  });

  test("a transaction's own answer has the failure, and an unknown transaction is a 404", async () => {
    const sent = await call('caller', 'outer', 'u1');
    // A later block doesn't change the answer.
    await call('vault', 'crash', 'u2');
    expect(await server.json<Answer>(`/stackside/v1/devnet/transactions/${sent.tx_id}`)).toEqual(sent);
    const unknown = await server.get(`/stackside/v1/devnet/transactions/0x${'00'.repeat(32)}`);
    expect(unknown.status).toBe(404);
  });

  test('a call that succeeds has no failure, and the chain continues after a failed one', async () => {
    expect(await call('vault', 'crash', 'u0')).toMatchObject({ status: 'abort_by_response' });
    expect(await call('vault', 'crash', 'u2')).toMatchObject({ status: 'success', repr: '(ok u5)', failure: null });
    // The fork builds the engine's chains again.
    await server.steer('/stackside/v1/devnet/fork', { depth: 1 });
    expect((await call('vault', 'plain')).failure?.place).toMatchObject({ line: 16 });
  });
});
