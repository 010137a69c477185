/** `stackside check --node`: the index compared with the node that feeds it, at one block. */
import type { Clock } from '../../base/clock.ts';
import { TemporaryError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { toHex } from '../../codec/hex.ts';
import { type CommonBlock, comparison, differenceText, type KindReport } from '../../node/comparison.ts';
import { type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import { requireIndex } from '../../store/files/database.ts';
import { ChainReplacedError } from '../../store/model/read-errors.ts';
import { openSnapshots, type Snapshots } from '../../store/read/snapshots.ts';
import type { PrintingWatch } from './report.ts';

export interface CheckNodeOptions {
  /** Number of facts of each kind; all of them if omitted. */
  sample?: number;
  /** Requests to the node each second. */
  rate: number;
  clock: Clock;
}

/** Maximum number of blocks to sample, since some kinds of facts are rare. */
const MAX_SAMPLED_BLOCKS = 20_000;

/** Maximum number of times a comparison restarts because a fork orphaned its block. */
const MAX_FORKS = 10;

/** Compares at one block. @throws ChainReplacedError, NodeUnreachableError, OperatorError */
async function compareOnce(
  snapshots: Snapshots,
  node: NodeRpc,
  { sample, rate, clock }: CheckNodeOptions,
  progress: (text: string) => void,
): Promise<{ block: CommonBlock; reports: KindReport[] } | null> {
  const { common, compare } = comparison(snapshots, node, { rate, clock });
  const block = await common();
  if (block === null) return null;
  const limits = sample === undefined ? {} : { most: sample, lowest: block.height - MAX_SAMPLED_BLOCKS };
  const reports = await compare(block, limits, (count, kind) =>
    progress(`compared ${count} values at block ${block.height}: ${kind}`),
  );
  return { block, reports };
}

function problemsOf({ differences, differing }: KindReport): string[] {
  const rest = differing - differences.length;
  return [...differences.map(differenceText), ...(rest === 0 ? [] : [`and ${rest} more`])];
}

function nameOf({ kind, compared, unanswered }: KindReport): string {
  const others = [...unanswered].map(([reason, count]) => `${count} not compared (${reason})`);
  return [`${kind}: ${compared} compared`, ...others].join(', ');
}

/**
 * Compares the index of a data directory with a node. The findings have a line for each kind of facts.
 * @returns whether nothing differs
 * @throws OperatorError if the node follows another chain; TemporaryError if the node doesn't answer or is behind
 */
export async function checkAgainstNode(
  directory: string,
  nodeUrl: string,
  node: NodeRpc,
  options: CheckNodeOptions,
  watch: Pick<PrintingWatch, 'found' | 'reading'>,
): Promise<boolean> {
  requireIndex(directory);
  const snapshots = openSnapshots(directory);
  try {
    const comparison = await repeatOnFork(() => compareOnce(snapshots, node, options, watch.reading));
    if (comparison === null) {
      throw new TemporaryError(
        "The index doesn't contain a block yet.",
        'Run the command again once the node has sent one.',
      );
    }
    const { block, reports } = comparison;
    for (const report of reports) watch.found({ name: nameOf(report), problems: problemsOf(report) });
    watch.found({ name: placeText(block), problems: [] });
    if (reports.some(({ differing }) => differing > 0)) return false;
    if (!block.isBehind) return true;
    throw new TemporaryError(
      `The node is behind: it lacks the newest ${plural(block.blocksAbove, 'block')} of the index.`,
      'Run the command again once the node has caught up.',
    );
  } catch (error) {
    if (!(error instanceof NodeUnreachableError)) throw error;
    throw new TemporaryError(
      `The index can't be compared with the node at ${nodeUrl}: ${error.message}.`,
      'Start the node, or name the URL of its RPC interface with --node-rpc.',
      { cause: error },
    );
  } finally {
    snapshots.close();
  }
}

const placeText = ({ height, hash, blocksAbove, isBehind }: CommonBlock): string =>
  `compared at block ${height} (${toHex(hash)})${
    blocksAbove === 0 || isBehind ? '' : `; the node abandoned the branch of ${plural(blocksAbove, 'block')} above it`
  }`;

/** Repeats a comparison while forks orphan its block. */
async function repeatOnFork<T>(compare: () => Promise<T>): Promise<T> {
  for (let forks = 0; ; forks++) {
    try {
      return await compare();
    } catch (error) {
      if (!(error instanceof ChainReplacedError)) throw error;
      if (forks < MAX_FORKS) continue;
      throw new TemporaryError(
        `${MAX_FORKS} forks happened during the comparison.`,
        'Repeat the command, with a smaller --sample.',
        { cause: error },
      );
    }
  }
}
