/** Commands on a data directory with a missing or damaged file: the error names the file and the right remedy. */
import { Database } from 'bun:sqlite';
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
const recording = join(places.path, 'recording.tsv');
writeFileSync(recording, '');

test.each(['check', 'check --deep', 'status', 'status --tables', 'backup'])(
  'with an intact journal but no index, %s names stackside rebuild',
  async (command) => {
    const words = [...command.split(' '), ...(command === 'backup' ? [archive] : [])];
    using directory = copyOf(whole);
    for (const suffix of ['', '-wal', '-shm']) rmSync(indexPath(directory.path) + suffix, { force: true });
    expect(await problemOf(...words, '--data', directory.path)).toBe(
      `The index ${indexPath(directory.path)} is missing, but ${directory.path} contains a journal.\n` +
        'Rebuild the index from its journal: stackside rebuild.\n',
    );
  },
);

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

/** Drops a table, as an index of another development version may lack it. */
const drop = (table: string) => (path: string) => {
  using db = new Database(path);
  db.run(`DROP TABLE ${table}`);
};

const RESTORE = 'Restore a backup into a new directory: stackside restore ARCHIVE --data NEW.';
const RESTORE_OR_LIST = `${RESTORE} stackside check lists all damage.`;
const REBUILD = 'Rebuild the index from its journal: stackside rebuild.';

test.each([
  ['journal is cut off', journalPath, cutOff, 'is damaged.', RESTORE, ['integrity', `is damaged. ${RESTORE}`]],
  [
    'journal lacks a table',
    journalPath,
    drop('chain'),
    'is damaged: its table chain is missing.',
    RESTORE_OR_LIST,
    ['schema', 'chain differs'],
  ],
  ['index is cut off', indexPath, cutOff, 'is damaged.', REBUILD, ['integrity', `is damaged. ${REBUILD}`]],
  [
    'index lacks a table',
    indexPath,
    drop('blocks'),
    'is damaged: its table blocks is missing.',
    REBUILD,
    ['schema', 'its table blocks is missing'],
  ],
] as const)('if the %s, commands name the remedy, and check finds the damage', async (...row) => {
  const [, pathIn, damage, named, remedy, [check, problem]] = row;
  using directory = copyOf(whole);
  const path = pathIn(directory.path);
  damage(path);
  const [kind, commands] =
    pathIn === journalPath
      ? ['journal', [['export'], ['rebuild']]]
      : [
          'index',
          [
            ['export', '--table', 'v1_blocks'],
            ['import', recording],
          ],
        ];
  for (const words of [['status'], ['backup', archive], ...commands]) {
    const printed = await problemOf(...words, '--data', directory.path);
    expect([words, printed]).toEqual([words, `${path} ${named}\n${remedy}\n`]);
  }
  expect(checkDirectory(directory.path).filter(({ problems }) => problems.length > 0)).toEqual([
    { name: `${check} of the ${kind} file`, problems: [expect.stringContaining(problem)] },
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
