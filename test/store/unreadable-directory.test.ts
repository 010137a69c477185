/** A data directory that this user can't look into is not reported as an empty one. */
import { expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { silentMachine } from '../../src/hooks/machine.ts';
import { requireIndex } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { beginRebuild } from '../../src/store/ingest/rebuild.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

test.each<[string, (directory: string) => unknown, string]>([
  ['index', requireIndex, 'No index found'],
  ['journal', openJournalReader, 'No journal found'],
  [
    'rebuild',
    (directory) => beginRebuild({ directory, force: false, log: () => {}, chainId: null, machine: silentMachine }),
    "doesn't contain a journal",
  ],
])('%s: reports why a directory cannot be read, or that it has no file', (_, open, missing) => {
  using around = dataDirectory();
  expect(() => open(join(around.path, 'missing'))).toThrow(missing);
  // The link stands for a directory of another user: the tests may run as root, who can read all directories.
  const unreadable = join(around.path, 'unreadable');
  symlinkSync(unreadable, unreadable);
  expect(() => open(unreadable)).toThrow('is a symbolic link to itself');
});
