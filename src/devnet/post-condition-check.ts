/** Whether what a transaction moved is what its post-conditions allow (SIP-005, "Transaction post-conditions"). */
import {
  type AmountCondition,
  decodePostConditions,
  type PostCondition,
  type PostConditionPrincipal,
} from '../codec/post-conditions.ts';
import type { ChainEvent } from './chain-event.ts';

const STX = 'STX';

/** What was sent, by its owner and what it is: an amount, or 1 for a token that is one of its kind. */
interface Sent {
  readonly owner: string;
  readonly asset: string;
  amount: bigint;
}

const keyOf = (owner: string, asset: string): string => `${owner} ${asset}`;
const tokenText = (asset: string, hex: string): string => `${asset} ${hex}`;

/** What the events took from somebody: what is transferred and burnt, and not what is minted. */
function sentBy(events: readonly ChainEvent[]): Map<string, Sent> {
  const sent = new Map<string, Sent>();
  const add = (owner: string, asset: string, amount: bigint) => {
    const known = sent.get(keyOf(owner, asset)) ?? { owner, asset, amount: 0n };
    known.amount += amount;
    sent.set(keyOf(owner, asset), known);
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

/** The asset that a condition is about; null for what the simulation can't check. */
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

/** Mode and conditions of a transaction that was decoded before. */
function conditionsOf(span: Uint8Array) {
  const conditions = decodePostConditions(span);
  if (!conditions.ok) throw conditions.error;
  return conditions.value;
}

/** Whether all conditions are of kinds that the simulation checks. @param span mode, count and conditions, decoded before */
export const areChecked = (span: Uint8Array): boolean =>
  conditionsOf(span).postConditions.every((condition) => assetOf(condition) !== null);

/**
 * What breaks the post-conditions of a transaction.
 * @param span mode, count and conditions, decoded before; undefined where nothing is to be checked
 * @param events what the transaction did
 * @returns the node's error, or null where the conditions hold
 */
export function brokenPostCondition(
  span: Uint8Array | undefined,
  events: readonly ChainEvent[],
  origin: string,
): string | null {
  if (span === undefined) return null;
  const { mode, postConditions } = conditionsOf(span);
  const sent = sentBy(events);
  const named = new Set<string>();
  for (const condition of postConditions) {
    // Such a transaction was not taken.
    if (condition.type === 'unknown') continue;
    const owner = ownerOf(condition.principal, origin);
    const asset = assetOf(condition) ?? '';
    named.add(keyOf(owner, asset));
    if (!isMet(condition, sent.get(keyOf(owner, asset))?.amount ?? 0n)) return failure(owner, asset);
  }
  for (const [key, { owner, asset }] of sent) {
    const isDenied = mode === 'deny' || (mode === 'originator' && owner === origin);
    if (isDenied && !named.has(key)) return failure(owner, asset);
  }
  return null;
}

const failure = (owner: string, asset: string): string => `Post-condition check failure on ${asset} owned by ${owner}`;
