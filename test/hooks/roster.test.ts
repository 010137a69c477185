/** What the live hooks in memory are read again for, once a transaction is undone. */
import { expect, test } from 'bun:test';
import type { Block } from '../../src/chain/block.ts';
import { liveHooks } from '../../src/hooks/evaluation/steps.ts';
import type { HookProgress } from '../../src/store/hooks/model.ts';

/** A roster over tables of no hooks, in which nothing is committed. */
function opened() {
  const stored: HookProgress = { evaluated: 7, cursor: { height: 3, hash: new Uint8Array(32) }, evaluatedAt: 1 };
  let reads = 0;
  const live = () => {
    reads += 1;
    return [];
  };
  const roster = liveHooks({ live, progress: () => stored, setProgress() {} } as never);
  roster.begin();
  roster.committed();
  return { roster, stored, reads: () => reads };
}

const block = { height: 4, indexBlockHash: new Uint8Array(32).fill(4) } as Block;
const hook = { id: 1, uuid: 'u', name: 'n', options: {}, conditions: [] };

test('a block that is reverted has no hook read again, but where they stand', () => {
  const { roster, stored, reads } = opened();
  roster.begin();
  roster.advance(block, 2);
  expect(roster.progress().evaluated).toBe(8);
  roster.undone();
  roster.begin();
  expect([roster.progress(), reads()]).toEqual([stored, 1]);
});

test('a change of the hooks that is rolled back has them read again, and so has what was read in the same transaction', () => {
  const { roster, reads } = opened();
  roster.begin();
  roster.include(hook);
  roster.undone();
  roster.begin();
  expect([roster.get(hook.id), reads()]).toEqual([undefined, 2]);
  roster.undone();
  roster.begin();
  expect(reads()).toBe(3);
  roster.committed();
  roster.begin();
  roster.exclude(hook.id);
  roster.undone();
  roster.begin();
  expect(reads()).toBe(4);
});
