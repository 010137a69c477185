/**
 * Compares the index with its node. It compares facts of the newest blocks, or of all blocks, each at one block
 * (`?tip=`), for which a node's answer never changes. New blocks and forks during the comparison therefore cause no
 * differences.
 */
import { bytesEqual } from '../base/bytes-equal.ts';
import { OperatorError, TemporaryError } from '../base/errors.ts';
import { chainIdText, networkOf } from '../chain/network.ts';
import { BOOT_ADDRESS } from '../codec/address.ts';
import { toHex } from '../codec/hex.ts';
import { ChainReplacedError } from '../store/model/read-errors.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { ReadNow, Snapshots } from '../store/read/snapshots.ts';
import {
  type BlockAt,
  changingKinds,
  type Fact,
  type FactKind,
  factKinds,
  factsOf,
  NoAnswer,
  type RequestOptions,
  ThrottledNode,
} from './facts.ts';
import { type NodeRpc, NodeUnreachableError } from './rpc.ts';

export interface Difference {
  kind: FactKind;
  subject: string;
  /** The differing values; null if the index or the node doesn't have the thing. */
  values: { name: string; index: string | null; node: string | null }[];
  /** The first block at which it differs; null if Stackside doesn't look for it. */
  first: BlockAt | null;
}

export interface KindReport {
  kind: FactKind;
  compared: number;
  differences: Difference[];
  /** Number of differing facts, including unlisted ones. */
  differing: number;
  /** Number of facts by the reason why the node's answer could not be compared. */
  unanswered: Map<string, number>;
}

/** The block at which the index and the node are compared. */
export interface CommonBlock extends BlockAt {
  /** Number of higher blocks in the index, which the node doesn't have. */
  blocksAbove: number;
  /** Whether the node is behind: it has seen fewer Bitcoin blocks than the index. */
  isBehind: boolean;
  /** Height of the newest Bitcoin block that the node has seen. */
  burnHeight: number;
}

/** Maximum number of differences to list and examine per kind. */
const MAX_LISTED = 10;

