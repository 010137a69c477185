/** Compares the chains of two servers: their identity, the tips, and the highest common block. */
import { OperatorError, TemporaryError } from '../../base/errors.ts';
import { NoAnswer, type Server } from './server.ts';

export interface Tip {
  height: number;
  /** The index block hash. */
  hash: string;
  /** The height of the Bitcoin block that the server names with it. */
  burnHeight: number;
}

export interface Tips {
  ours: Tip;
  theirs: Tip;
}

export interface CommonChain extends Tips {
  /** The lowest block that both servers have, and the highest block that is the same on both. */
  lowest: number;
  common: number;
  /** Whether the other server is also a Stackside. */
  isStackside: boolean;
}

const STATUS_PATH = '/extended';

/** The version, the tip, and the height of the first block. */
async function readStatus(server: Server): Promise<{ version: string; tip: Tip; lowest: number }> {
  const answer = await server.ask(STATUS_PATH);
  const body = answer instanceof NoAnswer ? null : answer.body;
  const { server_version: version, chain_tip: tip, history_from: from = 1 } = Object(body);
  const { block_height: height, index_block_hash: hash, burn_block_height: burnHeight = 0 } = Object(tip);
  if (typeof version !== 'string') {
    const reason = answer instanceof NoAnswer ? answer.reason : `it returned ${answer.status}`;
    throw new OperatorError(
      `${server.url}${STATUS_PATH} isn't the status of a Stacks API: ${reason}.`,
      'Give the URL without /extended, such as https://api.example.org.',
    );
  }
  if (typeof height !== 'number' || typeof hash !== 'string') {
    throw new TemporaryError(`${server.url} doesn't have a block yet.`, 'Run the command again when it is synced.');
  }
  return { version, lowest: Number(from), tip: { height, hash, burnHeight: Number(burnHeight) } };
}

/** The tips of both servers now. @throws TemporaryError, OperatorError */
export async function readTips(ours: Server, theirs: Server): Promise<Tips> {
  return { ours: (await readStatus(ours)).tip, theirs: (await readStatus(theirs)).tip };
}

/** The index block hash at a height; null if the server doesn't have the block. */
async function readHash(server: Server, height: number): Promise<string | null> {
  const answer = await server.ask(`/extended/v2/blocks/${height}`);
  const hash = answer instanceof NoAnswer ? null : Object(answer.body).index_block_hash;
  return typeof hash === 'string' ? hash : null;
}

/**
 * Finds the newest block that both servers have.
 * @throws OperatorError if they have different chains, or one isn't a Stacks API; TemporaryError if a server can't be reached,
 *   has no block yet, or has none of the other's blocks
 */
export async function findCommonChain(ours: Server, theirs: Server): Promise<CommonChain> {
  const [here, there] = [await readStatus(ours), await readStatus(theirs)];
  const lowest = Math.max(here.lowest, there.lowest);
  const highest = Math.min(here.tip.height, there.tip.height);
  if (highest < lowest) {
    throw new TemporaryError(
      `The servers don't share a block: ${here.lowest} to ${here.tip.height} here, ${there.lowest} to ${there.tip.height} there.`,
      'Run the command again once both have caught up.',
    );
  }
  const isSame = async (height: number): Promise<boolean> => {
    const hash = await readHash(ours, height);
    return hash !== null && hash === (await readHash(theirs, height));
  };
  const [first, other] = [await readHash(ours, lowest), await readHash(theirs, lowest)];
  if (first !== other || first === null) {
    throw new OperatorError(
      `${theirs.url} has another chain: its block ${lowest} is ${other ?? 'unknown'}, here it is ${first ?? 'unknown'}.`,
      'Give the URL of an API of the same network.',
    );
  }
  let [low, high] = [lowest, highest];
  if (await isSame(highest)) low = highest;
  // The branches part once: below, all blocks are the same, above none is.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await isSame(middle)) low = middle;
    else high = middle;
  }
  return {
    ours: here.tip,
    theirs: there.tip,
    lowest,
    common: low,
    isStackside: there.version.startsWith('stackside '),
  };
}

/** Number of newest blocks that may be missing or on another branch: such differences are normal. */
export const NEAR = 6;

/** Returns a sentence if one server is far behind, or on another fork that is more than a few blocks long; otherwise null. */
export function apartText({ ours, theirs, common }: CommonChain): string | null {
  const lowest = Math.min(ours.height, theirs.height);
  if (lowest - common > NEAR) {
    return `The servers are on different forks: they have the same blocks up to ${common}, and others from there to ${lowest}.`;
  }
  const lag = ours.height - theirs.height;
  if (Math.abs(lag) <= NEAR) return null;
  return lag > 0
    ? `The other server is behind: it lacks the newest ${lag} blocks of this one.`
    : `This server is behind: it lacks the newest ${-lag} blocks of the other one.`;
}
