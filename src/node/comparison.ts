/**
 * The index compared with its node: facts of the newest blocks, or of all, each at one block (`?tip=`), at which a node
 * answers alike for ever. So blocks and forks that come meanwhile are no differences.
 */
import { OperatorError, PassingError } from '../base/errors.ts';
import { chainIdText, networkOf } from '../chain/network.ts';
import { BOOT_ADDRESS } from '../codec/address.ts';
import { toHex } from '../codec/hex.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { ReadNow, Snapshots } from '../store/read/snapshots.ts';
import {
  AskedNode,
  type BlockAt,
  type Fact,
  type FactKind,
  factKinds,
  factsOf,
  NoAnswer,
  type RequestOptions,
} from './facts.ts';
import { type NodeRpc, NodeUnreachableError } from './rpc.ts';

export interface Difference {
  kind: FactKind;
  subject: string;
  /** What differs; null where one of both has no such thing. */
  values: { name: string; index: string | null; node: string | null }[];
  /** The first block at which it differs; null where it isn't looked for. */
  first: BlockAt | null;
}

/** What was compared of a kind. */
export interface KindReport {
  kind: FactKind;
  compared: number;
  differences: Difference[];
  /** How many differ, with those that aren't listed. */
  differing: number;
  /** Facts by why the node's answer could not be compared. */
  unanswered: Map<string, number>;
}

/** The block at which index and node are compared. */
export interface CommonBlock extends BlockAt {
  /** Blocks of the index above it, which the node hasn't. */
  above: number;
  /** Whether the node is behind: it has seen less of Bitcoin than the index. */
  isBehind: boolean;
}

/** The block at the comparison's height is another by now: a fork came. */
export class TipLostError extends Error {
  override readonly name = 'TipLostError';
}

/** Differences of a kind that are listed, and looked into. */
const MOST_LISTED = 10;

