/** The last block of a lock, and the first one after it: as the tip, and in the past. */
import { expect, test } from 'bun:test';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { bob, type MadeBlock } from '../support/handmade.ts';
import { openNew } from '../support/ingest.ts';
import { locked, poxBlock } from '../support/pox.ts';

const END = 150;
const FAR = 10_000;
const AROUND = [END - 1, END, END + 1];

/** What is locked at Bitcoin heights around the end: when each block is the tip, and looked back at from the last. */
async function lockedAround(until: number, fields: object): Promise<{ atTip: bigint[]; since: bigint[] }> {
  using open = openNew({ journal: false });
  let block: MadeBlock = poxBlock(null, 'lock', [[locked(bob.address, 7n, until, 'pox-4')]], {
    burn_block_height: END - 2,
    ...fields,
  });
  open.ingest.receive(block.event);
  const snapshots = openSnapshots(open.directory);
  const atTip: bigint[] = [];
  for (const burnHeight of AROUND) {
    block = poxBlock(block, `at ${burnHeight}`, [], { burn_block_height: burnHeight });
    open.ingest.receive(block.event);
    const balance = await snapshots.read((read) => read.principals.stxBalance(bob.address));
    atTip.push(balance.locked?.amount ?? 0n);
  }
  const since: bigint[] = [];
  for (const [place] of AROUND.entries()) {
    const history = await snapshots.read((read) => read.principals.stxHistory(bob.address, 2 + place));
    since.push(history.locked?.amount ?? 0n);
  }
  snapshots.close();
  return { atTip, since };
}

test.each([
  ['its own height', END, {}],
  ['the height at which all locks of its contract end', FAR, { pox_v4_unlock_height: END }],
])('a lock holds below %s, and no more from there on', async (_, until, fields) => {
  expect(await lockedAround(until, fields)).toEqual({ atTip: [7n, 0n, 0n], since: [7n, 0n, 0n] });
});
