/**
 * An account's sums at any height: the sums of the last checkpoint at or below it, plus the few transactions and rewards after
 * the checkpoint. The writer makes each checkpoint from the one before in the same way.
 */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../../chain/position.ts';
import type { AccountState, TokenSums } from '../../model/account.ts';
import { AFFECTED, PAYLOAD, TOKEN } from '../../rows/enums.ts';
import { CHECKPOINT_EVERY, decimalOf, exactInteger } from '../../rows/formats.ts';
import { type AsText, query, type Stored, statements } from '../../rows/statement.ts';
import { lastNonceOf, type StartingAccount, startingAccountQuery } from './starting-accounts.ts';

/** Columns that add up to a miner's reward. */
export const REWARD_PARTS = ['coinbase', 'fees_anchored', 'fees_streamed_confirmed', 'fees_streamed_produced'] as const;

export const sql = {
  checkpoint: query<CheckpointRow, [number, number]>`
    SELECT height, transactions, sponsored_only, events, locks, inbound, CAST(last_nonce AS TEXT) AS last_nonce,
           sent, received, fees, mined
      FROM account_checkpoints WHERE principal_id = ?1 AND height <= ?2 ORDER BY height DESC LIMIT 1`,
  transactions: query<TransactionRow, [number, number, number]>`
    SELECT pt.affected, pt.events, pt.stx_sent, pt.stx_received, t.fee, t.sender_id, t.sponsor_id,
           CAST(t.nonce AS TEXT) AS nonce, CAST(t.sponsor_nonce AS TEXT) AS sponsor_nonce
      FROM principal_transactions pt JOIN transactions t ON t.position = pt.position
     WHERE pt.principal_id = ?1 AND pt.position BETWEEN ?2 AND ?3`,
  involvements: query<InvolvementsRow, [number, number, number]>`
    SELECT count(*) AS transactions, coalesce(sum(affected & ${AFFECTED.sponsorOnly} <> 0), 0) AS sponsored_only,
           coalesce(sum(events), 0) AS events
      FROM principal_transactions WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3`,
  rewards: query<RewardRow, [number, number, number]>`
    SELECT ${REWARD_PARTS.join(', ')} FROM miner_rewards WHERE recipient_id = ?1 AND height BETWEEN ?2 AND ?3`,
  locks: query<{ total: number }, [number, number, number]>`
    SELECT count(*) AS total FROM stx_locks
     WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3 AND amount IS NOT NULL`,
  transfers: query<{ total: number }, [number, number, number]>`
    SELECT count(*) AS total FROM transactions
     WHERE recipient_id = ?1 AND type = ${PAYLOAD.token_transfer} AND position BETWEEN ?2 AND ?3`,
  memoTransfers: query<{ total: number }, [number, number, number]>`
    SELECT count(*) AS total FROM memo_transfers WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3`,
  tokenChanges: query<TokenRow & SumsRow, [number, number, number]>`
    SELECT token, asset_id, sent, received FROM token_changes WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3`,
  nextToken: query<TokenRow, [number, number, number]>`
    SELECT token, asset_id FROM token_checkpoints
     WHERE principal_id = ?1 AND (token, asset_id) > (?2, ?3) ORDER BY token, asset_id LIMIT 1`,
  tokenCheckpoint: query<SumsRow, [number, number, number, number]>`
    SELECT sent, received FROM token_checkpoints
     WHERE principal_id = ?1 AND token = ?2 AND asset_id = ?3 AND height <= ?4 ORDER BY height DESC LIMIT 1`,
};

interface CheckpointRow
  extends Omit<Stored<'account_checkpoints'>, 'principal_id' | 'last_nonce'>,
    AsText<Stored<'account_checkpoints', 'last_nonce'>> {}

interface TransactionRow
  extends Stored<'principal_transactions', 'affected' | 'events' | 'stx_sent' | 'stx_received'>,
    Stored<'transactions', 'fee' | 'sender_id' | 'sponsor_id'>,
    AsText<Stored<'transactions', 'nonce' | 'sponsor_nonce'>> {}

type RewardRow = Stored<'miner_rewards', (typeof REWARD_PARTS)[number]>;

type TokenRow = Stored<'token_checkpoints', 'token' | 'asset_id'>;

type SumsRow = Stored<'token_checkpoints', 'sent' | 'received'>;

type InvolvementsRow = Pick<CheckpointRow, 'transactions' | 'sponsored_only' | 'events'>;