export function comparison(snapshots: Snapshots, rpc: NodeRpc, options: RequestOptions) {
  const node = new AskedNode(rpc, options);

  /** Height of the newest Bitcoin block that the node knows. */
  let burnHeight = 0;

  const hashAt = (reader: Reader, height: number) => reader.chain.blockHash({ height });

  /** Height of the lowest block of the index. */
  const firstHeight = (): number => snapshots.read((reader) => reader.chain.historyFrom() ?? 1);

  function blockAt(height: number): BlockAt | null {
    const hash = snapshots.read((reader) => hashAt(reader, height));
    return hash === undefined ? null : { height, hash };
  }

  /**
   * The highest block of the index that the node has, canonical or not; null where it has none.
   * @throws NodeUnreachableError where it says neither that it has a block nor that it has none
   */
  async function highestKnown(tip: number, chainId: number): Promise<BlockAt | null> {
    const anybody = BOOT_ADDRESS[networkOf(chainId).kind];
    const isKnown = async ({ hash }: BlockAt): Promise<boolean> => {
      const { status } = await node.bytes(`/v2/accounts/${anybody}?proof=0&tip=${hash.toHex()}`);
      if (status === 200 || status === 404) return status === 200;
      throw new NodeUnreachableError(`the node answered /v2/accounts with ${status}`);
    };
    let [known, low, high]: [BlockAt | null, number, number] = [null, firstHeight(), tip];
    while (low <= high) {
      // The tip first: it is known nearly always.
      const middle = known === null && high === tip ? tip : Math.floor((low + high) / 2);
      const block = blockAt(middle);
      if (block !== null && (await isKnown(block))) {
        known = block;
        low = middle + 1;
      } else high = middle - 1;
    }
    return known;
  }

  /**
   * Finds the block to compare at: the tip, or the highest below it that the node has. Of an index above its node the node
   * went back and posts nothing of it until its next block comes.
   * @throws OperatorError where the node is of another chain; PassingError where it has no block yet; NodeUnreachableError
   */
  async function common(): Promise<CommonBlock | null> {
    const info = await rpc.info();
    burnHeight = info.burnBlockHeight;
    const { tip, chainId } = snapshots.read((reader) => ({
      tip: reader.chain.tip(),
      chainId: reader.chain.chainId(),
    }));
    if (tip === null) return null;
    const isOther = chainId !== null && chainId !== info.chainId;
    const found = isOther ? null : await highestKnown(tip.height, info.chainId);
    const isBehind = info.burnBlockHeight < tip.burnBlockHeight;
    if (found === null && isBehind && !isOther) {
      throw new PassingError(
        `The node is behind: it is at height ${info.height}, and has none of the index's blocks yet.`,
        'Repeat the command once the node has caught up.',
      );
    }
    if (found === null) {
      throw new OperatorError(
        `The node is of another chain: it has chain ID ${chainIdText(info.chainId)}, and none of this index's blocks.`,
        'Name the node that this index is fed by with --node-rpc.',
      );
    }
    const above = tip.height - found.height;
    return { ...found, above, isBehind: above > 0 && isBehind };
  }

  /** Reads the index while a block is canonical. @throws TipLostError */
  const readAt = <T>(at: BlockAt, read: (reader: Reader) => ReadNow<T>): T =>
    snapshots.read((reader) => {
      const hash = hashAt(reader, at.height);
      if (hash === undefined || Buffer.compare(hash, at.hash) !== 0) throw new TipLostError('a fork came');
      return read(reader);
    });

  /** What differs of a fact at a block. The index is read after the node, so that a fork is noticed. */
  async function differing(fact: Fact, at: BlockAt): Promise<Difference['values'] | NoAnswer> {
    const theirs = await fact.node(node, at, burnHeight);
    if (theirs instanceof NoAnswer) return theirs;
    const ours = readAt(at, (reader) => fact.index(reader, at, burnHeight));
    if (ours === null) return theirs === null ? [] : [{ name: 'it', index: null, node: 'there' }];
    if (theirs === null) return [{ name: 'it', index: 'there', node: null }];
    return Object.entries(ours)
      .map(([name, index]) => ({ name, index, node: theirs[name] ?? null }))
      .filter(({ index, node: other }) => index !== other);
  }

  /**
   * The lowest block from which on a fact differs up to one where it does, by halving. A block for which the node gives no
   * answer that could be compared counts as one where both agree, as it does below a contract's deployment.
   */
  async function firstDifferent(fact: Fact, at: BlockAt): Promise<BlockAt> {
    let [first, low, high] = [at, firstHeight(), at.height - 1];
    while (low <= high) {
      const middle = blockAt(Math.floor((low + high) / 2));
      if (middle === null) break;
      const found = await differing(fact, middle);
      if (!(found instanceof NoAnswer) && found.length > 0) {
        first = middle;
        high = middle.height - 1;
      } else low = middle.height + 1;
    }
    return first;
  }

  /** Compares a fact and adds what came of it to a report. @throws TipLostError, NodeUnreachableError */
  async function compare(fact: Fact, at: BlockAt, report: KindReport): Promise<void> {
    const values = await differing(fact, at);
    if (values instanceof NoAnswer) {
      report.unanswered.set(values.reason, (report.unanswered.get(values.reason) ?? 0) + 1);
      return;
    }
    report.compared += 1;
    if (values.length === 0) return;
    report.differing += 1;
    if (report.differences.length >= MOST_LISTED) return;
    const { kind, subject } = fact;
    const first = fact.changes ? await firstDifferent(fact, at) : null;
    report.differences.push({ kind, subject, values, first });
  }

  /** The facts of blocks from one down, each once, until each kind has enough. @throws TipLostError */
  function* facts(at: BlockAt, most: number, lowest: number): Generator<Fact> {
    const counts = new Map(factKinds.map((kind) => [kind, 0]));
    const lowestKnown = firstHeight() - 1;
    for (let height = at.height; height >= Math.max(lowest, lowestKnown); height--) {
      for (const fact of readAt(at, (reader) => factsOf(reader, height, at.height))) {
        const count = counts.get(fact.kind)!;
        if (count >= most) continue;
        counts.set(fact.kind, count + 1);
        yield fact;
      }
      if ([...counts.values()].every((count) => count >= most)) return;
    }
  }

  return {
    common,

    /** A block and its ancestors, as many as there are up to a number, the highest first. @throws TipLostError */
    branch: (at: BlockAt, most: number): BlockAt[] =>
      readAt(at, (reader) => {
        const blocks = [at];
        while (blocks.length < most) {
          const height = at.height - blocks.length;
          const hash = hashAt(reader, height);
          if (hash === undefined) break;
          blocks.push({ height, hash });
        }
        return blocks;
      }),

    /**
     * Compares the facts of blocks from one down: as many of each kind as are asked for, of the newest blocks that have them.
     * @param most of each kind @param lowest height of the last block that is looked at
     * @param progress called before each comparison with the number of those before
     * @returns a report for each kind
     * @throws TipLostError, NodeUnreachableError
     */
    async compare(
      at: BlockAt,
      { most = Number.POSITIVE_INFINITY, lowest = 0 } = {},
      progress: (compared: number, kind: FactKind) => void = () => {},
    ): Promise<KindReport[]> {
      const reports = new Map(factKinds.map((kind) => [kind, emptyReport(kind)]));
      let count = 0;
      for (const fact of facts(at, most, lowest)) {
        progress(count, fact.kind);
        await compare(fact, at, reports.get(fact.kind)!);
        count += 1;
      }
      return [...reports.values()];
    },
  };
}

/** A difference as a sentence. */
export function differenceText({ subject, values, first }: Difference): string {
  const parts = values.map(({ name, index, node }) => `${name} is ${index ?? 'not'} here and ${node ?? 'not'} there`);
  const since = first === null ? '' : `, from block ${first.height} on (${toHex(first.hash)})`;
  return `${subject}: ${parts.join('; ')}${since}`;
}

const emptyReport = (kind: FactKind): KindReport => ({
  kind,
  compared: 0,
  differences: [],
  differing: 0,
  unanswered: new Map(),
});
