/**
 * Fills a gap in the chain: blocks that the node never sends again, because Stackside has accepted them or the node had
 * no observer at the time. The blocks are made from the node's RPC interface (`replay.ts`) and accepted like posted
 * events. If the node posts such a block later, its event completes the block (`store/ingest/chain-writer.ts`,
 * `burn-block-writer.ts`).
 */

import { bytesEqual } from '../base/bytes-equal.ts';
import { lazy } from '../base/cache.ts';
import { type Clock, microseconds } from '../base/clock.ts';
import { exactJson } from '../base/json.ts';
import type { ServiceEvent } from '../base/log-events.ts';
import type { Block } from '../chain/block.ts';
import type { Network } from '../chain/network.ts';
import { toHex } from '../codec/hex.ts';
import type { NakamotoBlock } from '../codec/nakamoto-block.ts';
import type { ReceivedEvent } from '../store/ingest/event.ts';
import type { ChainHistory } from '../store/ingest/state-machine.ts';
import type { MaturedReward, RewardedTenure } from '../store/queries/blocks/tenures.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { answerOrThrow, NoAnswer, nodeBlock, requestSortition, type ThrottledNode } from './facts.ts';
import { olderTenures, requestHistoryStart } from './history.ts';
import { BlockMaker, FILLED_FROM, IncompleteBlockError, type Parent, type ParentChain } from './replay.ts';

export type FillEvent =
  | { event: 'gap_filling'; to_height: number; index_block_hash: string }
  /** `burn_blocks` is the number of filled Bitcoin blocks, which have no payouts. */
  | { event: 'gap_filled'; blocks: number; burn_blocks: number; height: number; accounts_not_compared: number }
  | ServiceEvent;

export interface FilledIndex {
  snapshots: Snapshots;
  history: ChainHistory;
  network: Network;
  /** Accepts an event. The event is durable when this resolves. @throws any error of the intake */
  receive(event: ReceivedEvent): unknown;
}

export interface FillOptions {
  node: ThrottledNode;
  /** The node's `auth_token`. */
  authorization: string;
  clock: Pick<Clock, 'now'>;
  /** Height of the first block, if the index is empty. */
  from?: number;
  /** Called after each block. */
  progress?: (result: FillResult) => unknown;
  signal?: AbortSignal;
}

export interface FillResult {
  blocks: number;
  /** Number of Bitcoin blocks. They lack payouts. */
  burnBlocks: number;
  /** Height of the last block. */
  height: number;
  /** Number of changed accounts without an answer from the node. */
  unanswered: number;
}

/** A block of the node's chain by its id and height. */
interface BlockPosition {
  indexBlockHash: Uint8Array;
  height: number;
}

/** Maximum number of block ids in memory. */
const WINDOW = 1_000;

/** Requests a block. @throws IncompleteBlockError if the node doesn't have it; NodeUnreachableError */
async function requestBlock(
  node: ThrottledNode,
  { indexBlockHash: id, height }: BlockPosition,
): Promise<NakamotoBlock> {
  const failure = (reason: string) => new IncompleteBlockError(height, id, reason);
  const decoded = answerOrThrow(await nodeBlock(node, id.toHex()));
  if (decoded instanceof NoAnswer) {
    throw failure(`the node doesn't have this Nakamoto block (${decoded.reason})`);
  }
  if (!decoded.ok) throw failure(`its bytes can't be read: ${decoded.error.message}`);
  if (bytesEqual(decoded.value.blockId, id)) return decoded.value;
  throw failure('the node sends the bytes of another block');
}

/** Returns the id of a block's ancestor at a height; null if the node doesn't return it. */
async function requestAncestor(node: ThrottledNode, height: number, tip: Uint8Array): Promise<Uint8Array | null> {
  const decoded = answerOrThrow(await nodeBlock(node, `height/${height}?tip=${tip.toHex()}`));
  if (decoded instanceof NoAnswer || !decoded.ok) return null;
  return decoded.value.header.chainLength === height ? decoded.value.blockId : null;
}

