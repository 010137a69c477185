/** `stackside check --node`: its report and its errors. */
import { afterAll, expect, test } from 'bun:test';
import { EXIT, OperatorError } from '../../src/base/errors.ts';
import { checkAgainstNode } from '../../src/commands/data/check.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { type NodeRpc, NodeUnreachableError } from '../../src/node/rpc.ts';
import type { CheckResult } from '../../src/store/check/checks.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { mineTo } from '../support/events/straight-chain.ts';
import { failureOf } from '../support/failure.ts';
import { atOnce, type Lie, rpcOf, served } from '../support/servers/simulated-rpc.ts';

const chain = new SimulatedChain({ seed: 3, accounts: 8 });
const directory = ingestOf(mineTo(chain, 12).map(received));
afterAll(() => directory[Symbol.dispose]());
const node = served(chain);

async function checkNode(rpc: NodeRpc): Promise<{ agrees: boolean; results: CheckResult[] }> {
  const results: CheckResult[] = [];
  const watch = { found: (result: CheckResult) => results.push(result), reading: () => {} };
  return { agrees: await checkAgainstNode(directory.path, rpc, atOnce, watch), results };
}

/** The height of the block whose state a request is about. */
const heightOf = (url: URL): number => chain.block(`0x${url.searchParams.get('tip')}`)?.height ?? 0;

/** A node without the blocks from a height on. */
const lacking =
  (height: number): Lie =>
  (url, answer) =>
    heightOf(url) < height ? answer : new Response('No such chain tip', { status: 404 });

const refusal = (rpc: NodeRpc) => failureOf(OperatorError, checkNode(rpc));

test('if index and node agree, each kind of data has a line without a problem, and the last line names the block', async () => {
  const { agrees, results } = await checkNode(rpcOf(node));
  expect(agrees).toBe(true);
  expect(results.flatMap(({ problems }) => problems)).toEqual([]);
  expect(results.map(({ name }) => name.split(':')[0])).toContain('accounts');
  expect(results[0]?.name).toBe('blocks: 12 compared');
  expect(results.at(-1)?.name).toBe(`compared at block 12 (${chain.tip.indexBlockHash})`);
});

test('a difference shows both values and the first block that differs', async () => {
  const [account] = chain.tip.transactions.map(({ origin }) => origin.account.address);
  const lie: Lie = async (url, answer) => {
    if (url.pathname !== `/v2/accounts/${account}` || heightOf(url) < 7) return answer;
    return Response.json({ ...((await answer.json()) as object), nonce: 99 });
  };
  const { agrees, results } = await checkNode(rpcOf(node, lie));
  expect(agrees).toBe(false);
  const problems = results.flatMap((result) => result.problems);
  const since = [...chain.ancestors(chain.tip)].find(({ height }) => height === 7)!.indexBlockHash;
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(
    new RegExp(`^${account}: nonce is \\d+ in the index and 99 at the node, from block 7 on \\(${since}\\)$`),
  );
});

test('the check can be repeated if the node is unavailable or behind, but not if it follows another chain', async () => {
  const away = { ...rpcOf(node), info: () => Promise.reject(new NodeUnreachableError("it can't be reached")) };
  expect(await refusal(away)).toMatchObject({
    exitCode: EXIT.temporary,
    message: "The index can't be compared with the node at http://node: it can't be reached.",
  });
  const failing: Lie = () => new Response('overloaded', { status: 503 });
  expect(await refusal(rpcOf(node, failing))).toMatchObject({
    exitCode: EXIT.temporary,
    message: "The index can't be compared with the node at http://node: the node answered /v2/accounts with 503.",
  });
  expect(await refusal(rpcOf(node, lacking(10), { burnBlockHeight: 1 }))).toMatchObject({
    exitCode: EXIT.temporary,
    message: 'The node is behind: it lacks the newest 3 blocks of the index.',
  });
  expect(await refusal(rpcOf(node, undefined, { chainId: 1 }))).toMatchObject({ exitCode: EXIT.operator });
});

test('an index above the node is compared up to the last shared block, and the report shows the rest', async () => {
  const { agrees, results } = await checkNode(rpcOf(node, lacking(11)));
  expect(agrees).toBe(true);
  expect(results.at(-1)?.name).toEndWith('; the node abandoned the branch of 2 blocks above it');
});
