/** The writer's lock of a data directory. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { lockWriter } from '../../src/store/files/lock.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

const lockModule = join(import.meta.dir, '../../src/store/files/lock.ts');

/** Whether another process gets the writer's place. */
function isFreeForOthers(directory: string): boolean {
  const code = `const { lockWriter } = await import(${JSON.stringify(lockModule)});
    try { lockWriter(${JSON.stringify(directory)}); } catch (error) { process.exit(error.name === 'LockHeldError' ? 1 : 2); }`;
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, '-e', code]);
  if (exitCode > 1) throw new Error(stderr.toString());
  return exitCode === 0;
}

test('the lock is held, for this process and for others, until it is released', () => {
  using directory = dataDirectory();
  const unlock = lockWriter(directory.path);
  // A second try in this process opens the file again: that must not end the lock.
  expect(() => lockWriter(directory.path)).toThrow(OperatorError);
  expect(isFreeForOthers(directory.path)).toBe(false);
  unlock();
  expect(isFreeForOthers(directory.path)).toBe(true);
});
