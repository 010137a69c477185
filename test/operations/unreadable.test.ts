/** The state that a server reports while its index can't be read. */
import { expect, test } from 'bun:test';
import { Registry } from 'prom-client';
import { serverOperations } from '../../src/commands/serve/operations.ts';
import { nodeRpc } from '../../src/node/rpc.ts';
import { SnapshotCutOffError } from '../../src/store/model/read-errors.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { snapshotsBy } from '../support/data/snapshots-by.ts';
import { NO_NODE } from '../support/servers/serving.ts';

const failing = (error: Error): Snapshots => snapshotsBy(() => Promise.reject(error));
const ioError = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ', errno: 266 });

test.each([
  [ioError, "The index can't be read: disk I/O error."],
  [new SnapshotCutOffError('The request took too long'), 'The request took too long.'],
])('/ready says why, and /metrics still has the rest', async (error, reason) => {
  using directory = dataDirectory();
  const operations = serverOperations({
    directory: directory.path,
    snapshots: failing(error),
    node: nodeRpc(NO_NODE),
    registry: new Registry(),
    health: null,
    threads: async () => [],
    stalled: () => null,
    behind: () => null,
    now: () => 0,
  });
  expect(await operations.readiness()).toMatchObject({ ready: false, reason, height: null });
  expect(await operations.metrics()).toContain('process_resident_memory_bytes');
});

test('a mistake of ours is not taken for an index that fails', async () => {
  using directory = dataDirectory();
  const mistake = new TypeError('undefined is not a function');
  const options = {
    directory: directory.path,
    snapshots: failing(mistake),
    node: nodeRpc(NO_NODE),
    stalled: () => null,
    behind: () => null,
    now: () => 0,
  };
  const operations = serverOperations({ ...options, registry: new Registry(), health: null, threads: async () => [] });
  await expect(operations.readiness()).rejects.toThrow(mistake);
});