export function comparison(snapshots: Snapshots, rpc: NodeRpc, options: RequestOptions) {
  const node = new ThrottledNode(rpc, options);

  const hashAt = (reader: Reader, height: number) => reader.chain.blockHash({ height });

  const firstHeight = (): number => snapshots.read((reader) => reader.chain.historyFrom() ?? 1);

  function blockAt(height: number): BlockAt | null {
    const hash = snapshots.read((reader) => hashAt(reader, height));
    return hash === undefined ? null : { height, hash };
  }

  /**
   * Returns the highest block of the index that the node has, canonical or not; null if it has none.
   * @throws NodeUnreachableError if the answer isn't clear
   */
  async function findHighestKnown(tip: number, chainId: number): Promise<BlockAt | null> {
    const address = BOOT_ADDRESS[networkOf(chainId).kind];
    const isKnown = async ({ hash }: BlockAt): Promise<boolean> => {
      const { status } = await node.bytes(`/v2/accounts/${address}?proof=0&tip=${hash.toHex()}`);
      if (status === 200 || status === 404) return status === 200;
      throw new NodeUnreachableError(`the node answered /v2/accounts with ${status}`);
    };
    let highest: BlockAt | null = null;
    let [low, high] = [firstHeight(), tip];
    while (low <= high) {
      // The tip first, because the node nearly always has it.
      const middle = highest === null && high === tip ? tip : Math.floor((low + high) / 2);
      const block = blockAt(middle);
      if (block !== null && (await isKnown(block))) {
        highest = block;
        low = middle + 1;
      } else high = middle - 1;
    }
    return highest;
  }

  /**
   * Finds the block to compare at: the tip, or the highest lower block that the node has. If the index is above its node, the
   * node has reverted blocks, and reports the fork only with its next block.
   * @throws OperatorError if the node follows another chain; TemporaryError if it has no block yet; NodeUnreachableError
   */
  async function findCommonBlock(): Promise<CommonBlock | null> {
    const info = await rpc.info();
    const { tip, chainId } = snapshots.read((reader) => ({ tip: reader.chain.tip(), chainId: reader.chain.chainId() }));
    if (tip === null) return null;
    const isOtherChain = chainId !== null && chainId !== info.chainId;
    const block = isOtherChain ? null : await findHighestKnown(tip.height, info.chainId);
    const isBehind = info.burnBlockHeight < tip.burnBlockHeight;
    if (block === null) {
      if (isBehind && !isOtherChain) {
        throw new TemporaryError(
          `The node is behind: it is at height ${info.height}, which is below the blocks of the index.`,
          'Run the command again once the node has caught up.',
        );
      }
      throw new OperatorError(
        `The node belongs to another chain: its chain ID is ${chainIdText(info.chainId)}, and it has none of this index's blocks.`,
        'Set --node-rpc to the node that sends events to this index.',
      );
    }
    const blocksAbove = tip.height - block.height;
    return { ...block, blocksAbove, isBehind: blocksAbove > 0 && isBehind, burnHeight: info.burnBlockHeight };
  }

  /** Reads the index while a block is canonical. @throws ChainReplacedError */
  const readAt = <T>(block: BlockAt, read: (reader: Reader) => ReadNow<T>): T =>
    snapshots.read((reader) => {
      const hash = hashAt(reader, block.height);
      if (hash === undefined || !bytesEqual(hash, block.hash)) throw new ChainReplacedError('a fork came');
      return read(reader);
    });

  /** Returns the differences of a fact at a block. Reads the index after the node, so that it notices a fork. */
  async function findDifferences(
    fact: Fact,
    block: BlockAt,
    burnHeight: number,
  ): Promise<Difference['values'] | NoAnswer> {
    const nodeValues = await fact.node(node, block, burnHeight);
    if (nodeValues instanceof NoAnswer) return nodeValues;
    const indexValues = readAt(block, (reader) => fact.index(reader, block, burnHeight));
    if (indexValues === null) return nodeValues === null ? [] : [{ name: 'it', index: null, node: 'there' }];
    if (nodeValues === null) return [{ name: 'it', index: 'there', node: null }];
    return Object.entries(indexValues)
      .map(([name, index]) => ({ name, index, node: nodeValues[name] ?? null }))
      .filter(({ index, node: other }) => index !== other);
  }

  /**
   * Finds the lowest block from which a fact differs up to a given block, by binary search. A block counts as equal if the
   * node has no comparable answer for it, such as below a contract's deployment.
   */
  async function findFirstDifferent(fact: Fact, block: CommonBlock): Promise<BlockAt> {
    let first: BlockAt = block;
    let [low, high] = [firstHeight(), block.height - 1];
    while (low <= high) {
      const middle = blockAt(Math.floor((low + high) / 2));
      if (middle === null) break;
      const difference = await findDifferences(fact, middle, block.burnHeight);
      if (!(difference instanceof NoAnswer) && difference.length > 0) {
        first = middle;
        high = middle.height - 1;
      } else low = middle.height + 1;
    }
    return first;
  }

  /** Compares a fact and adds the result to a report. @throws ChainReplacedError, NodeUnreachableError */
  async function compareFact(fact: Fact, block: CommonBlock, report: KindReport): Promise<void> {
    const values = await findDifferences(fact, block, block.burnHeight);
    if (values instanceof NoAnswer) {
      report.unanswered.set(values.reason, (report.unanswered.get(values.reason) ?? 0) + 1);
      return;
    }
    report.compared += 1;
    if (values.length === 0) return;
    report.differing += 1;
    if (report.differences.length >= MAX_LISTED) return;
    const { kind, subject } = fact;
    const first = changingKinds.includes(kind) ? await findFirstDifferent(fact, block) : null;
    report.differences.push({ kind, subject, values, first });
  }

  /** Generates the facts of a block and lower blocks, each once, until each kind has enough. @throws ChainReplacedError */
  function* facts(block: BlockAt, limit: number, lowest: number): Generator<Fact> {
    const counts = new Map(factKinds.map((kind) => [kind, 0]));
    // The whole chain also has block 0.
    const end = Math.max(lowest, firstHeight() - 1);
    for (let height = block.height; height >= end; height--) {
      for (const fact of readAt(block, (reader) => factsOf(reader, height, block.height))) {
        const count = counts.get(fact.kind)!;
        if (count >= limit) continue;
        counts.set(fact.kind, count + 1);
        yield fact;
      }
      if ([...counts.values()].every((count) => count >= limit)) return;
    }
  }

  return {
    common: findCommonBlock,

    /**
     * Compares the facts of a block and lower blocks: the requested number of each kind, from the newest blocks that
     * have them.
     * @param limit maximum facts of each kind @param lowest height of the last block to examine
     * @param progress called before each comparison with the number of earlier comparisons
     * @returns a report for each kind
     * @throws ChainReplacedError, NodeUnreachableError
     */
    async compare(
      block: CommonBlock,
      { limit = Number.POSITIVE_INFINITY, lowest = 0 } = {},
      progress: (compared: number, kind: FactKind) => void = () => {},
    ): Promise<KindReport[]> {
      const reports = new Map(factKinds.map((kind) => [kind, emptyReport(kind)]));
      let count = 0;
      for (const fact of facts(block, limit, lowest)) {
        progress(count, fact.kind);
        await compareFact(fact, block, reports.get(fact.kind)!);
        count += 1;
      }
      return [...reports.values()];
    },
  };
}

/** Describes a difference in a sentence. */
export function differenceText({ subject, values, first }: Difference): string {
  const parts = values.map(
    ({ name, index, node }) => `${name} is ${index ?? 'not'} in the index and ${node ?? 'not'} at the node`,
  );
  const suffix = first === null ? '' : `, from block ${first.height} on (${toHex(first.hash)})`;
  return `${subject}: ${parts.join('; ')}${suffix}`;
}

const emptyReport = (kind: FactKind): KindReport => ({
  kind,
  compared: 0,
  differences: [],
  differing: 0,
  unanswered: new Map(),
});
