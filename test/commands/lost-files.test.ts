/** Commands on a data directory with a missing or damaged file: the error names the file and the right remedy. */
import { afterAll, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../src/base/errors.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { problemOf, stackside } from '../e2e/stackside.ts';
import { copyOf, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { NO_NODE } from '../support/servers/serving.ts';

const whole = ingestOf(simulatedEvents({ seed: 5, blocks: 4 }));
const places = dataDirectory();
afterAll(() => {
  for (const resource of [whole, places]) resource[Symbol.dispose]();
});
/** An archive that doesn't exist yet. */
const archive = join(places.path, 'archive');

test.each<[words: string[]]>([
  [['check']],
  [['check', '--deep']],
  [['status']],
  [['status', '--tables']],
  [['backup', archive]],
])('with an intact journal but no index, %p names stackside rebuild', async (words) => {
  using directory = copyOf(whole);
  for (const suffix of ['', '-wal', '-shm']) rmSync(indexPath(directory.path) + suffix, { force: true });
  expect(await problemOf(...words, '--data', directory.path)).toBe(
    `The index ${indexPath(directory.path)} is missing, but ${directory.path} contains a journal.\n` +
      'Rebuild the index from its journal: stackside rebuild.\n',
  );
});

test('with an index but no journal of it, status prints the state, and then the problem with a remedy', async () => {
  using directory = copyOf(whole);
  using other = ingestOf(simulatedEvents({ seed: 6, blocks: 4 }));
  const report = () => stackside('status', '--url', NO_NODE, '--data', directory.path);
  for (const suffix of ['', '-wal', '-shm']) rmSync(journalPath(directory.path) + suffix, { force: true });
  const remedy = 'Restore the journal.db that belongs to this index.db, ';
  expect(await report()).toMatchObject({
    code: EXIT.operator,
    stdout: expect.stringContaining('\njournal        missing\n'),
    stderr: expect.stringMatching(new RegExp(`^The journal in .* is missing, .*\n${remedy}`)),
  });
  copyFileSync(journalPath(other.path), journalPath(directory.path));
  expect(await report()).toMatchObject({
    code: EXIT.operator,
    stdout: expect.stringContaining(', not the journal of this index\n'),
    stderr: expect.stringContaining('does not belong to the index'),
  });
});

/** Keeps the first half of a file's pages. */
const cutOff = (path: string): void => {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.subarray(0, (bytes.length >> 13) << 12));
};

test.each([
  ['journal', journalPath, 'Restore a backup into a new directory: stackside restore ARCHIVE --data NEW.'],
  ['index', indexPath, 'Rebuild the index from its journal: stackside rebuild.'],
] as const)('with a damaged %s, commands name the remedy of this file', async (kind, pathIn, remedy) => {
  using directory = copyOf(whole);
  const path = pathIn(directory.path);
  cutOff(path);
  const problem = `${path} is damaged.`;
  const others = { journal: [['export'], ['rebuild']], index: [['export', '--table', 'v1_blocks']] };
  const commands = [['status'], ['backup', archive], ...others[kind]];
  for (const words of commands) {
    expect([words, await problemOf(...words, '--data', directory.path)]).toEqual([words, `${problem}\n${remedy}\n`]);
  }
  expect(checkDirectory(directory.path).filter(({ problems }) => problems.length > 0)).toEqual([
    { name: `integrity of the ${kind} file`, problems: [`${problem} ${remedy}`] },
  ]);
});

test('backup names the index if a damage of its first page keeps it from being read', async () => {
  using directory = copyOf(whole);
  const path = indexPath(directory.path);
  writeFileSync(path, readFileSync(path).fill(0xff, 100, 200));
  expect(await problemOf('backup', archive, '--data', directory.path)).toBe(
    `${path} is damaged.\nRebuild the index from its journal: stackside rebuild.\n`,
  );
});

test('archive key refuses a directory that is missing, and names the file of a new key', async () => {
  const path = join(places.path, 'keys');
  const problem = `No data directory found at ${path}.\nCheck --data, or create the directory first.\n`;
  expect(await problemOf('archive', 'key', '--data', path)).toBe(problem);
  expect(existsSync(path)).toBe(false);
  mkdirSync(path);
  const created = await stackside('archive', 'key', '--data', path);
  expect(created).toEqual({ code: 0, stdout: expect.any(String), stderr: `Created ${join(path, 'archive.key')}.\n` });
  expect(await stackside('archive', 'key', '--data', path)).toEqual({ ...created, stderr: '' });
});
