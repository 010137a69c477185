/** The state that a server reports while its index can't be read. */
import { expect, test } from 'bun:test';
import { OperatorError } from '../../src/base/errors.ts';
import { NoSnapshotError } from '../../src/store/model/read-errors.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { snapshotsBy } from '../support/data/snapshots-by.ts';
import { watching } from '../support/servers/watching.ts';

const failing = (error: Error): Snapshots =>
  snapshotsBy(() => {
    throw error;
  });
const ioError = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ', errno: 266 });

test.each([
  [ioError, "The index can't be read: disk I/O error.", 'Look for disk errors'],
  [new NoSnapshotError('The request took too long'), 'The request took too long.', 'Check that --data'],
  [
    new NoSnapshotError('srv/index.db is old', { cause: new OperatorError('srv/index.db is old', 'Rebuild it.') }),
    'srv/index.db is old.',
    'Rebuild it.',
  ],
])('/ready has the reason, and /metrics still has the other values', async (error, reason, remedy) => {
  using directory = dataDirectory();
  const operations = watching({ snapshots: failing(error) }).operations(directory.path);
  expect(await operations.readiness()).toMatchObject({
    ready: false,
    state: 'cannot_read',
    reason,
    next: expect.stringContaining(remedy),
    height: null,
  });
  expect(await operations.metrics()).toContain('process_resident_memory_bytes');
});

test("throws an error that isn't about the index", async () => {
  const mistake = new TypeError('undefined is not a function');
  await expect(watching({ snapshots: failing(mistake) }).readiness()).rejects.toThrow(mistake);
});
