/**
 * The second name system: contracts named `BNS-V2`, their prints, their tokens and one call. The rules come from the source
 * of the contract (https://docs.stacks.co/learn/network-fundamentals/bitcoin-name-system):
 *
 * - `new-name`, `transfer-name` and `renew-name` print the name, the number of its token, and its properties with the
 *   Bitcoin height at which it must be renewed. 0 means that the namespace decides.
 * - `new-airdrop` prints no properties: the name has the lifetime of its namespace from that Bitcoin block on.
 * - `burn-name` ends the name. A new registration has another token.
 * - A print with `status` has all properties of a namespace.
 * - A principal without a primary name gets the first token that it receives. It loses its primary name with that token.
 *   An airdrop always replaces the primary name. `set-primary-name` prints nothing, so only a direct call shows it.
 */

import { assetContractOf } from '../codec/address.ts';
import { type ClarityValue, clarityValueOf, decodeArguments } from '../codec/clarity.ts';
import { strictText } from '../codec/utf8.ts';
import type { ChainEvent, ChainTransaction } from './block.ts';
import { MAX_LIFETIME } from './name-system.ts';
import type { Network } from './network.ts';
import { type Tuple, tupleOf } from './pox/print.ts';

/** Name of the contracts, and of their non-fungible token. */
const NAME = 'BNS-V2';

export const BNS_CONTRACTS: Readonly<Record<Network['kind'], string>> = {
  mainnet: `SP2QEZ06AGJ3RKJPBV14SY1V5BBFNAW33D96YPGZF.${NAME}`,
  testnet: `ST2QEZ06AGJ3RKJPBV14SY1V5BBFNAW33D9SZJQ0M.${NAME}`,
};

/** Pattern of the identifiers of contracts that are indexed. */
export const BNS_CONTRACT_PATTERN = `^S[A-Z0-9]{27,41}\\.${NAME}$`;

/** Reports whether a contract has the prints of the second name system. The deployer doesn't matter. */
const isBnsContract = (contractId: string): boolean => contractId.endsWith(`.${NAME}`);

/** Returns the asset identifier of a contract's names. */
export const bnsAsset = (contractId: string): string => `${contractId}::${NAME}`;

const ASSET_END = bnsAsset(`.${NAME}`);

export const bnsOperations = ['new-name', 'new-airdrop', 'transfer-name', 'renew-name', 'burn-name'] as const;
export type BnsOperation = (typeof bnsOperations)[number];

/** An operation on a name. */
export interface BnsNameChange {
  kind: 'name';
  /** Number of the token. */
  id: number;
  /** Full name: `alice.btc`. */
  name: string;
  namespace: string;
  operation: BnsOperation;
  /** Bitcoin height at which the name must be renewed. 0 if the namespace decides; null if the print lacks it. */
  renewalHeight: number | null;
}

/** The properties of a namespace that the end of a name depends on. Heights are Bitcoin's. */
export interface BnsNamespace {
  /** Blocks until a name must be renewed; 0 if names never expire. */
  lifetime: number;
  /** Names without a renewal height count from here; null before the launch. */
  launchedAt: number | null;
}

/** A change of the second name system by an event or a call. */
export type BnsChange =
  | BnsNameChange
  | ({ kind: 'namespace'; namespace: string } & BnsNamespace)
  /** The token of a name moved; null for a mint's sender and a burn's recipient. */
  | { kind: 'token'; id: number; from: string | null; to: string | null }
  /** A principal chose a primary name, or an airdrop replaced it. */
  | { kind: 'primary'; id: number; owner: string };

/** Longest values of the contract, in bytes. A longer name is not indexed. */
const MAX_NAME = 48;
const MAX_NAMESPACE = 20;

function labelOf(value: ClarityValue | undefined, maxLength: number): string | null {
  if (value?.type !== 'buffer' || value.value.length === 0 || value.value.length > maxLength) return null;
  const text = strictText(value.value);
  return text === null || text.includes('.') ? null : text;
}

/** Returns the value of an optional, or the value itself; undefined if there is none. */
const unwrap = (value: ClarityValue | undefined): ClarityValue | undefined =>
  value?.type === 'some' ? value.value : value?.type === 'none' ? undefined : value;

/** Returns the number of a token; null if it isn't an exact number. */
function numberOf(value: ClarityValue | undefined): number | null {
  const tuple = unwrap(value);
  return tuple?.type === 'uint' && tuple.value <= Number.MAX_SAFE_INTEGER ? Number(tuple.value) : null;
}

