/** Forks over generated chains: compares orphaned branches and the outcome of their transactions to a plain model. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import {
  alice,
  announcement,
  block,
  bob,
  type MadeBlock,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** Transfers that blocks hold, each on at most one block of a branch. */
const pool = [...Array.from({ length: 8 }, (_, nonce) => transfer(nonce % 2 === 0 ? alice : bob, nonce >> 1, 300))];

interface Node extends MadeBlock {
  parent: Node | null;
  holds: readonly Transaction[];
  /** Whether the block was the highest when it arrived. */
  wasTip: boolean;
}

/** For each block, the number of its parent among the earlier blocks, and its transactions from the pool. */
const tree = fc.array(
  fc.record({ parent: fc.nat(20), takes: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7], { maxLength: 3 }) }),
  { minLength: 3, maxLength: 14 },
);

const lineOf = (node: Node | null): Node[] => (node === null ? [] : [...lineOf(node.parent), node]);

function growNodes(drawn: readonly { parent: number; takes: readonly number[] }[]): Node[] {
  const nodes: Node[] = [];
  let highest = 0;
  for (const [index, { parent: chosen, takes }] of drawn.entries()) {
    // Most blocks build on the newest ones.
    const parent = nodes[Math.max(0, nodes.length - 1 - (chosen % 5))] ?? null;
    const before = new Set(lineOf(parent).flatMap(({ holds }) => holds));
    const holds = takes.map((index) => pool[index]!).filter((transaction) => !before.has(transaction));
    const added = block(parent, `fork ${index}`, holds);
    nodes.push({ ...added, parent, holds, wasTip: added.height > highest });
    highest = Math.max(highest, added.height);
  }
  return nodes;
}

test('forks are the branches off the chain, and each of their transactions has its outcome', async () => {
  const seen = new Seen({
    'a fork of several blocks': 3,
    mined: 3,
    pending: 2,
    'never canonical': 3,
    'once canonical': 3,
    'below a tip': 1,
  });
  await assertProperty(
    fc.asyncProperty(tree, async (drawn) => {
      const nodes = growNodes(drawn);
      using open = openNew();
      open.ingest.receive(announcement(pool));
      for (const { event } of nodes) open.ingest.receive(event);
      const tip = nodes.reduce((best, node) => (node.height > best.height ? node : best));
      const chain = new Set(lineOf(tip));
      const orphans = nodes.filter((node) => !chain.has(node));
      const isFirst = ({ parent }: Node): boolean => parent === null || chain.has(parent);
      const branchOf = (first: Node): Node[] => orphans.filter((node) => lineOf(node).includes(first));
      const canonical = new Set([...chain].flatMap(({ holds }) => holds));
      using snapshots = snapshotsOf(open.directory);
      await snapshots.readLong(async ({ forks }) => {
        const { items } = await forks.page(Number.MAX_SAFE_INTEGER, 50, null);
        const expected = orphans.filter(isFirst).sort((a, b) => b.height - a.height || (a.hash < b.hash ? 1 : -1));
        expect(items.map(({ indexHash }) => `0x${indexHash.toHex()}`)).toEqual(expected.map(({ hash }) => hash));
        for (const [index, first] of expected.entries()) {
          const branch = branchOf(first);
          expect(items[index]).toMatchObject({
            height: first.height,
            blocks: branch.length,
            topHeight: Math.max(...branch.map(({ height }) => height)),
            wasCanonical: branch.some(({ wasTip }) => wasTip),
          });
          seen.add(branch.some(({ wasTip }) => wasTip) ? 'once canonical' : 'never canonical');
          if (branch.length > 1) seen.add('a fork of several blocks');
          // Any of its blocks names the fork.
          const detail = forks.find(Uint8Array.fromHex(branch.at(-1)!.hash.slice(2)));
          expect(detail?.orphans.map(({ indexHash }) => `0x${indexHash.toHex()}`).sort()).toEqual(
            branch.map(({ hash }) => hash).sort(),
          );
          const wasCanonical = (node: Node): boolean =>
            branch.some((other) => other.wasTip && lineOf(other).includes(node));
          for (const { indexHash, wasCanonical: was } of detail?.orphans ?? []) {
            const node = branch.find(({ hash }) => hash === `0x${indexHash.toHex()}`)!;
            expect({ hash: node.hash, was }).toEqual({ hash: node.hash, was: wasCanonical(node) });
            if (was === true && !node.wasTip) seen.add('below a tip');
          }
          const expectedPairs = branch.flatMap((node) => node.holds.map(({ id }) => `${node.hash} ${id}`));
          const mined = detail?.transactions ?? [];
          expect(mined.map(({ txId, orphan }) => `0x${orphan.indexHash.toHex()} 0x${txId.toHex()}`).sort()).toEqual(
            expectedPairs.sort(),
          );
          for (const { txId, fate, height } of mined) {
            const transaction = pool.find(({ id }) => id === `0x${txId.toHex()}`)!;
            const holder = [...chain].find(({ holds }) => holds.includes(transaction));
            if (canonical.has(transaction)) expect({ fate, height }).toEqual({ fate: 'mined', height: holder!.height });
            else expect(['pending', 'dropped']).toContain(fate);
            if (fate === 'mined' || fate === 'pending') seen.add(fate);
          }
        }
        expect(forks.find(Uint8Array.fromHex(tip.hash.slice(2)))).toBeUndefined();
      });
    }),
    { seen, cases: 8 },
  );
});

test('whether a fork was ever on the chain is unknown if it has more blocks than are read', async () => {
  const branch = (name: string, length: number): MadeBlock[] => {
    const blocks: MadeBlock[] = [];
    for (let index = 0; index < length; index++) blocks.push(block(blocks.at(-1) ?? null, `${name} ${index}`, []));
    return blocks;
  };
  using open = openNew();
  const [won, lost] = [branch('won', 103), branch('lost', 102)];
  // The losing branch overtakes only with its last block.
  for (const { event } of [...won.slice(0, 101), ...lost, ...won.slice(101)]) open.ingest.receive(event);
  using snapshots = snapshotsOf(open.directory);
  const { items } = await snapshots.readLong(({ forks }) => forks.page(Number.MAX_SAFE_INTEGER, 10, null));
  expect(items).toMatchObject([{ height: 1, blocks: 100, wasCanonical: null }]);
});

test('the newest blocks have their fees in order, and orphaned blocks from the lowest one on', async () => {
  const paid = [transfer(alice, 0, 300), transfer(bob, 0, 180), transfer(bob, 1, 900)];
  const first = block(null, 'first');
  const orphan = block(first, 'lost');
  const second = block(first, 'second', paid);
  const third = block(second, 'third');
  using open = openNew();
  for (const { event } of [first, orphan, second, third]) open.ingest.receive(event);
  open.ingest.commit();
  const snapshots = openSnapshots(open.directory);
  try {
    snapshots.read(({ blockSeries }) => {
      const { blocks, orphans } = blockSeries.newest(2);
      expect(blocks.map(({ height, fees, transactions }) => ({ height, fees, transactions }))).toEqual([
        { height: 3, fees: [], transactions: 0 },
        { height: 2, fees: [180, 300, 900], transactions: 3 },
      ]);
      expect(blocks[1]?.size).toBe(paid.reduce((sum, { raw }) => sum + raw.length / 2 - 1, 0));
      expect(orphans.map(({ height, indexHash }) => [height, `0x${indexHash.toHex()}`])).toEqual([[2, orphan.hash]]);
      expect(blockSeries.newest(1).orphans).toEqual([]);
    });
  } finally {
    await snapshots.close();
  }
});
