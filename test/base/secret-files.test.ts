/** Secrets in files that a flag names. */
import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { secretFileText } from '../../src/base/files.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

// A pipe ends only after its writer has deleted it, so the file is gone once its text is read.
test.skipIf(process.platform === 'win32')('returns a secret if its file is deleted during the read', async () => {
  using folder = dataDirectory();
  const file = join(folder.path, 'secret');
  expect(Bun.spawnSync(['mkfifo', '-m', '600', file]).success).toBe(true);
  const writer = Bun.spawn(['sh', '-c', 'exec 3>"$0"; rm "$0"; echo hidden >&3', file]);
  expect(secretFileText(file, '--admin-key')).toBe('hidden');
  expect(await writer.exited).toBe(0);
  expect(existsSync(file)).toBe(false);
});
