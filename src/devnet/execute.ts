/** Executes transactions: fee and nonces, the action, and the post-conditions (SIP-005). */
import { decodedOrThrow } from '../codec/bytes-reader.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { clarityRepr } from '../codec/clarity-text.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import {
  type AmountCondition,
  decodePostConditions,
  type PostCondition,
  type PostConditionPrincipal,
} from '../codec/post-conditions.ts';
import type { Attachment, ChainEvent, Cost, Execution } from './contract.ts';
import { payerOf, type SignedTransaction } from './transaction.ts';
import type { World } from './world.ts';

/** The node's report of a transaction in a block. */
export interface Receipt extends Omit<Execution, 'status'> {
  readonly txId: string;
  /** The transaction's bytes in hex with 0x; `0x00` for an operation on Bitcoin. */
  readonly rawTx: string;
  readonly status: Execution['status'] | 'problematic_skipped';
  /** Attachments that the call names. Peers exchange them off the chain. */
  readonly attachments?: readonly Attachment[];
  readonly burnchainOp: object | null;
  /** Reason for skipping the transaction; only with status `problematic_skipped`. */
  readonly problematic?: number;
}

export const noCost: Readonly<Cost> = { read_count: 0, read_length: 0, runtime: 0, write_count: 0, write_length: 0 };

const OK_TRUE = clarity.ok(clarity.bool(true));
const ERR_NONE = clarity.err(clarity.none());

/** Reports whether a miner could include the transaction in a block after `world`. */
export function isMinable(transaction: SignedTransaction, world: World, burnHeight: number): boolean {
  const { origin, sponsor, action } = transaction;
  const signers = sponsor === undefined ? [origin] : [origin, sponsor];
  if (signers.some(({ account, nonce }) => world.nonce(account.address) !== nonce)) return false;
  if (action.kind === 'deploy' && world.contract(`${origin.account.address}.${action.name}`) !== undefined)
    return false;

  const payer = payerOf(transaction);
  const sent = action.kind === 'transfer' ? action.amount : 0n;
  if (payer !== origin && world.spendable(origin.account.address, burnHeight) < sent) return false;
  const due = payer === origin ? payer.fee + sent : payer.fee;
  return world.spendable(payer.account.address, burnHeight) >= due;
}

/** Heights of the block that executes a transaction, and of its Bitcoin block. */
interface BlockHeights {
  readonly height: number;
  readonly burnHeight: number;
}

/** Executes a minable transaction: charges the fee, uses the nonces, and applies its events. */
export function execute(transaction: SignedTransaction, world: World, { height, burnHeight }: BlockHeights): Receipt {
  const { origin, sponsor } = transaction;
  const payer = payerOf(transaction);
  world.debit(payer.account.address, payer.fee);
  world.useNonce(origin.account.address);
  if (sponsor !== undefined) world.useNonce(sponsor.account.address);

  const outcome = runAction(transaction, world, { height, burnHeight });
  for (const event of outcome.events ?? []) world.apply(event);
  return {
    txId: transaction.id,
    rawTx: toHex(transaction.raw),
    status: 'success',
    events: [],
    abi: null,
    cost: noCost,
    vmError: null,
    burnchainOp: null,
    ...outcome,
  };
}

type Result = Pick<Receipt, 'result'> & Partial<Receipt>;