/** Returns the blocks of a branch that aren't canonical, the lowest first, and the height of the canonical block below them. */
function branchOf(history: ChainHistory, id: Uint8Array) {
  if (!history.isKnown(id)) return { blocks: [], forkHeight: history.bottom() };
  const { hashes, forkHeight } = history.branchOf(id);
  return { blocks: hashes.map(history.block), forkHeight };
}

/** Returns the tenure that starts with the first of these blocks; null if this block starts none. */
function startedTenure([first]: readonly Block[]): RewardedTenure | null {
  if (first === undefined) return null;
  const { indexBlockHash, blockHash, transactions } = first;
  for (const { payload, sender } of transactions) {
    if (payload.type !== 'coinbase') continue;
    const recipient = payload.altRecipient ?? sender.address;
    return { indexBlockHash, blockHash, miner: sender.address, recipient, fees: 0n };
  }
  return null;
}

type OlderTenures = Awaited<ReturnType<typeof olderTenures>>;

/** Finds the tenures whose rewards mature on the branch of a block: in the index, or at the node. */
function branchRewards(
  { history, snapshots }: FilledIndex,
  older: () => Promise<OlderTenures>,
): Pick<ParentChain, 'tenure' | 'maturity'> {
  /** Returns the newest reward of non-canonical blocks. */
  function newestOf(blocks: readonly Block[]): MaturedReward | null {
    for (const { tenureHeight, minerRewards } of [...blocks].reverse()) {
      const [reward] = minerRewards;
      if (reward === undefined || tenureHeight === null) continue;
      const { fromIndexBlockHash } = reward;
      const fromTenure = history.isKnown(fromIndexBlockHash) ? history.block(fromIndexBlockHash).tenureHeight : null;
      return { tenureHeight, isEarly: false, fromIndexBlockHash, fromTenure };
    }
    return null;
  }

  return {
    async tenure(tenureHeight, branch) {
      const { blocks, forkHeight } = branchOf(history, branch);
      const tenureBlocks = blocks.filter((block) => block.tenureHeight === tenureHeight);
      const [canonical, paid] = snapshots.read(({ tenureRewards }) => [
        tenureRewards.rewarded(tenureHeight, forkHeight),
        tenureRewards.fees(tenureHeight, forkHeight),
      ]);
      const tenure =
        canonical ?? startedTenure(tenureBlocks) ?? (await (await older())?.rewarded(tenureHeight)) ?? null;
      if (tenure === null) return null;
      const paidFees = tenure === canonical ? 0n : paid;
      const fees = tenureBlocks
        .flatMap(({ transactions }) => transactions)
        .reduce((sum, { fee }) => sum + fee, paidFees);
      return { ...tenure, fees: tenure.fees + fees };
    },

    async maturity(branch) {
      const { blocks, forkHeight } = branchOf(history, branch);
      const newest = newestOf(blocks) ?? snapshots.read((reader) => reader.tenureRewards.newest(forkHeight));
      if (newest === null) return null;
      const { tenureHeight, isEarly, fromIndexBlockHash } = newest;
      const fromTenure = newest.fromTenure ?? (await (await older())?.heightOf(fromIndexBlockHash)) ?? null;
      return fromTenure === null ? null : tenureHeight - fromTenure - (isEarly ? 1 : 0);
    },
  };
}

/**
 * Fills all blocks up to a target, from its highest ancestor in the index.
 * @param target the id and height of the highest block
 * @throws IncompleteBlockError if a block can't be completed; lower blocks are filled. NodeUnreachableError;
 * OperatorError if the node refuses the token
 */
