/** `stackside fill`: fills the blocks that the index lacks from the node's RPC interface. */
import { systemClock } from '../../base/clock.ts';
import { OperatorError, PassingError } from '../../base/errors.ts';
import { secretFileText } from '../../base/files.ts';
import { chainIdText, networkOf } from '../../chain/network.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import { AskedNode } from '../../node/facts.ts';
import { type Filled, type FillOptions, fillTo } from '../../node/fill.ts';
import { IncompleteBlockError } from '../../node/replay.ts';
import { type NodeInfo, type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import { requireIndex } from '../../store/files/database.ts';
import { type Ingest, openIngest } from '../../store/ingest/ingest.ts';
import { openSnapshots } from '../../store/read/snapshots.ts';
import { interruptible } from '../cli/output.ts';
import { type Output, progressLines } from '../cli/progress.ts';

/** The node's `auth_token`. @throws OperatorError */
export function requireToken(file: string | null): string {
  if (file !== null) return secretFileText(file, '--node-auth-file');
  throw new OperatorError(
    "The node executes blocks again only with its token, and --node-auth-file doesn't name a file with it.",
    "Write the auth_token of the node's [connection_options] into a file, and name the file with --node-auth-file.",
  );
}

/** The node, which must be of the index's chain. @throws OperatorError, NodeUnreachableError */
export async function infoOfChain(node: NodeRpc, chainId: number): Promise<NodeInfo> {
  const info = await node.info();
  if (chainId === info.chainId) return info;
  throw new OperatorError(
    `The node is of another chain: it has chain ID ${chainIdText(info.chainId)}, the index ${chainIdText(chainId)}.`,
    'Name the node that this index is fed by with --node-rpc.',
  );
}

/** The node that blocks are filled from. */
export interface FillSource {
  node: NodeRpc;
  chainId: number;
  authorization: string;
  /** Requests a second at most. */
  rate: number;
}

/** Fills up to a block, and draws the progress. @throws as {@link fillTo} */
export async function fillUpTo(
  target: { indexBlockHash: Uint8Array; height: number },
  ingest: Ingest,
  directory: string,
  { node, chainId, authorization, rate, ...limits }: FillSource & Pick<FillOptions, 'burnBlocksBelow' | 'maturity'>,
  output: Output,
): Promise<Filled> {
  const lines = progressLines(output);
  const first = ingest.tipHeight();
  const snapshots = openSnapshots(directory);
  try {
    return await fillTo(
      target,
      { snapshots, history: ingest.history, network: networkOf(chainId), receive: ingest.receive },
      {
        node: new AskedNode(node, { rate, clock: systemClock }),
        authorization,
        clock: systemClock,
        ...limits,
        progress({ blocks, height }) {
          lines.draw((seconds) => {
            const share = ((100 * (height - first)) / Math.max(1, target.height - first)).toFixed(1);
            return `filled to height ${height} of ${target.height}, ${share}%, ${(blocks / seconds).toFixed(1)} blocks/s`;
          });
        },
      },
    );
  } finally {
    lines.done();
    snapshots.close();
  }
}

/** Fills up to the node's tip. @throws as {@link fillTo} */
async function fillToTip(
  ingest: Ingest,
  directory: string,
  source: Omit<FillSource, 'chainId'>,
  output: Output,
): Promise<Filled> {
  const chainId = ingest.chainId();
  if (chainId === null) {
    throw new OperatorError(
      `The index in ${directory} has no block yet, so that nothing says where to begin.`,
      'Import a recording, restore a backup, or let a node with an observer from its first block on post to stackside serve.',
    );
  }
  const { indexBlockHash, height } = await infoOfChain(source.node, chainId);
  if (indexBlockHash === null) throw new NodeUnreachableError('/v2/info does not name its tip');
  return fillUpTo({ indexBlockHash, height }, ingest, directory, { ...source, chainId }, output);
}

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** What was compared with the node, and what no node tells, in lines. */
export const linesOf = ({ blocks, burnBlocks, height, accounts, unanswered }: Filled): string[] => [
  `filled ${count(blocks, 'block')} up to height ${height}; ${count(accounts, 'changed account')} compared with the node, all equal`,
  ...(unanswered === 0 ? [] : [`${count(unanswered, 'changed account')} not compared: the node knows nothing of them`]),
  'operations on Bitcoin leave no trace in a replay: stackside check --node --all compares every account',
  ...(burnBlocks === 0
    ? []
    : [`${count(burnBlocks, 'Bitcoin block')} filled without their payouts, which no node tells`]),
];

const textOf = (filled: Filled): string =>
  filled.blocks === 0
    ? `nothing is missing: the index has the node's tip, at height ${filled.height}\n`
    : `${linesOf(filled).join('\n')}\n`;

/** The error for the operator where a block can't be made whole, or the node doesn't answer. */
export function errorOfFill(error: unknown, url: string): unknown {
  if (error instanceof IncompleteBlockError) {
    const { height, lacking } = error;
    return new OperatorError(
      `Block ${height} can't be filled: ${lacking}.`,
      'Import a recording that has the block, or the journal of another server: stackside import --from URL.',
      { cause: error },
    );
  }
  if (!(error instanceof NodeUnreachableError)) return error;
  return new PassingError(
    `The node at ${url} does not answer: ${error.message}.`,
    'Start the node, or name the URL of its RPC interface with --node-rpc. What was filled stays.',
    { cause: error },
  );
}

/** Fills the index of a data directory up to the tip of a node. @throws OperatorError; PassingError where the node is away */
export async function runFill(
  settings: SettingsOf<'fill'>,
  node: NodeRpc,
  { rate }: { rate: number },
  output: Output = process.stderr,
): Promise<string> {
  const { data, nodeRpc: url } = settings;
  requireIndex(data);
  const authorization = requireToken(settings.nodeAuthFile);
  const ingest = openIngest({
    directory: data,
    chainId: settings.network,
    machine: silentMachine,
    sendMany: sendManyIn(settings),
    log: createLog(settings.logLevel),
  });
  try {
    return textOf(
      await interruptible(ingest.close, () => fillToTip(ingest, data, { node, authorization, rate }, output)),
    );
  } catch (error) {
    throw errorOfFill(error, url);
  } finally {
    ingest.close();
  }
}