/** Stands for the checkpoint of an account that has none yet. */
const NO_CHECKPOINT: CheckpointRow = {
  height: -1,
  transactions: 0,
  sponsored_only: 0,
  events: 0,
  locks: 0,
  inbound: 0,
  last_nonce: null,
  sent: '0',
  received: '0',
  fees: '0',
  mined: '0',
};

/** The length of each list of an account, from its checkpoint. */
const countInCheckpoint = {
  transactions: ({ transactions }: CheckpointRow) => transactions,
  moreThanSponsored: (row: CheckpointRow) => row.transactions - row.sponsored_only,
  eventsAndLocks: ({ events, locks }: CheckpointRow) => events + locks,
  inbound: ({ inbound }: CheckpointRow) => inbound,
} as const;
export type ListName = keyof typeof countInCheckpoint;

/** The start of reading a list, newest first, and the number of items to skip from there. */
export interface ListStart {
  last: number;
  offset: number;
}

interface NumberedTokenSums extends TokenSums {
  token: number;
  assetId: number;
}

export type AccountStates = ReturnType<typeof accountStates>;

/** Makes a function that finds the last checkpoint at or before a height, and the range between it and the height. */
function tails(db: Database) {
  const checkpoint = sql.checkpoint.prepared(db);
  return (principal: number, height: number) => {
    const last = checkpoint.get(principal, height) ?? NO_CHECKPOINT;
    const from = last.height + 1;
    return { last, from, first: positionsOf(from).first, end: positionsOf(height).last };
  };
}
type TailOf = ReturnType<typeof tails>;

/** Sums of a principal's tokens at any height. */
function tokenStates(db: Database, tailOf: TailOf) {
  const { tokenChanges, nextToken, tokenCheckpoint } = statements(db, sql);

  /** Changes of tokens between the last checkpoint and a height. */
  function changedTokens(principal: number, height: number): Map<string, NumberedTokenSums> {
    const { first, end } = tailOf(principal, height);
    const sums = new Map<string, NumberedTokenSums>();
    for (const { token, asset_id: assetId, sent, received } of tokenChanges.iterate(principal, first, end)) {
      const key = `${token} ${assetId}`;
      const sum = sums.get(key) ?? { token, assetId, sent: 0n, received: 0n };
      sums.set(key, sum);
      sum.sent += BigInt(sent);
      sum.received += BigInt(received);
    }
    return sums;
  }

  /** Sums at the last checkpoint of a token, up to a height; null if there is none. */
  function tokenSums(principal: number, token: number, assetId: number, height: number): TokenSums | null {
    const row = tokenCheckpoint.get(principal, token, assetId, height);
    return row === null ? null : { sent: BigInt(row.sent), received: BigInt(row.received) };
  }

  const sum = (a: TokenSums | null, b: TokenSums | null | undefined): TokenSums => ({
    sent: (a?.sent ?? 0n) + (b?.sent ?? 0n),
    received: (a?.received ?? 0n) + (b?.received ?? 0n),
  });

  return {
    sumsAtCheckpoint: tokenSums,

    /** Whole sums of the tokens that changed since the last checkpoint, up to a height. */
    changed: (principal: number, height: number): NumberedTokenSums[] =>
      [...changedTokens(principal, height).values()].map((change) => {
        const { token, assetId } = change;
        return { token, assetId, ...sum(tokenSums(principal, token, assetId, height), change) };
      }),

    /** Balance of a fungible token after the block of a height, in base units. */
    ftBalance(principal: number, assetId: number, height: number): bigint {
      const change = changedTokens(principal, height).get(`${TOKEN.ft} ${assetId}`);
      const { sent, received } = sum(tokenSums(principal, TOKEN.ft, assetId, height), change);
      return received - sent;
    },

    /** Sums of every token with an event of the principal up to a height. */
    tokens(principal: number, height: number): NumberedTokenSums[] {
      const tokens = changedTokens(principal, height);
      for (
        let row = nextToken.get(principal, 0, 0);
        row !== null;
        row = nextToken.get(principal, row.token, row.asset_id)
      ) {
        const { token, asset_id: assetId } = row;
        const checkpointSums = tokenSums(principal, token, assetId, height);
        if (checkpointSums === null) continue;
        const key = `${token} ${assetId}`;
        tokens.set(key, { token, assetId, ...sum(checkpointSums, tokens.get(key)) });
      }
      return [...tokens.values()];
    },
  };
}

