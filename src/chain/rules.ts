/** What the effects of a block depend on besides the block: settings that an index is made with. */
import type { Block, ChainEvent, ChainTransaction } from './block.ts';
import { SEND_MANY, type SendMany, type SendManySetting } from './memo-transfers.ts';
import { poxReading, stackingLock } from './pox/reading.ts';
import { contractOfAsset } from './token-contracts.ts';

/** The settings, as an operator gives them. Null leaves what the index has. */
export interface RulesSetting {
  sendMany: SendManySetting;
  /** Addresses and contracts that the index keeps, in the order of their texts; none for an index that keeps everything. */
  only: readonly string[] | null;
}

/** The settings that an index was made with. */
export interface RecordedRules extends RulesSetting {
  only: readonly string[];
}

/** The rules of an index. They must be the same when a block is applied and when it is reverted. */
export interface Rules {
  /** Contracts whose prints are memos of the transfers before them. */
  sendMany: SendMany;
  /** Addresses and contracts whose transactions are kept; null where all are. */
  only: ReadonlySet<string> | null;
}

/** The rules of an index that was made with some settings: a network without a send-many contract has its usual one. */
export const rulesOfRecord = ({ sendMany: { mainnet, testnet }, only }: RecordedRules): Rules => ({
  sendMany: new Set([mainnet ?? SEND_MANY.mainnet, testnet ?? SEND_MANY.testnet]),
  only: only.length === 0 ? null : new Set(only),
});

/** Whether the index follows what a contract's tokens are: their mints, and their metadata. */
export const followsTokens = (contract: string, { only }: Rules): boolean => only === null || only.has(contract);

/** Whether an event is of one of the principals: it moves or locks what is theirs, or their contract makes it. */
function isEventOf(event: ChainEvent, only: ReadonlySet<string>): boolean {
  switch (event.kind) {
    case 'contract_log': {
      if (only.has(event.contractId)) return true;
      const lock = stackingLock(event, poxReading(event));
      return lock !== null && only.has(lock.principal);
    }
    case 'stx_lock':
      return only.has(event.address);
    case 'unknown':
      return false;
    default: {
      const { sender, recipient } = event;
      if (sender !== null && only.has(sender)) return true;
      if (recipient !== null && only.has(recipient)) return true;
      return event.kind !== 'stx' && only.has(contractOfAsset(event.asset));
    }
  }
}

/**
 * Whether a transaction is kept by an index of chosen principals: one of them signs it, pays for it, is called by it or gets its
 * STX, or has an event in it. Deployments are kept, too: a call has the names of its arguments from the contract's interface.
 */
export function isKept({ sender, sponsor, payload, events }: ChainTransaction, { only }: Rules): boolean {
  if (only === null) return true;
  if (only.has(sender.address) || (sponsor !== null && only.has(sponsor.address))) return true;
  if (payload.type === 'token_transfer' && only.has(payload.recipient)) return true;
  if (payload.type === 'contract_call' && only.has(payload.contractId)) return true;
  if (payload.type === 'smart_contract') return true;
  for (const event of events) if (isEventOf(event, only)) return true;
  return false;
}

/** A block with the transactions that are kept of it. */
export const keptOf = (block: Block, rules: Rules): Block =>
  rules.only === null ? block : { ...block, transactions: block.transactions.filter((one) => isKept(one, rules)) };
