import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import { openNew, received } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';

const events = [...devnetEvents({ seed: 11, blocks: 30, transactionsPerBlock: 6, forkEvery: 7, forkDepth: 3 })];

describe('changes', () => {
  test('can be read together with their event', async () => {
    using open = openNew();
    using snapshots = snapshotsOf(open.directory);
    let last = 0;
    const seen = new Map<string, number>();
    for (const event of events) {
      const outcome = open.ingest.receive(received(event));
      await snapshots.readLong(async (read) => {
        const changes = read.changes.after(last, 1000);
        expect(read.changes.newest()).toBe(changes.at(-1)?.id ?? last);
        last = changes.at(-1)?.id ?? last;
        if (outcome === 'repeated') expect(changes).toEqual([]);
        for (const { kind, subject } of changes) {
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
          if (kind === 'block') expect(read.blocks.find({ hash: subject })).toBeDefined();
          if (kind === 'orphan' || kind === 'undone') {
            expect(read.blocks.find({ hash: subject })).toBeUndefined();
            expect(read.changes.orphan(subject)).toBeDefined();
          }
          if (kind === 'admitted' || kind === 'restored' || kind === 'dropped') {
            const match = read.transactions.find(subject);
            expect(match?.mined).toBe(false);
            expect(match?.transaction.status).toMatch(kind === 'dropped' ? /^dropped_/ : /^pending$/);
          }
        }
      });
    }
    const kinds = ['block', 'orphan', 'undone', 'admitted', 'restored', 'dropped'];
    for (const kind of kinds) expect([kind, (seen.get(kind) ?? 0) > 0]).toEqual([kind, true]);
  });

  test('leave out block 0', async () => {
    using open = openNew();
    const [genesis, first] = events.filter(({ path }) => path === '/new_block').map(received);
    expect(open.ingest.receive(genesis!)).toBe('applied');
    using snapshots = snapshotsOf(open.directory);
    expect(snapshots.read((read) => read.changes.after(0, 10))).toEqual([]);
    open.ingest.receive(first!);
    expect(snapshots.read((read) => read.changes.after(0, 10))).toMatchObject([{ kind: 'block' }]);
  });

  test('after a fork list the undone blocks, highest first, then the blocks of the winning branch, lowest first', async () => {
    using open = openNew();
    using snapshots = snapshotsOf(open.directory);
    let forks = 0;
    let last = 0;
    for (const event of events) {
      const logged = open.logged.length;
      open.ingest.receive(received(event));
      const reverted = open.logged.slice(logged).filter((entry) => entry.event === 'block_reverted').length;
      await snapshots.readLong(async (read) => {
        const changes = read.changes.after(last, 1000);
        last = changes.at(-1)?.id ?? last;
        if (reverted === 0) return;
        forks++;
        const undone = changes.filter(({ kind }) => kind === 'undone');
        expect(changes.slice(0, reverted)).toEqual(undone);
        const orphans: (number | undefined)[] = [];
        for (const { subject } of undone) orphans.push(read.blocks.announced(subject, false)?.block.height);
        const hashes = changes.filter(({ kind }) => kind === 'block').map(({ subject }) => subject);
        const heights: number[] = [];
        for (const hash of hashes) heights.push(read.blocks.find({ hash })?.height ?? 0);
        const tip = read.chain.tip()?.height ?? 0;
        expect(orphans).toEqual(heights.slice(0, -1).toReversed());
        expect(heights).toEqual(Array.from({ length: reverted + 1 }, (_, i) => tip - reverted + i));
      });
    }
    expect(forks).toBeGreaterThan(0);
  });

  test('are not notified of imports, nor of an event that fails', async () => {
    using open = openNew();
    using snapshots = snapshotsOf(open.directory);
    for (const event of events.slice(0, 30)) open.ingest.apply(received(event));
    open.ingest.commit();
    const orphan = { ...JSON.parse(events.find(({ path }) => path === '/new_block')?.body ?? '') };
    orphan.block_height = 40;
    orphan.index_block_hash = `0x${'12'.repeat(32)}`;
    orphan.parent_index_block_hash = `0x${'34'.repeat(32)}`;
    expect(() => open.ingest.receive({ path: '/new_block', text: JSON.stringify(orphan), receivedAt: 1 })).toThrow(
      'DB does not contain a parent block',
    );
    expect(snapshots.read((read) => read.changes.newest())).toBe(0);
  });

  test("name every principal of a block's transactions and matured rewards", async () => {
    using open = openNew();
    using snapshots = snapshotsOf(open.directory);
    for (const event of events) open.ingest.apply(received(event));
    open.ingest.commit();
    using db = new Database(indexPath(open.directory), { readonly: true });
    const rewarded = db.query<{ address: string }, [number]>(
      'SELECT p.address FROM miner_rewards r JOIN principals p ON p.id = r.recipient_id WHERE r.height = ?1',
    );
    await snapshots.readLong(async (read) => {
      const tip = read.chain.tip()?.height ?? 0;
      for (let height = 1; height <= tip; height++) {
        const { txIds, principals } = read.changes.parties(height);
        const page = read.transactions.ofBlock({ height }, 50, null, models);
        expect(txIds.map((id) => id.toHex())).toEqual((page?.items ?? []).map(({ txId }) => txId.toHex()).reverse());
        expect(new Set(principals).size).toBe(principals.length);
        // Each principal has a transaction in the block, or a reward that matured in it.
        for (const principal of principals) {
          if (rewarded.all(height).some(({ address }) => address === principal)) continue;
          const list = read.transactions.ofPrincipal(principal, 50, null, models);
          const locksOnly = list.items.length === 0;
          if (list.total <= 50 && !locksOnly) {
            expect(list.items.some(({ transaction }) => transaction.block.height === height)).toBe(true);
          }
        }
        const moves = read.changes.nftEvents(height);
        for (const { txId, eventIndex, asset, action } of moves) {
          const listed = read.events.ofTransaction(txId, 200, null);
          const event = listed?.items.find(({ index }) => index === eventIndex);
          expect(event).toMatchObject({ kind: 'nft', asset, action });
        }
      }
    });
  });
});
