/** Commands on a data directory with a missing or damaged file: the error names the file and the right remedy. */
import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { indexPath } from '../../src/store/files/database.ts';
import { problemOf } from '../e2e/stackside.ts';
import { copyOf, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';

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
