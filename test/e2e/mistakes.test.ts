/** The most frequent mistakes of operators: two lines, and an exit code after which service managers don't restart. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../src/base/errors.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { command, failureOf, finished, stackside } from './stackside.ts';

const directory = dataDirectory();
const pathOf = (...names: string[]): string => join(directory.path, ...names);

beforeAll(async () => {
  const simulated = await stackside('simulate', '--seed', '3', '--blocks', '12', '--out', pathOf('devnet.tsv'));
  expect(simulated.code).toBe(0);
  const imported = await stackside('import', pathOf('devnet.tsv'), '--data', pathOf('data'));
  expect(failureOf(imported)).toBeNull();
});
afterAll(() => directory[Symbol.dispose]());

/** Runs a command in a shell, after other shell commands. */
function inShell(script: string, args: readonly string[]) {
  const shell = ['bash', '-c', script, 'bash', ...command, ...args];
  return finished(Bun.spawn(shell, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' }));
}

const TWO_LINES = /^[^\n]+\n[^\n]+\.\n$/;

test('an export to an existing file ends before its query starts', async () => {
  writeFileSync(pathOf('there.csv'), 'text');
  const query = ['--query', 'select 1 from nothing', '--data', pathOf('data')];
  const { code, stderr } = await stackside('export', ...query, '--output', pathOf('there.csv'));
  expect(stderr).toBe(`A file already exists at ${pathOf('there.csv')}.\nAdd --overwrite to replace the file.\n`);
  expect(code).toBe(1);
});

test('serve on a port that is in use, or an address of another machine, ends with 1', async () => {
  const occupied = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const free = ['--data', pathOf('listen'), '--log-level', 'error', '--event-port', '0', '--api-port'];
  for (const address of [
    [`${occupied.port}`, '--api-host', '127.0.0.1'],
    [`${occupied.port}`, '--api-host', '127.0.0.1', '--threads', '1'],
    ['0', '--api-host', '192.0.2.1'],
    ['0', '--api-host', '-'],
    ['0', '--api-host', '-', '--threads', '1'],
  ]) {
    const { code, stderr } = await stackside('serve', ...free, ...address);
    expect(stderr).toMatch(TWO_LINES);
    expect(stderr).toStartWith(`The API can't listen on ${address[2]}:${address[0]}`);
    expect(stderr).toEndWith(address[0] === '0' ? ' with --api-host.\n' : ' with --api-port.\n');
    expect(code).toBe(1);
  }
  await occupied.stop(true);
});

// Permissions don't restrict root, so as root the command runs as the user nobody, if that user can run it.
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const otherCanRun = ((): boolean => {
  try {
    return Bun.spawnSync([...command, '--version'], { ...user, stdout: 'ignore', stderr: 'ignore' }).success;
  } catch (error) {
    // The executable is in a directory that other users can't enter, such as root's home.
    if (hasCode(error, 'EACCES')) return false;
    throw error;
  }
})();
test.skipIf(!otherCanRun)('data of another user ends with 1, and names the file and the user', async () => {
  mkdirSync(pathOf('theirs'));
  chmodSync(pathOf('theirs'), 0o500);
  chmodSync(directory.path, 0o755);
  const serve = [...command, 'serve', '--data', pathOf('theirs'), '--api-port', '0', '--event-port', '0'];
  const child = Bun.spawn(serve, { ...user, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const { code, stderr } = await finished(child);
  expect(stderr).toMatch(TWO_LINES);
  expect(stderr).toContain(`${pathOf('theirs')}`);
  expect(stderr).toContain('chown');
  expect(code).toBe(1);
  chmodSync(pathOf('theirs'), 0o700);
});

/** Files are limited to 50 KB: further writes fail as on a full disk. */
const SMALL_FILES = 'trap "" XFSZ; ulimit -f 50; exec "$@"';

test.skipIf(process.platform === 'win32')(
  'a command without space for its output ends with 1 and leaves no file',
  async () => {
    const folder = pathOf('small');
    mkdirSync(folder);
    for (const args of [
      ['export', '--data', pathOf('data'), '--output', join(folder, 'export.tsv')],
      ['simulate', '--blocks', '12', '--out', join(folder, 'devnet.tsv')],
    ]) {
      const { code, stderr } = await inShell(SMALL_FILES, args);
      expect(stderr).toMatch(TWO_LINES);
      expect(stderr).toContain(folder);
      expect(code).toBe(1);
      expect(readdirSync(folder)).toEqual([]);
    }
    const imported = await inShell(SMALL_FILES, ['import', pathOf('devnet.tsv'), '--data', join(folder, 'data')]);
    expect(imported.stderr).toMatch(TWO_LINES);
    expect(imported.stderr).toContain(join(folder, 'data'));
    expect(imported.code).toBe(1);
    const restore = ['restore', pathOf('backup'), '--data', join(folder, 'restored')];
    expect((await stackside('backup', pathOf('backup'), '--data', pathOf('data'))).code).toBe(0);
    const stopped = await inShell(SMALL_FILES, restore);
    expect(stopped.stderr).toMatch(TWO_LINES);
    expect([stopped.code, stopped.stderr]).toEqual([1, expect.stringContaining(join(folder, 'restored'))]);
    expect((await stackside(...restore)).code).toBe(0);
  },
);

test.skipIf(process.platform === 'win32')('a rebuild without space ends with 1 and keeps the old index', async () => {
  const before = await stackside('status', '--data', pathOf('data'), '--url', NO_NODE);
  const { code, stderr } = await inShell(SMALL_FILES, ['rebuild', '--data', pathOf('data')]);
  expect(stderr).toMatch(TWO_LINES);
  expect(stderr).not.toContain('--force');
  expect(code).toBe(1);
  expect(await stackside('status', '--data', pathOf('data'), '--url', NO_NODE)).toEqual(before);
});

for (const args of [
  ['serve', '--help'],
  ['check', '--data', pathOf('data')],
  ['export', '--data', pathOf('data')],
]) {
  test(`${args.slice(0, 2).join(' ')} ends as usual if nobody reads its output`, async () => {
    // The reader closes its end before the writer starts, so every write fails.
    const script = `mkfifo "${pathOf(`go-${args[0]}`)}"; { read -r < "${pathOf(`go-${args[0]}`)}"; "$@"; echo "ended $?" >&2; } | { exec 0<&-; echo > "${pathOf(`go-${args[0]}`)}"; }`;
    expect((await inShell(script, args)).stderr).toBe('ended 0\n');
  });
}
