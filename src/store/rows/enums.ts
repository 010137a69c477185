/**
 * Enum names and the numbers that columns store for them. Each list is declared once; reads, writes and SQL texts use it. A
 * stored number without a name throws an Error.
 */
import type { AssetAction, ChainEvent, TransactionStatus } from '../../chain/block.ts';
import { bnsOperations } from '../../chain/bns-v2.ts';
import { nameOperations } from '../../chain/name-system.ts';
import type { TokenFamily, UpdateMode } from '../../chain/token-contracts.ts';
import { tenureChangeCauses, UNKNOWN_PAYLOAD } from '../../codec/payload.ts';
import type { TransactionType } from '../../codec/transaction.ts';

/**
 * The error for a number without a name: the row is damaged, or another program wrote it.
 * @param row id of the row; undefined if it wasn't read
 */
function unknownNumber(table: string, column: string, number: number, row?: number): Error {
  const where = row === undefined ? 'A row' : `Row ${row}`;
  return new Error(`${where} of ${table} has ${column} ${number}, which this version doesn't support`);
}

export interface EnumNames<W extends string> {
  names: readonly W[];
  numberOf(name: W): number;
  /**
   * @param row id of the row with the number
   * @throws Error if the number has no name
   */
  nameOf(number: number, row?: number): W;
}

type Numbered<W extends string> = readonly W[] | Readonly<Record<W, number>>;

const isList = <W extends string>(numbered: Numbered<W>): numbered is readonly W[] => Array.isArray(numbered);

/** @param numbered each name with its number, or a list of names, with indexes as numbers */
function enumNames<const W extends string>(table: string, column: string, numbered: Numbered<W>): EnumNames<W> {
  const pairs: [W, number][] = isList(numbered)
    ? numbered.map((name, number) => [name, number])
    : (Object.keys(numbered) as W[]).map((name) => [name, numbered[name]]);
  const numbers = new Map(pairs);
  const names = new Map(pairs.map(([name, number]) => [number, name]));
  return {
    names: [...numbers.keys()],
    numberOf(name) {
      const number = numbers.get(name);
      if (number === undefined) throw new Error(`${table}.${column} knows no ${name}`);
      return number;
    },
    nameOf(number, row) {
      const name = names.get(number);
      if (name === undefined) throw unknownNumber(table, column, number, row);
      return name;
    },
  };
}

/** transactions.status. */
export const STATUS = {
  success: 1,
  abort_by_response: -1,
  abort_by_post_condition: -2,
  problematic_skipped: -3,
  /** A value that only a newer node sends. */
  unknown: -4,
} as const satisfies Record<TransactionStatus, number>;
export const storedTransactionStatus = enumNames('transactions', 'status', STATUS);

/** mempool_transactions.state. */
export const MEMPOOL_STATE = {
  pending: 0,
  mined: 1,
  replaced_by_fee: -10,
  replaced_across_fork: -11,
  too_expensive: -12,
  stale: -13,
  /** Collected by age as nodes do it, without a message of the node. */
  collected_here: -14,
  problematic: -15,
  /** Replaced by a rival, and then dropped by the node: it is not restored when the rival goes. */
  replaced_and_dropped: -16,
} as const;
export type MempoolState = (typeof MEMPOOL_STATE)[keyof typeof MEMPOOL_STATE];
export const storedMempoolState = enumNames('mempool_transactions', 'state', MEMPOOL_STATE);

type DroppedStatus =
  | 'dropped_replace_by_fee'
  | 'dropped_replace_across_fork'
  | 'dropped_too_expensive'
  | 'dropped_stale_garbage_collect'
  | 'dropped_problematic';
export type MempoolStatus = 'pending' | DroppedStatus;

export const mempoolStatuses: Readonly<Record<keyof typeof MEMPOOL_STATE, MempoolStatus>> = {
  pending: 'pending',
  // Never shown: the canonical transaction is read first.
  mined: 'pending',
  replaced_by_fee: 'dropped_replace_by_fee',
  replaced_across_fork: 'dropped_replace_across_fork',
  too_expensive: 'dropped_too_expensive',
  stale: 'dropped_stale_garbage_collect',
  collected_here: 'dropped_stale_garbage_collect',
  problematic: 'dropped_problematic',
  replaced_and_dropped: 'dropped_replace_by_fee',
};

/** @throws Error */
export const mempoolStatus = (state: number): MempoolStatus => mempoolStatuses[storedMempoolState.nameOf(state)];

/** The node's names of reasons for a drop. */
const dropReasons: ReadonlyMap<string, MempoolState> = new Map([
  ['ReplaceByFee', MEMPOOL_STATE.replaced_by_fee],
  ['ReplaceAcrossFork', MEMPOOL_STATE.replaced_across_fork],
  ['TooExpensive', MEMPOOL_STATE.too_expensive],
  ['StaleGarbageCollect', MEMPOOL_STATE.stale],
  ['Problematic', MEMPOOL_STATE.problematic],
]);

/** The state for a reason; undefined for an unknown reason. */
export const droppedState = (reason: string): MempoolState | undefined => dropReasons.get(reason);

