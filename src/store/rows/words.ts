/** The numbers that stand for words in the index's columns, both ways. */
import type { AssetAction, ChainEvent, TransactionStatus } from '../../chain/block.ts';
import { type NameOperationWord, nameOperations } from '../../chain/name-system.ts';
import type { TransactionType } from '../../codec/transaction.ts';

export const statusNumber: Readonly<Record<TransactionStatus, number>> = {
  success: 1,
  abort_by_response: -1,
  abort_by_post_condition: -2,
  problematic_skipped: -3,
};

const statusWords = new Map(Object.entries(statusNumber).map(([word, number]) => [number, word as TransactionStatus]));

/** @throws Error on a number the index never holds */
export function statusWord(number: number): TransactionStatus {
  const word = statusWords.get(number);
  if (word === undefined) throw new Error(`no transaction status ${number}`);
  return word;
}

export type DroppedStatus =
  | 'dropped_replace_by_fee'
  | 'dropped_replace_across_fork'
  | 'dropped_too_expensive'
  | 'dropped_stale_garbage_collect'
  | 'dropped_problematic';
export type MempoolStatus = 'pending' | DroppedStatus;

/** States of a mempool row. */
export const PENDING = 0;
export const MINED = 1;
export const REPLACED_BY_FEE = -10;
export const COLLECTED_HERE = -14;

const droppedWords: Readonly<Record<number, DroppedStatus>> = {
  [REPLACED_BY_FEE]: 'dropped_replace_by_fee',
  [-11]: 'dropped_replace_across_fork',
  [-12]: 'dropped_too_expensive',
  [-13]: 'dropped_stale_garbage_collect',
  [COLLECTED_HERE]: 'dropped_stale_garbage_collect',
  [-15]: 'dropped_problematic',
};

/** The node's words for why it dropped a transaction. */
export const dropReasons: Readonly<Record<string, number>> = {
  ReplaceByFee: REPLACED_BY_FEE,
  ReplaceAcrossFork: -11,
  TooExpensive: -12,
  StaleGarbageCollect: -13,
  Problematic: -15,
};
/** For a reason that a later node may invent. */
export const UNKNOWN_DROP_REASON = -15;

/** A mined row is as pending as its state says: the chain is asked first, so it is never shown. */
export const mempoolStatus = (state: number): MempoolStatus => droppedWords[state] ?? 'pending';

const types: readonly TransactionType[] = [
  'token_transfer',
  'smart_contract',
  'contract_call',
  'poison_microblock',
  'coinbase',
  'coinbase',
  'smart_contract',
  'tenure_change',
  'coinbase',
];

/** @param number the payload's wire id */
export function typeWord(number: number): TransactionType {
  const word = types[number];
  if (word === undefined) throw new Error(`no transaction type ${number}`);
  return word;
}

/** The wire ids of a type's payloads. */
export const typeNumbers = (word: TransactionType): number[] =>
  types.flatMap((type, number) => (type === word ? [number] : []));

export const EVENT_LOG = 1;
export const EVENT_LOCK = 2;
const actions: readonly AssetAction[] = ['transfer', 'mint', 'burn'];
const firstOf = { stx: 3, ft: 6, nft: 9 } as const;

export const assetEventKind = (event: Extract<ChainEvent, { action: AssetAction }>): number =>
  firstOf[event.kind] + actions.indexOf(event.action);

/** What a kind of 3 or more says. */
export function assetEventOf(kind: number): { asset: 'stx' | 'ft' | 'nft'; action: AssetAction } {
  const action = actions[(kind - firstOf.stx) % actions.length];
  if (action === undefined || kind < firstOf.stx) throw new Error(`no event kind ${kind}`);
  return { asset: kind < firstOf.ft ? 'stx' : kind < firstOf.nft ? 'ft' : 'nft', action };
}

const kindBits: Readonly<Record<ChainEvent['kind'], number>> = {
  contract_log: 1 << EVENT_LOG,
  stx_lock: 1 << EVENT_LOCK,
  stx: 0b111 << firstOf.stx,
  ft: 0b111 << firstOf.ft,
  nft: 0b111 << firstOf.nft,
};

/** A bit for each number in events.kind that these kinds have. */
export const kindMask = (kinds: readonly ChainEvent['kind'][]): number =>
  kinds.reduce((mask, kind) => mask | kindBits[kind], 0);

/** Bits of principal_transactions.affected. */
export const AFFECTED = { stx: 1, ft: 2, nft: 4, stxMoved: 8, sponsorOnly: 16 } as const;

/** token_changes.token. */
export const TOKEN = { ft: 1, nft: 2 } as const;

/** name_operations.operation. */
export const nameOperationNumber = (word: NameOperationWord): number => nameOperations.indexOf(word) + 1;

/** @throws Error on a number the index never holds */
export function nameOperationWord(number: number): NameOperationWord {
  const word = nameOperations[number - 1];
  if (word === undefined) throw new Error(`no operation ${number} on names`);
  return word;
}

/** changes.kind. */
export const changeNumber = { block: 1, orphan: 2, microblock: 3, admitted: 4, restored: 5, dropped: 6 } as const;
export type ChangeKind = keyof typeof changeNumber;

const changeWords = new Map<number, ChangeKind>(
  Object.entries(changeNumber).map(([word, number]) => [number, word as ChangeKind]),
);

/** @throws Error on a number the index never holds */
export function changeWord(number: number): ChangeKind {
  const word = changeWords.get(number);
  if (word === undefined) throw new Error(`no kind of change ${number}`);
  return word;
}

/** stacking_terms.role and cycle_stackers.role. */
export const TERM = { solo: 0, pooled: 1, commitment: 2 } as const;

/** signer_keys.action. */
export const KEY_ACTION = { register: 1, grant: 2, revoke: 3 } as const;

/** The bond index of STX that are staked without a bond. */
export const NO_BOND = -1;