export function accountStates(db: Database) {
  const { checkpoint, transactions, involvements, rewards, locks, transfers, memoTransfers } = statements(db, sql);
  const startingAccount = startingAccountQuery(db);
  const tailOf = tails(db);

  /** Number of transfers to a principal between two positions, inclusive. */
  const inboundBetween = (principal: number, first: number, last: number): number =>
    (transfers.get(principal, first, last)?.total ?? 0) + (memoTransfers.get(principal, first, last)?.total ?? 0);

  const locksBetween = (principal: number, first: number, last: number): number =>
    locks.get(principal, first, last)?.total ?? 0;

  /** Number of items of each list between two positions, inclusive. */
  const between: Record<ListName, (principal: number, first: number, last: number) => number> = {
    transactions: (...range) => involvements.get(...range)?.transactions ?? 0,
    moreThanSponsored(...range) {
      const row = involvements.get(...range);
      return row === null ? 0 : row.transactions - row.sponsored_only;
    },
    eventsAndLocks: (...range) => (involvements.get(...range)?.events ?? 0) + locksBetween(...range),
    inbound: inboundBetween,
  };

  /** Number of items of a list up to a height, inclusive. */
  function total(principal: number, height: number, list: ListName): number {
    const { last, first, end } = tailOf(principal, height);
    return countInCheckpoint[list](last) + between[list](principal, first, end);
  }

  /** Sums of transactions and rewards up to a height, inclusive. Like a checkpoint, excludes the starting balance. */
  function sums(principal: number, height: number): Omit<AccountState, 'initial'> {
    const { last, from, first, end } = tailOf(principal, height);
    const state: Omit<AccountState, 'initial'> = {
      transactions: last.transactions,
      sponsoredOnly: last.sponsored_only,
      events: last.events,
      locks: last.locks + locksBetween(principal, first, end),
      inbound: last.inbound + inboundBetween(principal, first, end),
      lastNonce: exactInteger(last.last_nonce),
      sent: BigInt(last.sent),
      received: BigInt(last.received),
      fees: BigInt(last.fees),
      mined: BigInt(last.mined),
    };
    const raiseLastNonce = (text: string | null) => {
      const nonce = exactInteger(text);
      if (nonce !== null && (state.lastNonce === null || nonce > state.lastNonce)) state.lastNonce = nonce;
    };
    for (const row of transactions.iterate(principal, first, end)) {
      const fee = (row.sponsor_id ?? row.sender_id) === principal ? BigInt(decimalOf(row.fee)) : 0n;
      state.transactions += 1;
      state.sponsoredOnly += (row.affected & AFFECTED.sponsorOnly) === 0 ? 0 : 1;
      state.events += row.events;
      state.fees += fee;
      state.sent += BigInt(row.stx_sent) - fee;
      state.received += BigInt(row.stx_received);
      if (row.sender_id === principal) raiseLastNonce(row.nonce);
      if (row.sponsor_id === principal) raiseLastNonce(row.sponsor_nonce);
    }
    for (const row of rewards.iterate(principal, from, height)) {
      for (const part of Object.values(row)) state.mined += BigInt(part);
    }
    return state;
  }

  /** An account after the block of a height. @param nodeAccount the node's answer about an untouched account */
  function stateAt(principal: number, height: number, nodeAccount: StartingAccount | null = null): AccountState {
    const state = sums(principal, height);
    const start = nodeAccount ?? startingAccount(principal);
    if (start === null) return { ...state, initial: 0n };
    const lastNonce = state.lastNonce ?? lastNonceOf(start);
    return { ...state, lastNonce, initial: start.balance };
  }

  /**
   * Returns where to start reading a list for an offset: at the oldest checkpoint above the page's first item, which is among
   * the next few items.
   * @param total number of items of the list
   */
  function startOf(principal: number, height: number, list: ListName, total: number, offset: number): ListStart {
    const countOf = countInCheckpoint[list];
    let nearest: CheckpointRow | null = null;
    let [low, high] = [0, height];
    while (offset > CHECKPOINT_EVERY && low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = checkpoint.get(principal, middle);
      if (row !== null && countOf(row) >= total - offset) {
        nearest = row;
        high = row.height;
      } else low = middle + 1;
    }
    if (nearest === null) return { last: positionsOf(height).last, offset };
    return { last: positionsOf(nearest.height).last, offset: offset - (total - countOf(nearest)) };
  }

  return { at: stateAt, sums, total, between, startOf, ...tokenStates(db, tailOf) };
}
