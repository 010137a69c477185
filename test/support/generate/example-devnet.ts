/** Records the answers of the simulated node's routes. */
import { systemClock } from '../../../src/base/clock.ts';
import { SimulatedNode } from '../../../src/devnet/node.ts';
import { templates } from '../../../src/devnet/traffic.ts';
import { signTransaction, tokenTransfer } from '../../../src/devnet/transaction.ts';
import { markPeer } from '../../../src/http/forward.ts';
import type { RecordedExample } from '../../../src/http/openapi.ts';
import { appOf } from '../api/app.ts';
import { snapshotsBy } from '../data/snapshots-by.ts';
import type { Ask } from './example-candidates.ts';
import { recorder } from './example-hooks.ts';

const BASE = '/stackside/v1/devnet';
const RECIPIENT = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';
/** Stands for this machine's address, because the requests have no connection. */
const TOKEN = 'examples';

/** Marks requests as coming from this machine. */
function fromHere(app: ReturnType<typeof appOf>): Pick<typeof app, 'handle'> {
  return {
    handle(request: Request) {
      request.headers.set('host', 'localhost');
      markPeer(request.headers, TOKEN, '127.0.0.1');
      return app.handle(request);
    },
  } as Pick<typeof app, 'handle'>;
}

/** Records each route of the simulated node once. */
export async function devnetExamples(
  asking: (app: Pick<ReturnType<typeof appOf>, 'handle'>) => Ask,
  cut: (body: unknown) => unknown,
  version: string,
): Promise<Record<string, RecordedExample>> {
  await using observer = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const node = new SimulatedNode({ seed: 1, interval: 0, history: 4, traffic: 2, clock: systemClock });
  await node.start(observer.url.origin);
  try {
    const app = appOf({
      snapshots: snapshotsBy(() => {
        throw new Error('no index');
      }),
      version,
      log: () => {},
      steering: { node, hosts: [], preparation: () => null },
      internalToken: TOKEN,
    });
    const { record, answers } = recorder(asking(fromHere(app)), cut);
    const steer = (operationId: string, path: string, body: object) =>
      record(operationId, 'POST', `${BASE}/${path}`, { body });

    await record('getDevnet', 'GET', BASE);
    await record('getDevnetContracts', 'GET', `${BASE}/contracts`);
    const { body: account } = await steer('getDevnetAccount', 'account', { name: 'alice' });
    await steer('fundDevnetAddress', 'fund', { address: account.address, amount: '50000000' });
    const { body: paid } = await steer('sendDevnetTransfer', 'transfer', {
      sender: 'alice',
      recipient: RECIPIENT,
      amount: '1000',
    });
    await record('getDevnetTransaction', 'GET', `${BASE}/transactions/${paid.tx_id}`, {
      parameters: { tx_id: paid.tx_id },
    });
    const { source } = templates.find(({ name }) => name === 'journal')!;
    await steer('deployDevnetContract', 'deploy', { sender: 'alice', name: 'journal', source });
    await steer('callDevnetContract', 'call', {
      sender: 'alice',
      contract: `${account.address}.journal`,
      function: 'note',
      arguments: ['"hello"', 'u"hello"'],
    });
    await steer('readDevnetContract', 'read', {
      contract: `${node.chain.network.boot}.pox-4`,
      function: 'get-pox-info',
    });
    const { body: mined } = await steer('mineDevnetBlocks', 'mine', { count: 2 });
    await steer('revertDevnet', 'revert', { index_block_hash: mined.blocks[0].index_block_hash });
    await steer('nameDevnetState', 'snapshot', { name: 'before' });
    await steer('forkDevnet', 'fork', { depth: 1 });
    const origin = { account: node.faucet, nonce: node.tip.world.nonce(node.faucet.address), fee: 300n };
    const raw = signTransaction({ payload: tokenTransfer(RECIPIENT, 1n, ''), origin }, node.chain.network);
    const { body: replacement } = await steer('replaceDevnetTransaction', 'replace', {
      tx_id: await node.submit(raw),
      fee: '500',
    });
    await steer('dropDevnetTransaction', 'drop', { tx_id: replacement.tx_id });
    await steer('mineDevnetBitcoinBlocks', 'bitcoin', { count: 1 });
    await steer('mineDevnetCycles', 'cycle', { count: 1 });
    await steer('advanceDevnetTime', 'time', { seconds: 3600 });
    await steer('setDevnetInterval', 'interval', { seconds: 0 });
    await steer('setDevnetBalance', 'balance', { address: account.address, amount: '7000000' });
    return answers;
  } finally {
    await node.stop();
  }
}