/** The state for an unknown reason, which a later node may use. */
export const DROPPED_FOR_UNKNOWN_REASON = MEMPOOL_STATE.problematic;

/** transactions.type and mempool_transactions.type: the payload's wire id. */
export const PAYLOAD = {
  token_transfer: 0,
  smart_contract: 1,
  contract_call: 2,
  poison_microblock: 3,
  coinbase: 4,
  coinbase_to_alt_recipient: 5,
  versioned_smart_contract: 6,
  tenure_change: 7,
  nakamoto_coinbase: 8,
  /** A type that only a newer node sends; it has no wire id. */
  unknown: UNKNOWN_PAYLOAD,
} as const;
export const storedPayload = enumNames('transactions', 'type', PAYLOAD);

export const payloadTypes: Readonly<Record<keyof typeof PAYLOAD, TransactionType>> = {
  token_transfer: 'token_transfer',
  smart_contract: 'smart_contract',
  contract_call: 'contract_call',
  poison_microblock: 'poison_microblock',
  coinbase: 'coinbase',
  coinbase_to_alt_recipient: 'coinbase',
  versioned_smart_contract: 'smart_contract',
  tenure_change: 'tenure_change',
  nakamoto_coinbase: 'coinbase',
  unknown: 'unknown',
};

/** The wire ids of deployments, for SQL. The index `transactions_by_deployment` has the same list. */
export const DEPLOYMENTS = `${PAYLOAD.smart_contract}, ${PAYLOAD.versioned_smart_contract}`;

/** @param number the payload's wire id @throws Error */
export const typeName = (number: number): TransactionType => payloadTypes[storedPayload.nameOf(number)];

/** The wire ids of a type's payloads. */
export const typeNumbers = (type: TransactionType): number[] =>
  storedPayload.names.filter((name) => payloadTypes[name] === type).map(storedPayload.numberOf);

export const storedTenureCause = enumNames('transactions', 'tenure_change_cause', tenureChangeCauses);

/** events.kind. Kinds of one asset are consecutive, and the kinds of STX come first. */
export const EVENT_KIND = {
  /** A value that only a newer node sends. */
  unknown: 0,
  log: 1,
  lock: 2,
  stx_transfer: 3,
  stx_mint: 4,
  stx_burn: 5,
  ft_transfer: 6,
  ft_mint: 7,
  ft_burn: 8,
  nft_transfer: 9,
  nft_mint: 10,
  nft_burn: 11,
} as const;
const { unknown, log: contract_log, lock: stx_lock, ...assetKinds } = EVENT_KIND;
/** Names of kinds of events: v3's names for logs and locks, asset and action for the others. */
export const storedEventKind = enumNames('events', 'kind', { unknown, contract_log, stx_lock, ...assetKinds });
const actions: readonly AssetAction[] = ['transfer', 'mint', 'burn'];

interface AssetEventKind {
  asset: 'stx' | 'ft' | 'nft';
  action: AssetAction;
}

const assetEvents: ReadonlyMap<number, AssetEventKind> = new Map(
  (['stx', 'ft', 'nft'] as const).flatMap((asset) =>
    actions.map((action) => [EVENT_KIND[`${asset}_${action}`], { asset, action }]),
  ),
);

/** The number of an asset's event. */
export const assetEventKind = ({ kind, action }: Extract<ChainEvent, { action: AssetAction }>): number =>
  EVENT_KIND[`${kind}_${action}`];

/** Asset and action of an event's kind. @throws Error if the event isn't of an asset */
export function assetEventOf(kind: number): AssetEventKind {
  const assetEvent = assetEvents.get(kind);
  if (assetEvent === undefined) throw unknownNumber('events', 'kind', kind);
  return assetEvent;
}

const bitsOf = (...kinds: number[]): number => kinds.reduce((mask, kind) => mask | (1 << kind), 0);
const bitsOfAsset = (asset: 'stx' | 'ft' | 'nft'): number =>
  bitsOf(...actions.map((action) => EVENT_KIND[`${asset}_${action}`]));

const kindBits: Readonly<Record<ChainEvent['kind'], number>> = {
  unknown: bitsOf(EVENT_KIND.unknown),
  contract_log: bitsOf(EVENT_KIND.log),
  stx_lock: bitsOf(EVENT_KIND.lock),
  stx: bitsOfAsset('stx'),
  ft: bitsOfAsset('ft'),
  nft: bitsOfAsset('nft'),
};

/** A mask with a bit for each value of events.kind of these kinds. */
export const kindMask = (kinds: readonly ChainEvent['kind'][]): number =>
  kinds.reduce((mask, kind) => mask | kindBits[kind], 0);

/** Bits of principal_transactions.affected. */
export const AFFECTED = { stx: 1, ft: 2, nft: 4, stxMoved: 8, sponsorOnly: 16 } as const;

/** token_changes.token and token_checkpoints.token. */
export const TOKEN = { ft: 1, nft: 2 } as const;
export const storedToken = enumNames('token_changes', 'token', TOKEN);

/** daily_counts.kind: calls of a contract, and events of a token. */
export const DAILY = { calls: 0, ...TOKEN } as const;

