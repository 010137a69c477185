/** Paths that a command rejects before it starts, since it would fail late or delete files. */
import { afterAll, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runBackup, runRestore } from '../../src/commands/data/archive.ts';
import { exportRows, runExport } from '../../src/commands/data/export.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { backupOf } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';

const data = ingestOf(simulatedEvents({ seed: 3, blocks: 2, accounts: 2, transactionsPerBlock: 1 }));
const around = dataDirectory();
/** Another name of the data directory. */
const link = join(around.path, 'link');
symlinkSync(data.path, link);
afterAll(() => {
  for (const directory of [data, around]) directory[Symbol.dispose]();
});

const files = (): string[] => readdirSync(data.path).filter((name) => !/-(shm|wal)$/.test(name));

test('backup and restore reject a location inside the data directory, however the path is written', async () => {
  const inside = [
    data.path,
    relative('.', data.path),
    join(around.path, 'link'),
    `${around.path}/missing/../link/journal.db`,
    // Commands use these as their work directories, and delete them.
    ...['restore', 'rebuild', 'check'].map((name) => join(link, name)),
  ];
  const before = files();
  for (const location of inside) {
    const making = runBackup(readSettingsOf('backup', { data: data.path }, {}).settings, location, false);
    await expect(making).rejects.toThrow(`${location} is inside the data directory ${data.path}`);
    const restoring = runRestore(readSettingsOf('restore', { data: data.path }, {}).settings, location);
    await expect(restoring).rejects.toThrow(`${location} is inside the data directory ${data.path}`);
  }
  expect(files()).toEqual(before);
});

test('a backup resolves `..` in its path even if the name before it does not exist', async () => {
  await backupOf(data.path, `${around.path}/missing/../made`);
  expect(existsSync(join(around.path, 'made', 'archive.json'))).toBe(true);
  expect(readdirSync(around.path).sort()).toEqual(['link', 'made']);
});

test('an export rejects a database file, even with --overwrite', async () => {
  const [index, journal] = [join(link, 'index.db'), `${around.path}/missing/../link/journal.db`];
  const before = readFileSync(index);
  const exporting = exportRows(data.path, { table: 'v1_blocks', output: index, overwrite: true });
  await expect(exporting).rejects.toThrow(`${index} is a database file`);
  await expect(runExport(data.path, journal, true)).rejects.toThrow(`${journal} is a database file`);
  expect(readFileSync(index).equals(before)).toBe(true);
});
