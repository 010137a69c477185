/** `stackside fill`: what it prints, and the errors that it ends with. */
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, OperatorError } from '../../src/base/errors.ts';
import { runFill } from '../../src/commands/data/fill.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import { RPC_TOKEN } from '../../src/devnet/rpc.ts';
import { type NodeRpc, NodeUnreachableError } from '../../src/node/rpc.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { type Lie, rpcOf, served } from '../support/servers/simulated-rpc.ts';

const chain = new SimulatedChain({ seed: 12, accounts: 6, operations: false, mempool: false });
const events = [chain.genesis()];
while (chain.tip.height < 20) {
  const { height, indexBlockHash } = chain.tip;
  events.push(...chain.mine(height === 0 ? null : indexBlockHash, { newTenure: true }).events);
}
/** The events up to a block, with those of its Bitcoin block. */
const upTo = (height: number) =>
  events.slice(0, 1 + events.findIndex(({ body }) => body.includes(`"block_height":${height},`)));

/** Runs the command over an index of ten blocks. */
async function filled(rpc: NodeRpc, { token = RPC_TOKEN as string | null, highest = 10, mode = 0o600 } = {}) {
  using directory = ingestOf(upTo(highest).map(received));
  const file = join(directory.path, 'node.token');
  if (token !== null) writeFileSync(file, `${token}\n`, { mode });
  const settings = {
    data: directory.path,
    nodeRpc: 'http://node',
    nodeAuthFile: token === null ? null : file,
    ...{ network: null, chainId: null, logLevel: 'error' as const },
    ...{ archive: null, nodeConfig: null },
  };
  const output = { write: () => true };
  const printed = await runFill(settings, rpc, { rate: 1_000_000 }, output).catch((error: unknown) => error);
  using open = openAt(directory.path);
  return { printed, height: open.ingest.tipHeight() };
}

test("fills the blocks up to the node's tip, and reports if nothing is missing", async () => {
  const node = rpcOf(served(chain));
  const { printed, height } = await filled(node);
  expect(height).toBe(20);
  expect(printed).toMatch(
    /^filled 10 blocks up to height 20; \d+ changed accounts compared with the node, all equal\noperations on Bitcoin .*\nfilled \d+ Bitcoin blocks without payouts, .*\n$/,
  );
  expect((await filled(node, { highest: 20 })).printed).toBe(
    "nothing is missing: the index has the node's tip, at height 20\n",
  );
});

test('each error is two lines that say what to do, and blocks before it stay', async () => {
  const node = rpcOf(served(chain));
  const lying = (lie: Lie) => rpcOf(served(chain), lie);
  const gone = lying((url, answer) =>
    url.pathname.endsWith(`/replay/${chain.tip.indexBlockHash.slice(2)}`) ? new Response('', { status: 404 }) : answer,
  );
  const cases: [Promise<{ printed: unknown; height: number }>, Partial<OperatorError>, number][] = [
    [
      filled(node, { token: null }),
      { exitCode: EXIT.operator, message: expect.stringContaining('--node-auth-file') },
      10,
    ],
    [filled(node, { mode: 0o644 }), { exitCode: EXIT.operator, remedy: expect.stringContaining('chmod 600') }, 10],
    [
      filled(node, { token: 'other' }),
      { exitCode: EXIT.operator, message: 'The node refuses the token for replays of blocks.' },
      10,
    ],
    [filled(gone), { exitCode: EXIT.operator, message: expect.stringContaining("Block 20 can't be filled") }, 19],
    [
      filled({ ...node, info: () => Promise.reject(new NodeUnreachableError("it can't be reached")) }),
      { exitCode: EXIT.again, message: "The node at http://node does not answer: it can't be reached." },
      10,
    ],
    [
      filled(rpcOf(served(chain), undefined, { chainId: 1 })),
      { exitCode: EXIT.operator, remedy: expect.stringContaining('--node-rpc') },
      10,
    ],
  ];
  for (const [run, error, at] of cases) {
    const { printed, height } = await run;
    expect(printed).toBeInstanceOf(OperatorError);
    expect(printed).toMatchObject(error);
    expect(height).toBe(at);
  }
});

test('a directory without an index, and one without a block, are refused', async () => {
  expect((await filled(rpcOf(served(chain)), { highest: -1 })).printed).toMatchObject({
    message: expect.stringContaining('has no block yet'),
  });
  using empty = dataDirectory();
  const settings = {
    data: empty.path,
    nodeRpc: 'http://node',
    nodeAuthFile: null,
    ...{ network: null, chainId: null, logLevel: 'error' as const },
    ...{ archive: null, nodeConfig: null },
  };
  await expect(runFill(settings, rpcOf(served(chain)), { rate: 1 })).rejects.toThrow(OperatorError);
});