/** Returns a height or a lifetime, at most 2^31 - 1; null if there is none. */
function heightOf(value: ClarityValue | undefined): number | null {
  const optional = unwrap(value);
  if (optional?.type !== 'uint') return null;
  return optional.value > MAX_LIFETIME ? MAX_LIFETIME : Number(optional.value);
}

function namespaceChange(print: Tuple): BnsChange[] {
  const namespace = labelOf(print.get('namespace'), MAX_NAMESPACE);
  const properties = tupleOf(unwrap(print.get('properties')));
  const lifetime = heightOf(properties?.get('lifetime'));
  if (namespace === null || properties === null || lifetime === null) return [];
  return [{ kind: 'namespace', namespace, lifetime, launchedAt: heightOf(properties.get('launched-at')) }];
}

/** Returns the changes by a print of the contract; none if it changes no name, or can't be read. */
function printChanges(value: Uint8Array): BnsChange[] {
  const print = tupleOf(clarityValueOf(value));
  if (print === null) return [];
  if (print.has('status')) return namespaceChange(print);
  const topic = print.get('topic');
  const operation = topic?.type === 'string-ascii' ? bnsOperations.find((word) => word === topic.value) : undefined;
  const fields = tupleOf(print.get('name'));
  const label = labelOf(fields?.get('name'), MAX_NAME);
  const namespace = labelOf(fields?.get('namespace'), MAX_NAMESPACE);
  const id = numberOf(print.get('id'));
  if (operation === undefined || label === null || namespace === null || id === null) return [];
  const renewalHeight = heightOf(tupleOf(unwrap(print.get('properties')))?.get('renewal-height'));
  const changes: BnsChange[] = [
    { kind: 'name', id, name: `${label}.${namespace}`, namespace, operation, renewalHeight },
  ];
  const owner = print.get('owner');
  if (operation === 'new-airdrop' && owner?.type === 'principal')
    changes.push({ kind: 'primary', id, owner: owner.value });
  return changes;
}

const tokenNumber = (value: Uint8Array): number | null => numberOf(clarityValueOf(value) ?? undefined);

/** Returns the contract and its changes by an event; null if the event doesn't belong to the second name system. */
export function bnsChangesOf(event: ChainEvent): { contract: string; changes: BnsChange[] } | null {
  if (event.kind === 'contract_log') {
    const { contractId: contract, topic, value } = event;
    return isBnsContract(contract) && topic === 'print' ? { contract, changes: printChanges(value) } : null;
  }
  if (event.kind !== 'nft' || !event.asset.endsWith(ASSET_END)) return null;
  const contract = assetContractOf(event.asset);
  const id = tokenNumber(event.value);
  const { sender: from, recipient: to } = event;
  return { contract, changes: id === null ? [] : [{ kind: 'token', id, from, to }] };
}

/** Name of the function that chooses the caller's primary name. */
export const SET_PRIMARY = 'set-primary-name';

/** Returns the number of the token that a call makes the primary name; null if it can't be read. */
export function primaryOfCall(functionArgs: Uint8Array): number | null {
  const spans = decodeArguments(functionArgs);
  const [first] = spans.ok ? spans.value : [];
  return first === undefined ? null : tokenNumber(first);
}

/** Returns the contract and the change by a direct call, which prints nothing; null for other transactions. */
export function bnsChangeOfCall({ status, payload, sender }: ChainTransaction) {
  if (status !== 'success' || payload.type !== 'contract_call') return null;
  if (payload.functionName !== SET_PRIMARY || !isBnsContract(payload.contractId)) return null;
  const id = primaryOfCall(payload.functionArgs);
  if (id === null) return null;
  return { contract: payload.contractId, change: { kind: 'primary', id, owner: sender.address } as const };
}

/**
 * Returns the Bitcoin height at which a name must be renewed; null if it never expires, or its namespace isn't launched.
 * @param burnHeight Bitcoin height of the block of the name's last operation
 * @param namespace null if the contract hasn't printed it
 */
export function bnsRenewalHeight(
  { operation, renewalHeight }: Pick<BnsNameChange, 'operation' | 'renewalHeight'>,
  burnHeight: number,
  namespace: BnsNamespace | null,
): number | null {
  if (namespace !== null && namespace.lifetime === 0) return null;
  if (renewalHeight !== null && renewalHeight > 0) return renewalHeight;
  const start = operation === 'new-airdrop' ? burnHeight : (namespace?.launchedAt ?? null);
  return namespace === null || start === null ? null : Math.min(start + namespace.lifetime, MAX_LIFETIME);
}
