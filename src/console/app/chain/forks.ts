/** The branches of a fork in rows, and the fates of its transactions in words. */
import type { Answer } from '../api/answer.ts';

type Fork = Pick<Answer<'/stackside/v1/forks/{hash}'>, 'orphaned' | 'canonical'>;
type ForkBlock = Fork['orphaned'][number];

interface BranchRow {
  height: number;
  /** Index of the orphaned block among the orphaned blocks at its height. */
  index: number;
  orphaned: ForkBlock | null;
  canonical: ForkBlock | null;
}

/** Returns both branches by height. Each of several orphaned blocks at one height gets a row. */
export function branchRows({ orphaned, canonical }: Fork): BranchRow[] {
  const heights = new Set([...orphaned, ...canonical].map(({ height }) => height));
  return [...heights]
    .sort((a, b) => a - b)
    .flatMap((height) => {
      const beside = canonical.find((block) => block.height === height) ?? null;
      const own = orphaned.filter((block) => block.height === height);
      return (own.length === 0 ? [null] : own).map((block, index) => ({
        ...{ height, index, orphaned: block },
        canonical: index === 0 ? beside : null,
      }));
    });
}

type Fate = Answer<'/stackside/v1/forks/{hash}'>['transactions'][number]['fate'];

/** Descriptions of a transaction's fate after its block was orphaned. */
export const FATES: Readonly<Record<Fate, { tone: 'ok' | 'bad' | 'wait' | 'plain'; words: string }>> = {
  mined: { tone: 'ok', words: 'in block' },
  pending: { tone: 'wait', words: 'pending again' },
  dropped: { tone: 'bad', words: 'dropped' },
  lost: { tone: 'plain', words: 'lost' },
};
