/** An index that starts at a block, and the node's account data at that block. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BOOT_ADDRESS } from '../../src/codec/address.ts';
import type { SimulatedChain } from '../../src/devnet/chain.ts';
import { comparison } from '../../src/node/comparison.ts';
import type { AccountFacts } from '../../src/store/queries/blocks/facts.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { tables } from '../support/data/tables.ts';
import { applyWithAnswers } from '../support/events/answered.ts';
import { beginnings } from '../support/events/beginning.ts';
import { forks, grown } from '../support/events/forked-chain.ts';
import { winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import { atOnce, rpcOf, served } from '../support/servers/simulated-rpc.ts';

const boots: readonly string[] = Object.values(BOOT_ADDRESS);

/**
 * Compares balances without locks that the node ended below the first block, by a Bitcoin block of an extended tenure.
 */
function comparable(principal: string, { balance, locked, unlockHeight, nonce }: AccountFacts, view: number) {
  const isLocked = locked > 0n && unlockHeight > view;
  const stx = isLocked ? { balance, locked, unlockHeight } : { balance: balance + locked };
  return { principal, ...stx, ...(boots.includes(principal) ? {} : { nonce }) };
}

/** Compares all data of an index with its node. */
async function agrees(directory: string, chain: SimulatedChain): Promise<void> {
  using snapshots = snapshotsOf(directory);
  const { common, compare } = comparison(snapshots, rpcOf(served(chain)), atOnce);
  const start = await common();
  expect(start?.height).toBe(chain.tip.height);
  expect((await compare(start!)).flatMap(({ differences }) => differences)).toEqual([]);
}

describe('an index that begins at any block', () => {
  test('equals the whole index in balances, locks and nonces at every height, with forks between the answers', async () => {
    const seen = new Seen({ accounts: 20, heights: 5, locked: 1, answers: 10 });
    await assertProperty(
      fc.asyncProperty(forks(), fc.nat(), fc.nat(4), async (generated, choice, gap) => {
        const { chain, events } = grown(generated);
        const possible = beginnings(events);
        const beginning = possible[choice % Math.max(1, possible.length)];
        if (beginning === undefined) return;
        using open = await applyWithAnswers(beginning.events, chain, (number) => gap > 0 && number % gap === 0);
        expect(checkAndRecount(open.directory).flatMap(({ problems }) => problems)).toEqual([]);
        using straight = await applyWithAnswers(winningChain(beginning.events), chain, () => true);
        expect(tables(open.directory)).toEqual(tables(straight.directory));
        await agrees(open.directory, chain);
        using directory = ingestOf(events.map(received));
        const [begunAt, whole] = [openSnapshots(open.directory), openSnapshots(directory.path)];
        try {
          const view = chain.block(beginning.parent)!.burnView.height;
          const accounts = await begunAt.readLong(async (reader) => {
            const touched = new Set<string>();
            for (let height = beginning.height; height <= reader.height(); height++) {
              for (const principal of reader.facts.touched(height, height).principals) touched.add(principal);
            }
            return [...touched];
          });
          for (const principal of accounts) {
            const [balance, wholeBalance, nonces, wholeNonces] = await Promise.all([
              begunAt.read((reader) => reader.principals.stxBalance(principal)),
              whole.read((reader) => reader.principals.stxBalance(principal)),
              begunAt.read((reader) => reader.principals.nonces(principal)),
              whole.read((reader) => reader.principals.nonces(principal)),
            ]);
            expect(begunAt.read((reader) => reader.principals.knowledge(principal))).toBe('known');
            expect([principal, balance.balance]).toEqual([principal, wholeBalance.balance]);
            // Transactions of the genesis block use no nonce at the node.
            if (!boots.includes(principal)) expect(nonces.lastConfirmed).toBe(wholeNonces.lastConfirmed);
            for (let height = beginning.height; height <= chain.tip.height; height++) {
              const accountIn = (reader: { facts: { account(p: string, h: number): AccountFacts } }) =>
                reader.facts.account(principal, height);
              const [account, wholeAccount] = [begunAt.read(accountIn), whole.read(accountIn)];
              expect(comparable(principal, account, view)).toEqual(comparable(principal, wholeAccount, view));
              seen.add('locked', wholeAccount.locked > 0n ? 1 : 0);
            }
          }
          seen.add('accounts', accounts.length);
          seen.add('heights', chain.tip.height - beginning.height + 1);
          seen.add('answers', gap > 0 ? accounts.length : 0);
        } finally {
          begunAt.close();
          whole.close();
        }
      }),
      { seen, cases: 1 },
    );
  });
});
