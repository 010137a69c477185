/** Projected blocks: rules for any pending transactions, and the fee for the first block. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  BLOCK_LIMITS,
  type Candidate,
  feeForFirstBlock,
  type Projection,
  projectionOf,
  rateOf,
} from '../../src/chain/projection.ts';
import { assertProperty, Seen } from '../support/property.ts';

interface Drawn {
  sender: number;
  nonce: number;
  sponsor: { account: number; nonce: number } | null;
  fee: number;
  /** Shares of a block in hundredths: of its reads, and of its bytes. */
  reads: number;
  bytes: number;
  receivedAt: number;
}

const account = fc.nat(4);
const nonce = fc.nat(3);
const drawn: fc.Arbitrary<Drawn> = fc.record({
  sender: account,
  nonce,
  sponsor: fc.option(fc.record({ account, nonce }), { freq: 4 }),
  fee: fc.integer({ min: 0, max: 40 }).map((steps) => steps * 1_000),
  reads: fc.constantFrom(0, 5, 30, 60, 120),
  bytes: fc.integer({ min: 1, max: 40 }),
  receivedAt: fc.nat(2),
});

const candidateOf = ({ sender, nonce, sponsor, fee, reads, bytes, receivedAt }: Drawn, index: number): Candidate => ({
  txId: new Uint8Array(32).fill(index),
  fee,
  uses: BLOCK_LIMITS.map((limit, index) =>
    index === 1 ? Math.round((limit * reads) / 100) : index === 5 ? Math.round((limit * bytes) / 100) : 0,
  ),
  receivedAt,
  spends: [{ account: sender, nonce }, ...(sponsor === null || sponsor.account === sender ? [] : [sponsor])],
});

/** Pending transactions without two for the same nonce, as in a node's mempool. */
const withoutRivals = (candidates: readonly Candidate[]): Candidate[] => {
  const spent = new Set<string>();
  return candidates.filter(({ spends }) => {
    const keys = spends.map((spend) => `${spend.account} ${spend.nonce}`);
    if (keys.some((key) => spent.has(key))) return false;
    for (const key of keys) spent.add(key);
    return true;
  });
};

/** The next nonces of the accounts, by number. */
const nextNonces = fc.array(fc.constantFrom(0, 0, 0, 1, 2, null), { minLength: 5, maxLength: 5 });
const project = (candidates: readonly Candidate[], next: readonly (number | null)[]): Promise<Projection> =>
  projectionOf(
    candidates,
    (account) => next[account] ?? null,
    () => undefined,
  );

const ids = ({ blocks }: Projection): string[][] =>
  blocks.map(({ transactions }) => transactions.map(({ txId }) => txId.toHex()));

/** The same result by searching all remaining transactions for each position. */
function expectedBlocks(candidates: readonly Candidate[], starting: readonly (number | null)[]): string[][] {
  const next = new Map<number, number>();
  for (const { spends } of candidates) {
    for (const { account, nonce } of spends) {
      next.set(account, starting[account] ?? Math.min(next.get(account) ?? nonce, nonce));
    }
  }
  const remaining = new Set(candidates);
  const blocks: { ids: string[]; uses: number[] }[] = [];
  for (;;) {
    const [first] = [...remaining]
      .filter(({ spends }) => spends.every(({ account, nonce }) => next.get(account) === nonce))
      .sort((a, b) => rateOf(b) - rateOf(a) || a.receivedAt - b.receivedAt || Buffer.compare(a.txId, b.txId));
    if (first === undefined) return blocks.map((block) => block.ids);
    remaining.delete(first);
    for (const { account, nonce } of first.spends) next.set(account, nonce + 1);
    const last = blocks.at(-1);
    const uses = first.uses.map((amount, index) => amount + (last?.uses[index] ?? 0));
    if (last !== undefined && uses.every((amount, index) => amount <= BLOCK_LIMITS[index]!)) {
      last.ids.push(first.txId.toHex());
      last.uses = uses;
    } else blocks.push({ ids: [first.txId.toHex()], uses: [...first.uses] });
  }
}

test('blocks respect nonces and limits, have each transaction once, and equal a plain implementation', async () => {
  const seen = new Seen({
    'a second block': 30,
    'a sponsored one': 30,
    'one that waits': 30,
    'one larger than a block': 10,
  });
  await assertProperty(
    fc.asyncProperty(fc.array(drawn, { maxLength: 25 }), nextNonces, async (list, next) => {
      const candidates = list.map(candidateOf);
      const projection = await project(candidates, next);
      const placed = projection.blocks.flatMap(({ transactions }) => transactions);
      expect(new Set(ids(projection).flat()).size).toBe(placed.length);
      expect(projection.places.size).toBe(placed.length);
      const used = new Map<number, number>();
      for (const { spends } of placed) {
        for (const { account, nonce } of spends) {
          expect(nonce).toBe((used.get(account) ?? projection.nextNonces.get(account)! - 1) + 1);
          used.set(account, nonce);
        }
      }
      for (const { transactions, uses } of projection.blocks) {
        expect(uses).toEqual(BLOCK_LIMITS.map((_, i) => transactions.reduce((sum, tx) => sum + tx.uses[i]!, 0)));
        const isWithin = uses.every((amount, index) => amount <= BLOCK_LIMITS[index]!);
        if (!isWithin) expect(transactions.length).toBe(1);
        if (!isWithin) seen.add('one larger than a block');
      }
      expect(ids(projection)).toEqual(expectedBlocks(candidates, next));
      // The order of the candidates has no effect.
      expect(ids(await project(candidates.toReversed(), next))).toEqual(ids(projection));
      if (projection.blocks.length > 1) seen.add('a second block');
      if (placed.some(({ spends }) => spends.length > 1)) seen.add('a sponsored one');
      if (placed.length < candidates.length) seen.add('one that waits');
    }),
    { seen },
  );
});

test('a transaction is in the first block with the computed fee, and not with less', async () => {
  const seen = new Seen({ 'more than it offers': 20, 'no fee would do': 20, 'any fee': 20 });
  await assertProperty(
    fc.asyncProperty(fc.array(drawn, { minLength: 1, maxLength: 20 }), async (list) => {
      const next = [0, 0, 0, 0, 0];
      const candidates = withoutRivals(list.map(candidateOf));
      const projection = await project(candidates, next);
      for (const candidate of candidates) {
        const blockWith = async (fee: number): Promise<number | undefined> => {
          const others = candidates.filter((other) => other !== candidate);
          return (await project([...others, { ...candidate, fee }], next)).places.get(candidate.txId.toHex())?.block;
        };
        const fee = feeForFirstBlock(candidate, projection.blocks, (account) => projection.nextNonces.get(account)!);
        if (fee === null) {
          expect(await blockWith(1e15)).not.toBe(1);
          seen.add('no fee would do');
        } else if (fee === candidate.uses.at(-1)) {
          expect(await blockWith(0)).toBe(1);
          seen.add('any fee');
        } else {
          expect(await blockWith(fee)).toBe(1);
          const cheaper = { ...candidate, fee: fee - 1 };
          // A transaction with an equal rate comes before or after it, by their receipt.
          const isEqual = candidates.some((other) => other !== candidate && rateOf(other) === rateOf(cheaper));
          if (!isEqual) expect(await blockWith(cheaper.fee)).not.toBe(1);
          if (fee > candidate.fee) seen.add('more than it offers');
        }
      }
    }),
    { seen, cases: 60 },
  );
});