function runAction(transaction: SignedTransaction, world: World, { height, burnHeight }: BlockHeights): Result {
  const { origin, action, fate, id, postConditions, mint } = transaction;
  const sender = origin.account.address;
  if (fate === 'problematic_skipped') return { status: fate, result: ERR_NONE, problematic: 1 };

  switch (action.kind) {
    case 'system':
      return { result: OK_TRUE };
    case 'executed': {
      const { result, deployed } = action;
      if (deployed !== null) world.install({ ...deployed, height });
      return result;
    }
    case 'transfer': {
      const { recipient, amount, memo } = action;
      const minted =
        mint === undefined ? [] : [{ type: 'ft_mint_event' as const, ...mint, amount: BigInt(mint.amount) }];
      return { result: OK_TRUE, events: [{ type: 'stx_transfer_event', sender, recipient, amount, memo }, ...minted] };
    }
    case 'deploy': {
      const { name, template, flaw, isFromClient } = action;
      const cost = deriveCost(id, 12);
      if (flaw !== null) return { status: 'abort_by_response', result: ERR_NONE, cost, vmError: flaw };
      const breach = findBreach(postConditions, [], sender);
      if (breach !== null) return { status: 'abort_by_post_condition', result: OK_TRUE, cost, vmError: breach.error };
      const contract = { id: `${sender}.${name}`, template, height };
      if (isFromClient) world.install(contract);
      else world.deploy(contract);
      return { result: OK_TRUE, abi: template.abi, cost };
    }
    case 'call': {
      const { contract, call } = action;
      const cost = deriveCost(id, 5);
      if (world.contract(contract) === undefined) {
        // The contract was deployed only on another branch.
        const vmError = `NoSuchContract("${contract}")`;
        return { status: 'abort_by_response', result: ERR_NONE, cost: noCost, vmError };
      }
      const outcome = call.run({ world, contract, sender, burnHeight });
      const { ok, result, events, writes = [], attachments = [], vmError = null } = outcome;
      if (!ok) return { status: 'abort_by_response', result, cost, vmError };
      if (fate === 'abort_by_post_condition') {
        return { status: fate, result, cost, vmError: `Post-condition check failure on STX owned by ${sender}` };
      }
      const breach = findBreach(postConditions, events, sender);
      if (breach !== null) return { status: 'abort_by_post_condition', result, cost, vmError: breach.error };
      for (const [key, value] of writes) world.store(contract, key, value);
      return { result, events, attachments, cost };
    }
  }
}

/** Returns a cost that depends only on the transaction, so that it is equal on all branches. */
function deriveCost(txId: string, reads: number): Cost {
  const spread = Number.parseInt(txId.slice(-4), 16);
  const count = reads + (spread % 7);
  return {
    read_count: count,
    read_length: 900 + count * 731 + (spread % 977),
    runtime: 11_000 + spread * 13,
    write_count: 1 + (spread % 3),
    write_length: 40 + (spread % 211),
  };
}

const STX = 'STX';

/** An amount of an asset that an account sent; 1 for a non-fungible token. */
interface SentAsset {
  readonly owner: string;
  readonly asset: string;
  amount: bigint;
}

const keyOf = (owner: string, asset: string): string => `${owner} ${asset}`;
const tokenText = (asset: string, hex: string): string => `${asset} ${hex}`;

/** Returns the assets that the events took from each account, by transfers and burns. */
function sentAssets(events: readonly ChainEvent[]): Map<string, SentAsset> {
  const sent = new Map<string, SentAsset>();
  const add = (owner: string, asset: string, amount: bigint) => {
    const sentAsset = sent.get(keyOf(owner, asset)) ?? { owner, asset, amount: 0n };
    sentAsset.amount += amount;
    sent.set(keyOf(owner, asset), sentAsset);
  };
  for (const event of events) {
    if (!('sender' in event)) continue;
    if (!('asset' in event)) add(event.sender, STX, event.amount);
    else if ('amount' in event) add(event.sender, event.asset, event.amount);
    else add(event.sender, tokenText(event.asset, event.value.toHex()), 1n);
  }
  return sent;
}

function ownerOf(principal: PostConditionPrincipal, origin: string): string {
  switch (principal.type_id) {
    case 'principal_origin':
      return origin;
    case 'principal_standard':
      return principal.address;
    case 'principal_contract':
      return `${principal.address}.${principal.contract_name}`;
  }
}

const holds = (sent: bigint, code: AmountCondition, stated: bigint): boolean =>
  ({
    sent_equal_to: sent === stated,
    sent_greater_than: sent > stated,
    sent_greater_than_or_equal_to: sent >= stated,
    sent_less_than: sent < stated,
    sent_less_than_or_equal_to: sent <= stated,
  })[code];

/** Returns the asset of a condition; null for conditions that the simulation can't check. */
function assetOf(condition: PostCondition): string | null {
  if (condition.type === 'stx') return STX;
  if (condition.type !== 'fungible' && condition.type !== 'non_fungible') return null;
  const { contract_address, contract_name, asset_name } = condition.asset;
  const asset = `${contract_address}.${contract_name}::${asset_name}`;
  return condition.type === 'fungible' ? asset : tokenText(asset, condition.asset_value.hex.slice(2));
}

function isMet(condition: PostCondition, sent: bigint): boolean {
  if (condition.type === 'stx' || condition.type === 'fungible') {
    return holds(sent, condition.condition_code, BigInt(condition.amount));
  }
  if (condition.type !== 'non_fungible') return false;
  return condition.condition_code === 'maybe_sent' || (condition.condition_code === 'sent') === sent > 0n;
}

/** Decodes mode and conditions of a transaction. */
const decodeConditions = (span: Uint8Array) => decodedOrThrow(decodePostConditions(span));