/** Numbers names from 1 on. */
const fromOne = <W extends string>(names: readonly W[]) =>
  Object.fromEntries(names.map((name, index) => [name, index + 1])) as Record<W, number>;

export const storedNameOperation = enumNames('name_operations', 'operation', fromOne(nameOperations));

export const storedBnsOperation = enumNames('bns_names', 'operation', fromOne(bnsOperations));

/** The operation that ends a name of the second name system. */
export const BNS_BURN = storedBnsOperation.numberOf('burn-name');

export const storedChange = enumNames('changes', 'kind', {
  block: 1,
  orphan: 2,
  undone: 3,
  admitted: 4,
  restored: 5,
  dropped: 6,
});
export type ChangeKind = (typeof storedChange)['names'][number];

/** stacking_terms.role and cycle_stackers.role. */
export const TERM = { solo: 0, pooled: 1, commitment: 2 } as const;
export const storedTerm = enumNames('stacking_terms', 'role', TERM);

/** signer_keys.action. */
export const KEY_ACTION = { register: 1, grant: 2, revoke: 3 } as const;
export const storedKeyAction = enumNames('signer_keys', 'action', KEY_ACTION);

/** The bond index of STX that are staked without a bond. */
export const NO_BOND = -1;

/** staking_shares.cycle of rewards that were distributed without a calculation. */
export const NO_CYCLE = -1;

export const hookStatuses = ['new', 'streaming', 'expired', 'interrupted'] as const;
export type HookStatus = (typeof hookStatuses)[number];
export const storedStatus = enumNames('hooks', 'status', hookStatuses);
/**
 * `idle`: no block is evaluated; `live`: evaluated with each block; `catching_up`: evaluated from the hook's cursor to the tip;
 * `paused`: it was enabled when the log was restored to an earlier point; `paused_idle`: it was not, and had deliveries to
 * send.
 */
const stages = ['idle', 'live', 'catching_up', 'paused', 'paused_idle'] as const;
export type Stage = (typeof stages)[number];
export const storedStage = enumNames('hooks', 'stage', stages);
/** The queues of a hook. Deliveries of a queue are sent one after the other, in order of creation. */
export const queueNames = ['live', 'evaluate', 'backfill', 'redelivery'] as const;
export type QueueName = (typeof queueNames)[number];
export const storedQueue = enumNames('hook_deliveries', 'queue', queueNames);
export const reasons = ['live', 'catch_up', 'evaluate', 'backfill', 'redelivery'] as const;
export type Reason = (typeof reasons)[number];
export const storedReason = enumNames('hook_deliveries', 'reason', reasons);
export const deliveryStates = ['pending', 'failed', 'delivered', 'dead', 'cancelled'] as const;
/** `failed` will be retried; `dead` only on request. */
export type DeliveryState = (typeof deliveryStates)[number];
export const storedState = enumNames('hook_deliveries', 'state', deliveryStates);
export const backfillStates = ['queued', 'running', 'completed', 'cancelled', 'failed'] as const;
export type BackfillState = (typeof backfillStates)[number];
export const storedBackfillState = enumNames('hook_backfills', 'state', backfillStates);

/** token_contracts.family. */
export const TOKEN_FAMILY = { ft: 1, nft: 2, sft: 3 } as const satisfies Record<TokenFamily, number>;
export const storedFamily = enumNames('token_contracts', 'family', TOKEN_FAMILY);

/** token_events.kind: a mint, and the modes of notifications. */
export const TOKEN_EVENT = { mint: 0, standard: 1, frozen: 2, dynamic: 3 } as const satisfies Record<
  UpdateMode | 'mint',
  number
>;
export const storedTokenEvent = enumNames('token_events', 'kind', TOKEN_EVENT);

export const storedSubject = enumNames('value_indexes', 'subject', { logs: 1, calls: 2 });

/** counters.kind. */
export const COUNTER = {
  transactions: 1,
  calls: 2,
  tokenJobs: 3,
  tokenContracts: 4,
  tokens: 5,
  logs: 6,
  soloStackers: 7,
  pooledStackers: 8,
} as const;
export type CounterKind = (typeof COUNTER)[keyof typeof COUNTER];

/** token_jobs.work. */
export const TOKEN_WORK = { last_token_id: 0, facts: 1 } as const;
export type TokenWork = keyof typeof TOKEN_WORK;
export const storedTokenWork = enumNames('token_jobs', 'work', TOKEN_WORK);

/** token_jobs.state. */
export const JOB_STATE = { pending: 0, done: 1, failed: 2, invalid: 3 } as const;
export type TokenJobState = keyof typeof JOB_STATE;
export const storedJobState = enumNames('token_jobs', 'state', JOB_STATE);

/** The kinds of names in name_parts, and the places of a part in its name. */
export const NAME_PART = { contract: 1, ft: 2, nft: 3, token_name: 4, token_symbol: 5 } as const;
export type NamePartKind = keyof typeof NAME_PART;
export const PART_PLACE = { start: 0, inside: 1, identifier: 2 } as const;
