/** Live hooks in memory: the values that are reloaded after a transaction is rolled back. */
import { expect, test } from 'bun:test';
import type { Block } from '../../src/chain/block.ts';
import { liveHooks } from '../../src/hooks/evaluation/live-hooks.ts';
import type { HookProgress } from '../../src/store/hooks/model.ts';

/** Live hooks over tables without hooks and without commits. */
function openHooks() {
  const stored: HookProgress = { evaluated: 7, cursor: { height: 3, hash: new Uint8Array(32) }, evaluatedAt: 1 };
  let reads = 0;
  const live = () => {
    reads += 1;
    return [];
  };
  const liveOnes = liveHooks({ live, progress: () => stored, setProgress() {} } as never);
  liveOnes.load();
  liveOnes.committed();
  return { liveOnes, stored, reads: () => reads };
}

const block = { height: 4, indexBlockHash: new Uint8Array(32).fill(4) } as Block;
const hook = { id: 1, uuid: 'u', name: 'n', options: {}, conditions: [] };

test("after a block's transaction is rolled back, only the progress is reloaded", () => {
  const { liveOnes, stored, reads } = openHooks();
  liveOnes.load();
  liveOnes.advance(block, 2);
  expect(liveOnes.progress().evaluated).toBe(8);
  liveOnes.undone();
  liveOnes.load();
  expect([liveOnes.progress(), reads()]).toEqual([stored, 1]);
});

test('after a hook change is rolled back, the hooks are reloaded, even if they were loaded in that transaction', () => {
  const { liveOnes, reads } = openHooks();
  liveOnes.load();
  liveOnes.include(hook);
  liveOnes.undone();
  liveOnes.load();
  expect([liveOnes.get(hook.id), reads()]).toEqual([undefined, 2]);
  liveOnes.undone();
  liveOnes.load();
  expect(reads()).toBe(3);
  liveOnes.committed();
  liveOnes.load();
  liveOnes.exclude(hook.id);
  liveOnes.undone();
  liveOnes.load();
  expect(reads()).toBe(4);
});
