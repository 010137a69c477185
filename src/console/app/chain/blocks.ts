/** Blocks as the console shows them: the newest in tenures, the expected ones, and the branches of a fork. */
import type { Answer } from '../api/api.ts';
import { count, plural, type Tone } from './format.ts';

export type NewestBlocks = Answer<'/stackside/v1/blocks/newest'>;
export type StripBlock = NewestBlocks['blocks'][number];

/** Returns the newest blocks by tenure, newest first, each with the orphaned blocks at its height or above the tip. */
export function groupByTenure({ blocks, orphans }: NewestBlocks) {
  const tip = blocks[0]?.height ?? 0;
  const blocksWithOrphans = blocks.map((block) => ({
    block,
    orphans: orphans.filter(({ height }) => Math.min(height, tip) === block.height),
  }));
  const tenures = Map.groupBy(blocksWithOrphans, ({ block }) => block.burn_block_height);
  return [...tenures].map(([bitcoinHeight, entries]) => ({ bitcoinHeight, entries }));
}

/** Minimum fill of a block in per cent, so that its colour is visible. */
const MIN_FILL = 6;

/** Returns the fill of a block in per cent: its size compared to the largest block. */
export const fillOf = (size: number, largest: number): number =>
  largest === 0 ? MIN_FILL : Math.max(MIN_FILL, Math.round((100 * size) / largest));

export type Projection = Answer<'/stackside/v1/mempool/blocks'>;
export type ProjectedBlock = Projection['blocks'][number];

/** Median fees in micro-STX at which the colour of a block changes. */
const LEVELS = [1_000, 10_000, 100_000, 1_000_000];

/** Returns the colour of a block by its median fee, in micro-STX: from 0 for the lowest fees to 4. */
export const feeLevel = (median: string): number => LEVELS.filter((level) => Number(median) >= level).length;

/** Returns `Next block`, or the number of earlier blocks: `1 block later`. */
export const blockTitle = (block: number): string =>
  block === 1 ? 'Next block' : `${plural(block - 1, 'block')} later`;

/** Describes why no block is expected. */
export const noBlockText = ({ total }: Projection): string =>
  total === 0 ? 'No transaction is pending.' : 'No pending transaction can be mined yet.';

/** Describes the transactions outside of the expected blocks, and those that aren't shown. */
export function projectionNotes({ total, considered, waiting, beyond }: Projection): string[] {
  const note = (number: number, text: string) => (number > 0 ? [`${plural(number, 'transaction')} ${text}`] : []);
  return [
    ...note(beyond, 'would be in later blocks.'),
    ...note(waiting.nonce, 'can’t be mined before another with a lower nonce.'),
    ...note(waiting.balance, 'can’t be paid from the account’s balance.'),
    ...(considered < total ? [`The blocks contain the ${count(considered)} transactions with the highest fees.`] : []),
  ];
}

/** Returns the name of an expected block in a sentence: `the next block`. */
export const expectedBlockText = (block: number): string =>
  block === 1 ? 'the next block' : `the block after ${plural(block - 1, 'other')}`;

type Fork = Pick<Answer<'/stackside/v1/forks/{hash}'>, 'orphaned' | 'canonical'>;
type ForkBlock = Fork['orphaned'][number];

/** Returns both branches by height. Each of several orphaned blocks at one height gets a row, with its index. */
export function branchRows({ orphaned, canonical }: Fork) {
  const heights = new Set([...orphaned, ...canonical].map(({ height }) => height));
  return [...heights]
    .sort((a, b) => a - b)
    .flatMap((height) => {
      const canonicalBlock = canonical.find((block) => block.height === height) ?? null;
      const orphanedBlocks: (ForkBlock | null)[] = orphaned.filter((block) => block.height === height);
      return (orphanedBlocks.length === 0 ? [null] : orphanedBlocks).map((block, index) => ({
        height,
        index,
        orphaned: block,
        canonical: index === 0 ? canonicalBlock : null,
      }));
    });
}

/**
 * Returns the orphaned block with a hash, and whether the chain has another block at its height; null if the fork doesn't
 * show the block. @param hash either of its hashes, with or without 0x
 */
export function orphanedBlock({ orphaned, canonical }: Fork, hash: string) {
  const hex = `0x${hash.toLowerCase().replace(/^0x/, '')}`;
  const block = orphaned.find((candidate) => candidate.index_block_hash === hex || candidate.hash === hex);
  if (block === undefined) return null;
  return { ...block, replacement: canonical.some(({ height }) => height === block.height) };
}

type Fate = Answer<'/stackside/v1/forks/{hash}'>['transactions'][number]['fate'];

/** Descriptions of a transaction's fate after its block was orphaned. */
export const FATES: Readonly<Record<Fate, { tone: Tone; words: string }>> = {
  mined: { tone: 'ok', words: 'in block' },
  pending: { tone: 'wait', words: 'pending again' },
  dropped: { tone: 'bad', words: 'dropped' },
  lost: { tone: 'plain', words: 'lost' },
};
