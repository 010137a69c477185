/** Only the owner may read the data, which has secrets. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../src/base/system-errors.ts';
import { pathsOpenToOthers, requireWritableFiles } from '../../src/store/files/private-files.ts';
import { command } from '../e2e/stackside.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { openAt, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { until } from '../support/time/until.ts';

const events = simulatedEvents({ seed: 3, blocks: 2, transactionsPerBlock: 2 });
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const modesIn = (directory: string): Record<string, string> =>
  Object.fromEntries(readdirSync(directory).map((name) => [name, modeOf(join(directory, name))]));

let parent: DataDirectory;
let umask: number;
beforeAll(() => {
  parent = dataDirectory();
  umask = process.umask(0o022);
});
afterAll(() => {
  process.umask(umask);
  parent[Symbol.dispose]();
});

const canWriteAll = process.platform === 'win32' || process.getuid?.() === 0;

test.skipIf(canWriteAll).each(['index.db', 'journal.db', 'index.db-wal', 'journal.db-shm'])(
  'a server does not start if it may not write to %s, and names the file',
  (name) => {
    const directory = join(parent.path, name);
    openAt(directory)[Symbol.dispose]();
    const path = join(directory, name);
    writeFileSync(path, '', { flag: 'a' });
    chmodSync(path, 0o400);
    expect(() => onFile(directory, () => openAt(directory))).toThrow(`${path} may not be read or written by user`);
  },
);

test('the check of a database bears files that another process removes meanwhile', async () => {
  const path = join(parent.path, 'vanishing.db');
  const wal = JSON.stringify(`${path}-wal`);
  const script = `const fs = require('node:fs'); for (;;) { fs.writeFileSync(${wal}, ''); fs.rmSync(${wal}); }`;
  await using other = Bun.spawn([process.execPath, '-e', script]);
  await until(() => existsSync(`${path}-wal`), 'the other process');
  for (let round = 0; round < 5_000; round++) requireWritableFiles(path);
  other.kill();
});

describe.skipIf(process.platform === 'win32')('a data directory', () => {
  test('is private to its owner, unlike the directories above it', () => {
    const directory = join(parent.path, 'srv', 'stacks');
    using open = openAt(directory);
    for (const event of events) open.ingest.receive(event);
    expect(modesIn(directory)).toEqual({
      'index.db': '600',
      'index.db-shm': '600',
      'index.db-wal': '600',
      'journal.db': '600',
      'journal.db-shm': '600',
      'journal.db-wal': '600',
      'writer.lock': '600',
    });
    expect([modeOf(directory), modeOf(join(parent.path, 'srv'))]).toEqual(['700', '755']);
    expect(pathsOpenToOthers(directory)).toEqual([]);
  });

  test('is also private after a rebuild, in a backup and after a restore', async () => {
    const directory = join(parent.path, 'srv', 'stacks');
    rebuildIndex({ directory });
    const backups = dataDirectory();
    using _ = backups;
    const copy = join(backups.path, 'copy');
    await backupOf(directory, copy);
    expect(modesIn(backups.path)).toEqual({ copy: '700' });
    const modes = modesIn(copy);
    expect(modes).toMatchObject({ 'archive.json': '600', 'open-backup.zst': '600' });
    expect(new Set(Object.values(modes))).toEqual(new Set(['600']));
    await restored(copy, join(backups.path, 'restored'));
    expect(pathsOpenToOthers(join(backups.path, 'restored'))).toEqual([]);
    expect(pathsOpenToOthers(directory)).toEqual([]);
  });

  test('keeps the modes of an earlier directory, and logs them at the start', async () => {
    const directory = join(parent.path, 'old');
    openAt(directory)[Symbol.dispose]();
    chmodSync(directory, 0o755);
    chmodSync(join(directory, 'index.db'), 0o640);
    const flags = ['--data', directory, '--api-port', '0', '--event-port', '0', '--log-level', 'warn'];
    const child = Bun.spawn([...command, 'serve', ...flags], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
    for await (const _ of child.stdout) break;
    child.kill();
    const lines = (await new Response(child.stderr).text()).trim().split('\n');
    const warning = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'setup_warning');
    expect(await child.exited).toBe(0);
    expect(warning).toMatchObject({ remedy: `chmod 700 ${directory}; chmod 600 ${directory}/*` });
    // The files that SQLite creates next to the index get its mode.
    const paths = ['', '/index.db', '/index.db-shm', '/index.db-wal'].map((suffix) => directory + suffix);
    expect(
      warning.problem
        .replace(/^Other users can access |\.$/g, '')
        .split(', ')
        .sort(),
    ).toEqual(paths);
    expect([modeOf(directory), modeOf(join(directory, 'index.db'))]).toEqual(['755', '640']);
  });
});