export async function fillTo(
  target: BlockPosition,
  index: FilledIndex,
  { node, authorization, clock, from, progress = () => {}, signal }: FillOptions,
): Promise<FillResult> {
  const { history, snapshots, receive } = index;
  let start = snapshots.read((reader) => reader.chain.start());
  /** Height of the first block. A branch that forks below it is filled from this height on. */
  const lowest = start?.height ?? from ?? 0;
  const older = lazy(async () => (start === null ? null : olderTenures(node, start)));
  const result: FillResult = { blocks: 0, burnBlocks: 0, height: history.tip().height, unanswered: 0 };
  const maker = new BlockMaker(node, authorization, {
    network: index.network,
    isFromGenesis: lowest === 0,
    ...branchRewards(index, older),
  });
  const event = (path: string, body: object | string): ReceivedEvent => ({
    path,
    text: typeof body === 'string' ? body : exactJson(body),
    receivedAt: microseconds(clock),
  });

  /** Reports whether the index can have a block on top of this one. */
  const isKnown = (id: Uint8Array): boolean =>
    history.isKnown(id) || (start !== null && bytesEqual(id, start.indexBlockHash));

  async function loadParent(block: NakamotoBlock): Promise<Parent> {
    const { header, blockId } = block;
    if (history.isKnown(header.parentBlockId)) return history.block(header.parentBlockId);
    if (start === null || !bytesEqual(header.parentBlockId, start.indexBlockHash)) {
      start = await requestHistoryStart(node, block);
      older.clear();
    }
    const olderParent = await (await older())?.parent();
    if (olderParent !== undefined) return olderParent;
    throw new IncompleteBlockError(header.chainLength, blockId, 'the node does not return the block below it');
  }

  /** Returns the unknown blocks up to a block, the lowest first. */
  async function unknownUpTo(top: BlockPosition): Promise<BlockPosition[]> {
    const blocks: BlockPosition[] = [];
    for (let block = top; !isKnown(block.indexBlockHash) && block.height >= lowest; ) {
      signal?.throwIfAborted();
      blocks.push(block);
      const { header } = await requestBlock(node, block);
      block = { indexBlockHash: header.parentBlockId, height: block.height - 1 };
    }
    return blocks.reverse();
  }

  /**
   * Fills the missing Bitcoin blocks, highest first. The node posts the Bitcoin blocks that it sees from now on.
   * @param baseHeight height below the first block to fill
   */
  async function fillBurnBlocks(baseHeight: number): Promise<void> {
    const sortitionAt = async (height: number) => answerOrThrow(await requestSortition(node, `/burn_height/${height}`));
    let sortition = answerOrThrow(await requestSortition(node));
    while (!(sortition instanceof NoAnswer)) {
      signal?.throwIfAborted();
      const { burn_block_hash, burn_block_height, consensus_hash } = sortition;
      const previous = await sortitionAt(burn_block_height - 1);
      const hash = snapshots.read(({ burnRewards }) => burnRewards.hashAt(burn_block_height));
      const isMissing = hash === null || toHex(hash) !== burn_block_hash;
      if (isMissing && !(previous instanceof NoAnswer)) {
        await receive(
          event('/new_burn_block', {
            filled_from: FILLED_FROM,
            burn_amount: 0,
            burn_block_hash,
            burn_block_height,
            consensus_hash,
            parent_burn_block_hash: previous.burn_block_hash,
            reward_recipients: [],
          }),
        );
        result.burnBlocks += 1;
      }
      const next = snapshots.read(({ burnRewards }) => burnRewards.unlinkedBelow(burn_block_height, baseHeight));
      if (next === null) return;
      sortition = next === burn_block_height - 1 ? previous : await sortitionAt(next);
    }
  }

  async function nextGoal(): Promise<BlockPosition> {
    const height = Math.max(history.tip().height, lowest - 1) + WINDOW;
    const id = height < target.height ? await requestAncestor(node, height, target.indexBlockHash) : null;
    return id === null ? target : { indexBlockHash: id, height };
  }

  let parent: Parent | null = null;
  while (!isKnown(target.indexBlockHash)) {
    for (const position of await unknownUpTo(await nextGoal())) {
      signal?.throwIfAborted();
      const decoded = await requestBlock(node, position);
      if (parent === null) {
        parent = await loadParent(decoded);
        // Bitcoin blocks come first. If the fill is interrupted, the block after the gap is still refused, and the next
        // fill continues.
        await fillBurnBlocks(parent.burnBlockHeight);
      }
      const { text, block, unanswered } = await maker.make(decoded, parent);
      await receive(event('/new_block', text));
      parent = block;
      result.blocks += 1;
      result.height = block.height;
      result.unanswered += unanswered;
      await progress(result);
    }
  }
  if (parent === null) await fillBurnBlocks(Number.MAX_SAFE_INTEGER);
  return result;
}
