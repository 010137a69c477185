/** Reasons for refusing a block, and the operator's next step: for the node's log, the server's log, and its state. */
import { ForeignChainError } from '../store/ingest/chain-identity.ts';
import { DeepForkError, PartialHistoryError } from '../store/ingest/history-start.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';

export interface Refusal {
  /**
   * `gap`: lower blocks are missing. `deep_fork`: the history would start again, with too many blocks rolled back.
   * `partial_history`: the block would start a partial history, and the server requires the whole chain. `wrong_chain`:
   * the block belongs to another chain.
   */
  why: 'gap' | 'deep_fork' | 'partial_history' | 'wrong_chain';
  problem: string;
  remedy: string;
  /** Heights of the missing blocks, inclusive; null if there is no gap. */
  missing: { from: number; to: number } | null;
}

const WITHOUT_TOKEN =
  "Set --node-config to the node's configuration, which has its auth token: the server then fetches the blocks from the node. Or name an archive of the chain with --from. Or import a recording with these blocks into a new --data directory";
export const BEING_FILLED = 'Wait: the server fetches them.';
const NEW_DIRECTORY =
  'Start with a new --data directory; or restore an archive of this chain into it (stackside serve --from)';
const OTHER_CHAIN = 'Let only nodes of one chain post to this port, and use a separate --data directory for each chain';

/** Describes missing blocks. */
export const blocksText = (from: number, to: number): string =>
  from === to ? `block ${from} is missing` : `blocks ${from}–${to} are missing`;

/**
 * Returns the reason for refusing an event because of the chain; null for any other error. @param fills whether gaps
 * are filled
 */
export function refusalOf(error: unknown, fills: boolean): Refusal | null {
  if (error instanceof ForeignChainError) {
    return { why: 'wrong_chain', problem: error.message, remedy: OTHER_CHAIN, missing: null };
  }
  if (error instanceof DeepForkError) {
    return { why: 'deep_fork', problem: error.message, remedy: NEW_DIRECTORY, missing: null };
  }
  if (error instanceof PartialHistoryError) {
    return { why: 'partial_history', problem: error.message, remedy: error.remedy, missing: null };
  }
  if (!(error instanceof UnknownParentError)) return null;
  const { missing, parent } = error;
  const from = missing?.from ?? parent?.height;
  if (from === undefined) return null;
  const to = missing?.to ?? from;
  const remedy = fills ? BEING_FILLED : WITHOUT_TOKEN;
  return { why: 'gap', problem: blocksText(from, to), remedy, missing: { from, to } };
}
