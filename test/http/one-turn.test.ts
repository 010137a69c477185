/** Reads of one turn: a snapshot ends when its request returns, and the compiler rejects a request that continues to read. */
import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { route } from '../../src/http/route.ts';
import { openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';

const declared = {
  path: '/height',
  operationId: 'getHeight',
  summary: 'The height',
  tag: 'Test',
  response: Type.Integer(),
  etag: null,
  history: 'none',
} as const;

test('the compiler rejects a one-turn request that returns a promise', () => {
  using open = openNew();
  using snapshots = snapshotsOf(open.directory);
  const height: number = snapshots.read((read) => read.height());
  expect(height).toBe(0);
  // @ts-expect-error: the snapshot has ended before the promise is settled.
  expect(snapshots.read(async (read) => read.height())).toBeInstanceOf(Promise);
});

test('the compiler allows an asynchronous handler only for a route with long reads or without the index', () => {
  const routes = [
    route({ ...declared, handle: ({ read }) => read.height() }),
    route({ ...declared, long: true, handle: async ({ read }) => read.height() }),
    route({ ...declared, snapshot: false, handle: async () => 0 }),
    // @ts-expect-error: the snapshot has ended before the promise is settled.
    route({ ...declared, handle: async ({ read }) => read.height() }),
  ];
  expect(routes.map(({ snapshot }) => snapshot)).toEqual([true, true, false, true]);
});
