/** Writes events, the principals that take part in transactions, and the changes of their tokens. */
import type { Database } from 'bun:sqlite';
import type { ChainEvent } from '../../chain/block.ts';
import type { EffectOf, Involvement } from '../../chain/effect.ts';
import { AFFECTED, assetEventKind, EVENT_KIND, storedToken } from '../rows/enums.ts';
import { type NewRow, table } from '../rows/table.ts';
import {
  eventsTable,
  memoTransfersTable,
  principalTransactionsTable,
  stxLocksTable,
  tokenChangesTable,
} from '../rows/tables.ts';
import type { TouchMarks } from './account-writer.ts';
import type { Dictionaries } from './dictionary.ts';

type EventRow = NewRow<typeof eventsTable>;

/** The columns that a kind of event uses; the others are null. */
type EventColumns = Pick<EventRow, 'kind'> & Partial<EventRow>;

function eventColumns(event: ChainEvent, { principals, assets }: Dictionaries): EventColumns {
  const idOf = (address: string | null): number | null => (address === null ? null : principals.id(address));
  switch (event.kind) {
    case 'contract_log':
      return {
        kind: EVENT_KIND.log,
        contract_id: principals.id(event.contractId),
        topic: event.topic,
        value: event.value,
      };
    case 'stx_lock':
      return {
        kind: EVENT_KIND.lock,
        sender_id: principals.id(event.address),
        topic: event.contractName,
        amount: event.amount,
        unlock_height: event.unlockHeight,
      };
    case 'unknown':
      return { kind: EVENT_KIND.unknown, topic: event.type, value: Buffer.from(event.json) };
    default:
      return {
        kind: assetEventKind(event),
        asset_id: event.kind === 'stx' ? null : assets.id(event.asset),
        sender_id: idOf(event.sender),
        recipient_id: idOf(event.recipient),
        amount: event.kind === 'nft' ? null : event.amount,
        value: event.kind === 'stx' ? event.memo : event.kind === 'nft' ? event.value : null,
      };
  }
}

/** Lists every column, because copying the columns of an event takes several times as long. */
const eventRow = (position: number, index: number, columns: EventColumns): EventRow => ({
  position,
  event_index: index,
  kind: columns.kind,
  sender_id: columns.sender_id ?? null,
  recipient_id: columns.recipient_id ?? null,
  asset_id: columns.asset_id ?? null,
  contract_id: columns.contract_id ?? null,
  topic: columns.topic ?? null,
  amount: columns.amount ?? null,
  unlock_height: columns.unlock_height ?? null,
  value: columns.value ?? null,
});

/** Applies effects on events. */
export function eventWriter(db: Database, dictionaries: Dictionaries) {
  const events = table(db, eventsTable);
  return ({ sign, position, index, event }: EffectOf<'event'>): void => {
    if (sign === 1) events.add(eventRow(position, index, eventColumns(event, dictionaries)));
    else events.remove({ position, event_index: index });
  };
}

const affectedBits = ({ stx, ft, nft, stxMoved, sponsorOnly }: Involvement): number =>
  (stx ? AFFECTED.stx : 0) |
  (ft ? AFFECTED.ft : 0) |
  (nft ? AFFECTED.nft : 0) |
  (stxMoved ? AFFECTED.stxMoved : 0) |
  (sponsorOnly ? AFFECTED.sponsorOnly : 0);

/** Applies effects on the principals of a transaction. */
export function involvementWriter(db: Database, { principals }: Dictionaries) {
  const involvements = table(db, principalTransactionsTable);
  return ({ sign, position, principal, involvement }: EffectOf<'involvement'>): void => {
    involvements.move(sign, {
      principal_id: principals.id(principal),
      position,
      affected: affectedBits(involvement),
      events: involvement.events,
      stx_sent: involvement.sent.toString(),
      stx_received: involvement.received.toString(),
    });
  };
}

/** Applies effects on transfers with a memo. */
export function memoTransferWriter(db: Database, { principals }: Dictionaries) {
  const transfers = table(db, memoTransfersTable);
  return ({ sign, position, transfer }: EffectOf<'memo_transfer'>): void => {
    const { recipient, eventIndex, printed } = transfer;
    const key = { principal_id: principals.id(recipient), position, event_index: eventIndex };
    transfers.move(sign, { ...key, printed: Number(printed) });
  };
}

/** Applies effects on locks of STX. */
export function stxLockWriter(db: Database, { principals }: Dictionaries, marks: TouchMarks) {
  const locks = table(db, stxLocksTable);
  return ({ sign, position, index, lock }: EffectOf<'lock'>): void => {
    const key = { principal_id: principals.id(lock.principal), position, event_index: index };
    if (sign === -1) {
      locks.remove(key);
      marks.left(key.principal_id);
      return;
    }
    marks.touched(key.principal_id);
    locks.add({ ...key, amount: lock.amount, unlock_height: lock.unlockHeight, pox_version: lock.poxVersion });
  };
}

/** Applies effects on a principal's tokens: the amounts that a transaction moved of each. */
export function tokenChangeWriter(db: Database, { principals, assets }: Dictionaries) {
  const changes = table(db, tokenChangesTable);
  return ({ sign, position, principal, token, asset, sent, received }: EffectOf<'token_change'>) => {
    changes.move(sign, {
      principal_id: principals.id(principal),
      position,
      token: storedToken.numberOf(token),
      asset_id: assets.id(asset),
      sent: sent.toString(),
      received: received.toString(),
    });
  };
}