/** Reports whether the simulation can check all conditions. @param span mode, count and conditions */
export const areChecked = (span: Uint8Array): boolean =>
  decodeConditions(span).postConditions.every((condition) => assetOf(condition) !== null);

const AMOUNT_RULES: Readonly<Record<AmountCondition, string>> = {
  sent_equal_to: 'exactly',
  sent_greater_than: 'more than',
  sent_greater_than_or_equal_to: 'at least',
  sent_less_than: 'less than',
  sent_less_than_or_equal_to: 'at most',
};

/** Shows an amount of an asset, such as `5 micro-STX` or `ST….shop::art u1`. */
function assetText(asset: string, amount: bigint | string): string {
  if (asset === STX) return `${amount} micro-STX`;
  const [name, hex] = asset.split(' ');
  return hex === undefined ? `${amount} ${name}` : `${name} ${clarityRepr(fromHex(`0x${hex}`))}`;
}

/** Returns what a condition requires. */
function requirementText(condition: PostCondition, asset: string): string {
  if (condition.type === 'stx' || condition.type === 'fungible')
    return `must send ${AMOUNT_RULES[condition.condition_code]} ${assetText(asset, condition.amount)}`;
  const isSent = condition.type === 'non_fungible' && condition.condition_code === 'sent';
  return `must ${isSent ? '' : 'not '}send ${assetText(asset, 1n)}`;
}

/** A post-condition that a transaction breaks. */
interface Breach {
  /** The node's error. */
  readonly error: string;
  /** The condition, and the assets that the transaction moved, one per line. */
  readonly report: string;
}

/** Maximum number of movements in a report. */
const MAX_MOVEMENTS = 50;

function reportOf(breach: string, sent: ReadonlyMap<string, SentAsset>): string {
  const movements = [...sent.values()].map(({ owner, asset, amount }) => `  ${owner} sent ${assetText(asset, amount)}`);
  const rest = movements.length - MAX_MOVEMENTS;
  const lines = [...movements.slice(0, MAX_MOVEMENTS), ...(rest > 0 ? [`  and ${rest} more`] : [])];
  return [breach, ...(lines.length === 0 ? ['Nothing was sent.'] : ['Sent by the transaction:', ...lines])].join('\n');
}

/**
 * Finds a post-condition that the transaction breaks.
 * @param span mode, count and conditions; undefined if none must be checked
 * @param events the transaction's events
 * @returns null if all conditions are met
 */
export function findBreach(span: Uint8Array | undefined, events: readonly ChainEvent[], origin: string): Breach | null {
  if (span === undefined) return null;
  const { mode, postConditions } = decodeConditions(span);
  const sent = sentAssets(events);
  const checkedKeys = new Set<string>();
  for (const condition of postConditions) {
    // Such transactions were not admitted.
    if (condition.type === 'unknown') continue;
    const owner = ownerOf(condition.principal, origin);
    const asset = assetOf(condition) ?? '';
    checkedKeys.add(keyOf(owner, asset));
    const amount = sent.get(keyOf(owner, asset))?.amount ?? 0n;
    if (isMet(condition, amount)) continue;
    const isToken = condition.type === 'non_fungible';
    const outcome = isToken ? (amount === 0n ? 'did not' : 'did') : `sent ${amount}`;
    const breach = `Post-condition: ${owner} ${requirementText(condition, asset)}, but ${outcome}.`;
    return { error: failure(owner, asset), report: reportOf(breach, sent) };
  }
  for (const [key, { owner, asset, amount }] of sent) {
    const isDenied = mode === 'deny' || (mode === 'originator' && owner === origin);
    if (!isDenied || checkedKeys.has(key)) continue;
    const breach = `Post-condition mode ${mode}: ${owner} sent ${assetText(asset, amount)} without a condition.`;
    return { error: uncheckedError(owner, asset), report: reportOf(breach, sent) };
  }
  return null;
}

/** The node's name for STX in this error. */
const STX_ASSET = 'S0000000000000000000002AA028H.STX::STX';
/** Returns the node's error for an asset that was moved without a condition, if the mode denies this. */
const uncheckedError = (owner: string, asset: string): string =>
  asset.includes(' ')
    ? `Post-condition check failure: Non-fungible asset ${asset.split(' ')[0]} was moved by ${owner} but not checked`
    : `Post-condition check failure: Fungible asset ${asset === STX ? STX_ASSET : asset} was moved by ${owner} but not checked`;

const failure = (owner: string, asset: string): string => `Post-condition check failure on ${asset} owned by ${owner}`;
