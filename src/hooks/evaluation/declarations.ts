/** The declarations of called functions, as they were when the call was made. */
import type { Block } from '../../chain/block.ts';
import { type AbiFunction, contractFunctions } from '../../codec/abi.ts';
import type { HookCandidates } from '../../store/hooks/candidates.ts';
import type { FindFunction } from '../operations.ts';

/**
 * Looks up functions for calls in a block.
 * @param height up to which, that one included, the canonical chain is the block's own
 * @param orphaned the rest of its branch, where it isn't canonical
 */
export function declarations(
  candidates: HookCandidates,
  height: number,
  orphaned: () => readonly Block[] = () => [],
): FindFunction {
  const known = new Map<string, Map<string, AbiFunction>>();
  const interfaceOf = (contractId: string): string =>
    deployedIn(orphaned(), contractId) ?? candidates.contractInterface(contractId, height + 1, 0) ?? '{}';
  return (contractId, functionName) => {
    let functions = known.get(contractId);
    if (functions === undefined) {
      functions = contractFunctions(interfaceOf(contractId));
      known.set(contractId, functions);
    }
    return functions.get(functionName);
  };
}

function deployedIn(blocks: readonly Block[], contractId: string): string | null {
  for (const { transactions } of blocks) {
    for (const { payload, sender, status, contractInterface } of transactions) {
      if (payload.type !== 'smart_contract' || status !== 'success') continue;
      if (`${sender.address}.${payload.contractName}` === contractId) return contractInterface;
    }
  }
  return null;
}
