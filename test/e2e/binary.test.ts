import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { dataDirectory } from '../support/data/data-directory.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { until } from '../support/time/until.ts';
import { executable, readyLine, tipHeight } from './stackside.ts';

// Features that may break when compiled: embedded files, and checks that read class names.
const directory = dataDirectory();
const project = resolve(import.meta.dir, '../..');
let binary = executable ?? '';
let server: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;
let api = '';

beforeAll(async () => {
  if (binary === '') {
    binary = join(directory.path, 'stackside');
    const build = Bun.spawn([process.execPath, 'build.ts', '--outfile', binary], { cwd: project, stdout: 'ignore' });
    expect(await build.exited).toBe(0);
  }
  const flags = ['--api-port', '0', '--event-port', '0', '--block-time', '0', '--past-blocks', '6'];
  server = Bun.spawn([binary, 'demo', ...flags], {
    // A directory outside the project: the executable must not read project files.
    cwd: directory.path,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  api = (await readyLine(server))!.api;
  await until(async () => (await tipHeight({ api })) > 5, 'a chain of six blocks');
});
afterAll(async () => {
  server.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  directory[Symbol.dispose]();
});

test('the executable names its version', () => {
  const { stdout } = Bun.spawnSync([binary, '--version']);
  expect(stdout.toString()).toMatch(/^stackside v\d+\.\d+\.\d+ \(.+\)\n$/);
});

test('the executable does not name the folder that it was compiled in', () => {
  expect(readFileSync(binary).includes(project)).toBe(false);
});

test('the executable runs no file and reads no settings of its working directory', () => {
  const folder = join(directory.path, 'folder');
  mkdirSync(folder);
  writeFileSync(join(folder, '.env'), 'STACKSIDE_DATA=of-dotenv\n');
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./preload.ts"]\n');
  writeFileSync(join(folder, 'preload.ts'), "process.stdout.write('preloaded');\n");
  const { stdout, stderr } = Bun.spawnSync([binary, 'status', '--url', NO_NODE], { cwd: folder, env: {} });
  expect(stdout.toString()).toBe('');
  expect(stderr.toString()).toStartWith('No index found at stackside-data/index.db.\n');
});

const answers: [path: string, status: number, says: string][] = [
  ['/extended', 200, '"status":"ready"'],
  ['/extended/v3/transactions?limit=2', 200, '"results":[{"tx_id":"0x'],
  ['/extended/v3/blocks/latest/transactions', 200, '"total":'],
  ['/extended/v3/mempool/transactions', 200, '"cursor":'],
  ['/extended/v3/transactions?limit=51', 400, 'querystring/limit must be <= 50'],
  ['/extended/v3/transactions?limit=x', 400, 'querystring/limit must be integer'],
  ['/extended/v3/transactions/0x12', 400, 'params/tx_id must be a transaction id'],
  [`/extended/v3/transactions/0x${'0'.repeat(64)}`, 404, 'Transaction not found'],
  ['/extended/v3/nothing', 404, 'Route GET:/extended/v3/nothing not found'],
  ['/docs', 200, '"openapi":"3.'],
  ['/docs/json', 200, '"openapi":"3.'],
];
for (const [path, status, text] of answers) {
  test(`GET ${path} of the executable is ${status}`, async () => {
    const response = await fetch(api + path);
    expect(await response.text()).toContain(text);
    expect(response.status).toBe(status);
  });
}

test('the executable serves the API on several threads, with modules that are loaded late', async () => {
  const flags = ['--data', join(directory.path, 'threads'), '--api-port', '0', '--event-port', '0', '--threads', '2'];
  const child = Bun.spawn([binary, 'serve', ...flags, '--api-host', '127.0.0.1', '--network', 'testnet'], {
    cwd: directory.path,
    env: { STACKSIDE_FAUCET_KEYS: '11'.repeat(32), STACKSIDE_NODE_RPC: 'http://127.0.0.1:1' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const threaded = (await readyLine(child))!.api;
  const responses = await Promise.all(Array.from({ length: 8 }, () => fetch(`${threaded}/extended`)));
  expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(await (await fetch(`${threaded}/metrics`)).text()).toContain('route="/extended",status_code="200"');
  // Modules that are loaded on first use.
  expect(await (await fetch(`${threaded}/socket.io/?EIO=4&transport=polling`)).text()).toStartWith('0{"sid":');
  const address = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
  const faucet = await fetch(`${threaded}/extended/v1/faucets/stx?address=${address}`, { method: 'POST' });
  expect(await faucet.json()).toMatchObject({ error: 'Faucet is temporarily unavailable, please try again later' });
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});
