/** The principals that a transaction involves, and how. */
import { makeCollector } from '../base/garbage.ts';
import type { ChainEvent, ChainTransaction } from './block.ts';
import type { Involvement } from './effect.ts';

type Involvements = Map<string, Involvement>;

/** Returns the involvement of a principal. Inserts it if there is none. */
function sponsoring(involvements: Involvements, principal: string): Involvement {
  let involvement = involvements.get(principal);
  if (involvement === undefined) {
    involvement = {
      stx: false,
      ft: false,
      nft: false,
      stxMoved: false,
      sponsorOnly: true,
      events: 0,
      stxInbound: 0,
      stxOutbound: 0,
      sent: 0n,
      received: 0n,
    };
    involvements.set(principal, involvement);
  }
  return involvement;
}

/** Returns the involvement of a principal that does more than sponsor the transaction. */
function concerning(involvements: Involvements, principal: string): Involvement {
  const involvement = sponsoring(involvements, principal);
  involvement.sponsorOnly = false;
  return involvement;
}

type IsWithin = (principal: string) => boolean;

/** Adds the signers, the payer of the fee, and the principals that the payload names. */
function addSigners(
  { sender, sponsor, fee, payload }: ChainTransaction,
  involvements: Involvements,
  isWithin: IsWithin,
): void {
  const payer = sponsor?.address ?? sender.address;
  if (isWithin(sender.address)) concerning(involvements, sender.address);
  if (isWithin(payer)) {
    const paying = sponsoring(involvements, payer);
    paying.stx = true;
    paying.stxMoved = true;
    paying.sent += fee;
  }
  if (payload.type === 'token_transfer') {
    if (isWithin(payload.recipient)) concerning(involvements, payload.recipient).stx = true;
  } else if (payload.type === 'contract_call') {
    if (isWithin(payload.contractId)) concerning(involvements, payload.contractId);
  } else if (payload.type === 'smart_contract') {
    const deployed = `${sender.address}.${payload.contractName}`;
    if (isWithin(deployed)) concerning(involvements, deployed);
  }
}

function addParties(event: ChainEvent, involvements: Involvements, isWithin: IsWithin): void {
  if (event.kind !== 'stx' && event.kind !== 'ft' && event.kind !== 'nft') return;
  if (event.sender !== null && isWithin(event.sender)) {
    const sender = concerning(involvements, event.sender);
    sender[event.kind] = true;
    sender.events += 1;
    if (event.kind === 'stx') {
      sender.stxMoved = true;
      sender.stxOutbound += 1;
      sender.sent += BigInt(event.amount);
    }
  }
  if (event.recipient !== null && isWithin(event.recipient)) {
    const recipient = concerning(involvements, event.recipient);
    recipient[event.kind] = true;
    if (event.recipient !== event.sender) recipient.events += 1;
    if (event.kind === 'stx') {
      recipient.stxMoved = true;
      recipient.stxInbound += 1;
      recipient.received += BigInt(event.amount);
    }
  }
}

/** Events between two garbage collections. */
const EVENTS_OF_A_COLLECTION = 20_000;

function involvementsWithin(transaction: ChainTransaction, isWithin: IsWithin): Involvements {
  const involvements: Involvements = new Map();
  addSigners(transaction, involvements, isWithin);
  const collect = makeCollector(EVENTS_OF_A_COLLECTION);
  for (const event of transaction.events) {
    addParties(event, involvements, isWithin);
    collect();
  }
  return involvements;
}

/** Hashes a principal to a number from 0 to `portions` - 1. */
function portionOf(principal: string, portions: number): number {
  let hash = 0;
  for (let i = 0; i < principal.length; i++) hash = (Math.imul(hash, 31) + principal.charCodeAt(i)) | 0;
  return (hash >>> 0) % portions;
}

/**
 * Generates the principals that a transaction involves: its sender, the payer of the fee, recipient, called or deployed
 * contract, and the parties of every asset event. A principal that only a lock, a log or an argument names is not
 * involved.
 *
 * The principals come in portions, each principal in one portion, because a genesis block's mints involve hundreds of
 * thousands.
 * @param eventsOfPortion number of events per portion
 */
export function* involvementsOf(
  transaction: ChainTransaction,
  eventsOfPortion = Number.POSITIVE_INFINITY,
): Generator<ReadonlyMap<string, Involvement>> {
  const portions = Math.floor(transaction.events.length / eventsOfPortion) + 1;
  if (portions === 1) yield involvementsWithin(transaction, () => true);
  else {
    for (let portion = 0; portion < portions; portion++) {
      yield involvementsWithin(transaction, (principal) => portionOf(principal, portions) === portion);
    }
  }
}
