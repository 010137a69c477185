/** The check that the node is of the same chain as the data. */
import { OperatorError, PassingError } from '../../base/errors.ts';
import { chainIdText } from '../../chain/network.ts';
import { type NodeInfo, type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';

async function infoOf(node: NodeRpc): Promise<NodeInfo> {
  try {
    return await node.info();
  } catch (cause) {
    if (!(cause instanceof NodeUnreachableError)) throw cause;
    throw new PassingError(
      "The node's RPC interface can't be reached, so its chain can't be compared.",
      'Start the node, or omit SKIP_STACKS_CHAIN_ID_CHECK.',
      { cause },
    );
  }
}

/**
 * Refuses a node of another chain.
 * @param chainId the chain of the data or of the setting; null where nothing has said it yet
 * @throws OperatorError
 */
export async function requireNodesChain(node: NodeRpc, chainId: number | null): Promise<void> {
  const { chainId: nodes } = await infoOf(node);
  if (chainId === null || nodes === chainId) return;
  throw new OperatorError(
    `The node is of chain ${chainIdText(nodes)}, the data of chain ${chainIdText(chainId)}.`,
    `Check --node-rpc, or give --chain-id ${chainIdText(nodes)} with a --data directory of its own.`,
  );
}
