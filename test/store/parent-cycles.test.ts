/** Every walk along parents ends, even if a node announces blocks that are each other’s parents. */
import { expect, test } from 'bun:test';
import { ForeignChainError } from '../../src/store/ingest/chain-identity.ts';
import { openNew } from '../support/data/ingest.ts';
import { block, blocksOn, hashOf } from '../support/events/handmade.ts';
import { burnBlock } from '../support/events/pox.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

test('Bitcoin blocks that are each other’s parents make no branch', () => {
  using open = openNew();
  const events = [
    burnBlock(9, 'below', 'root', []),
    burnBlock(10, 'left', 'right', []),
    burnBlock(11, 'right', 'left', []),
    // Both are orphaned; the next block builds on one of them.
    burnBlock(10, 'other', 'below', []),
    burnBlock(12, 'next', 'right', []),
  ];
  for (const event of events) expect(open.ingest.receive(event)).toBe('applied');
  expect(problemsIn(open.directory)).toEqual([]);
});

test("a Bitcoin block doesn't get a branch if its parent isn't at the height below", () => {
  using open = openNew();
  const events = [
    burnBlock(10, 'orphan', 'root', []),
    burnBlock(10, 'other', 'root', []),
    // Its parent has the same height: restoring the parent would put two blocks at one height.
    burnBlock(10, 'same', 'orphan', []),
    burnBlock(0, 'far', 'other', []),
  ];
  for (const event of events) expect(open.ingest.receive(event)).toBe('applied');
  expect(problemsIn(open.directory)).toEqual([]);
});

test('a rival of block 1 on Bitcoin blocks that are each other’s parents is one of another Bitcoin', () => {
  using open = openNew();
  open.ingest.receive(burnBlock(101, 'block 1', 'below ours', []));
  for (const { event } of blocksOn(null, ...'1234567')) open.ingest.receive(event);
  open.ingest.receive(burnBlock(101, 'theirs', 'below theirs', []));
  open.ingest.receive(burnBlock(100, 'below theirs', 'theirs', []));
  const rival = block(null, 'rival', [], { burn_block_hash: hashOf('burn theirs'), burn_block_height: 101 });
  expect(() => open.ingest.receive(rival.event)).toThrow(ForeignChainError);
});
