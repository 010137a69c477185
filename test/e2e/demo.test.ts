import { expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '../support/data/data-directory.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { standInEngine } from '../support/stand-in-engine.ts';
import { until } from '../support/time/until.ts';
import { command, stackside, startServer, tipHeight } from './stackside.ts';

test('stackside demo serves a chain that grows', async () => {
  const server = await startServer('demo', '--block-time', '1', '--past-blocks', '2');
  await until(async () => (await tipHeight(server)) >= 3, 'height 3');
  const reached = await tipHeight(server);
  await until(async () => (await tipHeight(server)) > reached, 'the next block');
  // The demo is open.
  expect(await stackside('hooks', 'list', '--url', server.api)).toMatchObject({
    code: 0,
    stdout: 'No chainhooks are registered.\n',
  });
  expect(await server.stop()).toBe(0);
});

test('stackside demo refuses to listen on an address that other machines reach', async () => {
  const refused = await stackside('demo', '--api-host', '0.0.0.0', '--api-port', '0', '--event-port', '0');
  expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([
    1,
    '--api-host is 0.0.0.0, which other machines can reach.',
  ]);
});

/** Runs a demo with its temporary files in a directory of the test. */
async function demoIn(
  temporary: string,
  args: readonly string[],
  during: (child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>) => Promise<unknown>,
): Promise<number> {
  const child = Bun.spawn(
    [...command, 'demo', '--event-port', '0', '--block-time', '0', '--past-blocks', '3', ...args],
    { env: { ...process.env, TMPDIR: temporary }, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  await during(child);
  return child.exited;
}

const ready = async (child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>) => child.stdout.getReader().read();

test('stackside demo removes its directory on every way out', async () => {
  using temporary = dataDirectory();
  using occupied = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const leftovers = () => readdirSync(temporary.path).filter((name) => name.startsWith('stackside-devnet-'));
  const free = ['--api-port', '0'];
  const exits = await Promise.all([
    demoIn(temporary.path, ['--api-port', String(occupied.port)], ready),
    demoIn(temporary.path, [...free, '--hook-access', 'key', '--hook-keys', '/none'], ready),
    ...(['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) =>
      demoIn(temporary.path, free, async (child) => {
        await ready(child);
        child.kill(signal);
      }),
    ),
  ]);
  expect([exits, leftovers()]).toEqual([[1, 1, 0, 0, 0], []]);
  // The demo is still starting.
  const starting = await demoIn(temporary.path, [...free, '--past-blocks', '100000'], async (child) => {
    await until(() => leftovers().length === 1, 'the directory');
    child.kill('SIGHUP');
  });
  expect([starting, leftovers()]).toEqual([0, []]);
});

test('stackside demo removes the directory of a killed demo, but not of a running one', async () => {
  using temporary = dataDirectory();
  const args = ['--api-port', '0'];
  const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = demoIn(temporary.path, args, async (child) => {
    await ready(child);
    started.resolve();
    await ended.promise;
    child.kill('SIGTERM');
  });
  await started.promise;
  const [kept] = readdirSync(temporary.path);
  await demoIn(temporary.path, args, async (child) => {
    await ready(child);
    child.kill('SIGKILL');
  });
  expect(readdirSync(temporary.path)).toHaveLength(2);
  await demoIn(temporary.path, args, async (child) => {
    await ready(child);
    child.kill('SIGTERM');
  });
  expect(readdirSync(temporary.path)).toEqual([kept!]);
  ended.resolve();
  expect([await other, readdirSync(temporary.path)]).toEqual([0, []]);
});

test('stackside devnet mines a block when a transaction arrives', async () => {
  const server = await startServer('devnet');
  const call = async (path: string, init?: RequestInit): Promise<Response> => {
    const response = await fetch(`${server.api}/stackside/v1/devnet${path}`, init);
    expect([path, response.status]).toEqual([path, 200]);
    return response;
  };
  const height = async () => ((await (await call('')).json()) as { tip: { height: number } }).tip.height;
  expect(await height()).toBe(1);
  const transfer = { recipient: 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM', amount: '1' };
  const headers = { 'content-type': 'application/json' };
  await call('/transfer', { method: 'POST', headers, body: JSON.stringify(transfer) });
  expect(await height()).toBe(2);
  expect(await server.stop()).toBe(0);
});

test('stackside devnet that a signal stops while it starts exits with 0 and prints no error', async () => {
  using project = await standInEngine();
  // The second contract never finishes, so the start lasts until the signal.
  const sources = ['(ok true)', '(hang)'];
  const contracts = sources.map((_, index) => `[contracts.c${index}]\npath = "c${index}.clar"\n`);
  writeFileSync(join(project.path, 'Clarinet.toml'), `[project]\n${contracts.join('')}`);
  for (const [index, source] of sources.entries()) writeFileSync(join(project.path, `c${index}.clar`), source);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const ports = ['--api-port', '0', '--event-port', '0', '--log-level', 'info'];
    const child = Bun.spawn([...command, 'devnet', ...ports], { cwd: project.path, stdout: 'pipe', stderr: 'pipe' });
    let log = '';
    const decoder = new TextDecoder();
    for await (const bytes of child.stderr) {
      const isStarting = !log.includes('block_applied');
      log += decoder.decode(bytes);
      // A second signal would end the process at once.
      if (isStarting && log.includes('block_applied')) child.kill(signal);
    }
    const lines = log.trim().split('\n');
    expect([await child.exited, await child.stdout.text()]).toEqual([0, '']);
    expect(lines.filter((line) => !line.startsWith('{') || line.includes('"level":50'))).toEqual([]);
  }
});

/** Number of connections that the server ended because of an invalid message. */
const refusedConnections = (api: string): Promise<number> => metricOf(api, 'socket_io_refused_total');

test('a demo without a block time mines only on request; its API threads forward requests and log lines', async () => {
  const threads = await startServer('demo', '--block-time', '0', '--past-blocks', '1', '--threads', '1');
  const height = async () =>
    ((await (await fetch(`${threads.api}/stackside/v1/devnet`)).json()) as { tip: { height: number } }).tip.height;
  expect(await height()).toBe(1);
  const mined = await fetch(`${threads.api}/stackside/v1/devnet/mine`, { method: 'POST' });
  expect([mined.status, ((await mined.json()) as { blocks: unknown[] }).blocks.length]).toEqual([200, 1]);
  expect(await height()).toBe(2);
  expect((await fetch(`${threads.api}/v2/info`)).status).toBe(200);
  expect(await refusedConnections(threads.api)).toBe(0);
  const socket = new WebSocket(`${threads.api.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`);
  const closed = new Promise((resolve) => socket.addEventListener('close', resolve));
  socket.addEventListener('open', () => socket.send('4no packet'));
  await closed;
  expect(await refusedConnections(threads.api)).toBe(1);
  expect(await threads.stop()).toBe(0);
});
