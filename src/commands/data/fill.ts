/** `stackside fill`: fills the blocks that the index lacks from the node's RPC interface. */
import { systemClock } from '../../base/clock.ts';
import { OperatorError, PassingError } from '../../base/errors.ts';
import { chainIdText, networkOf } from '../../chain/network.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import { AskedNode } from '../../node/facts.ts';
import { type Filled, fillTo } from '../../node/fill.ts';
import { nodeToken } from '../../node/node-config.ts';
import { IncompleteBlockError } from '../../node/replay.ts';
import { type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { requireIndex } from '../../store/files/database.ts';
import { type Ingest, openIngest } from '../../store/ingest/ingest.ts';
import { openSnapshots } from '../../store/read/snapshots.ts';
import { interruptible } from '../cli/output.ts';
import { type Output, progressLines } from '../cli/progress.ts';

/** Reads the node's `auth_token`. @throws OperatorError if no named file has it, or a file can't be read */
function requireToken(settings: Parameters<typeof nodeToken>[0]): string {
  const token = nodeToken(settings);
  if (token !== null) return token;
  throw new OperatorError(
    'The node executes blocks again only with its token, and neither --node-config nor --node-auth-file names a file with it.',
    "Set auth_token in [connection_options] of the node's configuration, and name that file with --node-config.",
  );
}

/** The node that blocks are filled from. */
interface FillSource {
  node: NodeRpc;
  authorization: string;
  /** Most requests per second. */
  rate: number;
}

/** Fills up to the node's tip, and draws the progress. @throws as {@link fillTo}; OperatorError for a node of another chain */
async function fillToTip(
  ingest: Ingest,
  directory: string,
  { node, authorization, rate }: FillSource,
  output: Output,
): Promise<Filled> {
  const chainId = ingest.chainId();
  if (chainId === null) {
    throw new OperatorError(
      `The index in ${directory} has no block yet, so there is no gap to fill.`,
      'Import a recording, restore a backup, or let a node with an observer from its first block on post to stackside serve.',
    );
  }
  const target = await node.info();
  if (chainId !== target.chainId) {
    throw new OperatorError(
      `The node is of another chain: it has chain ID ${chainIdText(target.chainId)}, the index ${chainIdText(chainId)}.`,
      'Name the node that this index is fed by with --node-rpc.',
    );
  }
  const { indexBlockHash, height: upTo } = target;
  if (indexBlockHash === null) throw new NodeUnreachableError('/v2/info does not name its tip');
  const lines = progressLines(output);
  const first = ingest.tipHeight();
  const snapshots = openSnapshots(directory);
  try {
    return await fillTo(
      { indexBlockHash, height: upTo },
      { snapshots, history: ingest.history, network: networkOf(chainId), receive: ingest.receive },
      {
        node: new AskedNode(node, { rate, clock: systemClock }),
        authorization,
        clock: systemClock,
        progress({ blocks, height }) {
          lines.draw((seconds) => {
            const share = ((100 * (height - first)) / Math.max(1, upTo - first)).toFixed(1);
            return `filled to height ${height} of ${upTo}, ${share}%, ${(blocks / seconds).toFixed(1)} blocks/s`;
          });
        },
      },
    );
  } finally {
    lines.done();
    snapshots.close();
  }
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Returns the lines that the command prints. */
function textOf({ blocks, burnBlocks, height, accounts, unanswered }: Filled): string {
  const changes = (number: number) => count(number, 'changed account');
  const lines: string[] = [];
  if (blocks === 0) lines.push(`nothing is missing: the index has the node's tip, at height ${height}`);
  else {
    lines.push(
      `filled ${count(blocks, 'block')} up to height ${height}; ${changes(accounts)} compared with the node, all equal`,
    );
    if (unanswered > 0) lines.push(`${changes(unanswered)} not compared: the node knows nothing of them`);
    lines.push('operations on Bitcoin leave no trace in a replay: stackside check --node --all compares every account');
  }
  if (burnBlocks > 0) {
    lines.push(
      `filled ${count(burnBlocks, 'Bitcoin block')} without payouts, which the node's RPC interface doesn't have`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** The error for the operator where a block can't be made whole, or the node doesn't answer. */
function errorOfFill(error: unknown, url: string): unknown {
  if (error instanceof IncompleteBlockError) {
    const { height, lacking } = error;
    return new OperatorError(
      `Block ${height} can't be filled: ${lacking}.`,
      'Import a recording that has the block into a new --data directory.',
      {
        cause: error,
      },
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
  const authorization = requireToken(settings);
  const ingest = openIngest({
    directory: data,
    chainId: settings.network,
    machine: silentMachine,
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
