/**
 * Every movement of a principal's assets, oldest first, with the balance after it. A walk is read in batches of bounded cost,
 * each in a separate snapshot, so that a slow client keeps no snapshot open.
 */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import { heightOf, positionsOf } from '../../../chain/position.ts';
import {
  type Bound,
  type HistoryPosition,
  type HistoryWalk,
  type MovedAsset,
  type Movement,
  type MovementKind,
  type Period,
  stxOf,
  type TokenSums,
} from '../../model/account.ts';
import { ChainReplacedError } from '../../model/read-errors.ts';
import { assetEventOf, EVENT_KIND, storedToken, TOKEN } from '../../rows/enums.ts';
import { columnList, heightIn, shownTime } from '../../rows/expressions.ts';
import { decimalOf } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { firstSinceQuery } from '../blocks/windows.ts';
import { numbers } from '../numbers.ts';
import { memoOf, memoPrint } from '../tokens/transfers.ts';
import { accountStates, REWARD_PARTS } from './account-states.ts';

export const sql = {
  tip: query<{ height: number | null }>`SELECT max(height) AS height FROM blocks`,
  hash: query<Stored<'blocks', 'index_block_hash'>, [number]>`SELECT index_block_hash FROM blocks WHERE height = ?1`,
  transactions: query<TransactionRow, [number, number, number, boolean]>`
    SELECT pt.position, pt.events, t.tx_id, ${shownTime} AS time, t.fee, t.event_count,
           t.type, t.memo, coalesce(t.sponsor_id, t.sender_id) AS payer_id
      FROM principal_transactions pt JOIN transactions t ON t.position = pt.position
      JOIN blocks b ON b.height = ${heightIn('pt.position')}
     WHERE pt.principal_id = ?1 AND pt.position BETWEEN ?2 AND ?3 AND (t.genesis_block_time IS NOT NULL) = ?4
     ORDER BY pt.position`,
  events: query<EventRow, [number, number, number, number]>`
    SELECT e.event_index, e.kind, e.sender_id, e.recipient_id, sender.address AS sender,
           recipient.address AS recipient, e.asset_id, a.identifier, e.amount,
           iif(e.kind >= ${EVENT_KIND.nft_transfer}, e.value, NULL) AS value,
           iif(e.kind = ${EVENT_KIND.stx_transfer}, e.value, NULL) AS memo, ${memoPrint.columns}
      FROM events e LEFT JOIN principals sender ON sender.id = e.sender_id
      LEFT JOIN principals recipient ON recipient.id = e.recipient_id LEFT JOIN assets a ON a.id = e.asset_id
      ${memoPrint.joins}
     WHERE e.position = ?1 AND e.event_index BETWEEN ?2 AND ?3 AND e.kind >= ${EVENT_KIND.stx_transfer}
       AND (e.sender_id = ?4 OR e.recipient_id = ?4) ORDER BY e.event_index`,
  rewards: query<RewardRow, [number, number, number, number]>`
    SELECT r.height, r.reward_index, b.block_time AS time, ${columnList('r', REWARD_PARTS)}
      FROM miner_rewards r JOIN blocks b ON b.height = r.height
     WHERE r.recipient_id = ?1 AND r.height BETWEEN ?2 AND ?4 AND (r.height > ?2 OR r.reward_index >= ?3)
     ORDER BY r.height`,
};

/** `events`: number of asset events that concern the principal. */
interface TransactionRow
  extends Stored<'principal_transactions', 'position' | 'events'>,
    Stored<'transactions', 'tx_id' | 'fee' | 'event_count' | 'type' | 'memo'> {
  time: number;
  payer_id: number;
}

interface EventRow
  extends Stored<'events', 'event_index' | 'kind' | 'sender_id' | 'recipient_id' | 'asset_id' | 'amount'> {
  sender: string | null;
  recipient: string | null;
  identifier: string | null;
  value: Uint8Array | null;
  memo: Uint8Array | null;
  next_contract: string | null;
  next_value: Uint8Array | null;
}

interface RewardRow extends Stored<'miner_rewards', 'height' | 'reward_index' | (typeof REWARD_PARTS)[number]> {
  time: number;
}

/** About the number of transactions and events in a batch, which takes some milliseconds. */
const BATCH_ROWS = 1000;

/** Bytes of values that cost as much as an event. */
const BYTES_OF_A_ROW = 1_000;

const STX: MovedAsset = { type: 'stx' };
const STX_KEY = 'stx';
const keyOf = (asset: MovedAsset): string => (asset.type === 'stx' ? STX_KEY : `${asset.type} ${asset.identifier}`);

/** A movement without the balance after it, and with the number of its token. */
type BareMovement = Omit<Movement, 'balance'> & { assetId: number | null };

const rewardOf = (row: RewardRow): bigint => REWARD_PARTS.reduce((sum, part) => sum + BigInt(row[part]), 0n);

const rewardMovement = (row: RewardRow): BareMovement => ({
  kind: 'mining_reward',
  height: row.height,
  time: row.time,
  txId: null,
  eventIndex: null,
  asset: STX,
  assetId: null,
  value: null,
  memo: null,
  counterparty: null,
  amount: rewardOf(row),
});

const inTransaction = ({ position, time, tx_id }: TransactionRow) => ({
  height: heightOf(position),
  time,
  txId: tx_id,
});

/** The movement of the fee; none if another principal pays it. */
function feeMovement(principal: number, row: TransactionRow): BareMovement[] {
  const fee = BigInt(decimalOf(row.fee));
  if (row.payer_id !== principal || fee === 0n) return [];
  const common = { ...inTransaction(row), eventIndex: null, counterparty: null };
  return [{ ...common, kind: 'fee', asset: STX, assetId: null, value: null, memo: null, amount: -fee }];
}

/** Movements of an event: first the amount that the principal sends, then the amount it receives. */
function eventMovements(principal: number, transaction: TransactionRow, row: EventRow): BareMovement[] {
  const { asset: type, action } = assetEventOf(row.kind);
  const asset: MovedAsset = type === 'stx' ? STX : { type, identifier: row.identifier ?? '' };
  const amount = type === 'nft' ? 1n : BigInt(row.amount ?? 0);
  const kind: MovementKind = action;
  const memo =
    row.kind === EVENT_KIND.stx_transfer
      ? memoOf({ ...row, type: transaction.type, transaction_memo: transaction.memo })
      : null;
  const common = { ...inTransaction(transaction), kind, asset, assetId: row.asset_id, value: row.value, memo };
  const movements: BareMovement[] = [];
  if (row.sender_id === principal) {
    movements.push({ ...common, eventIndex: row.event_index, counterparty: row.recipient, amount: -amount });
  }
  if (row.recipient_id === principal) {
    movements.push({ ...common, eventIndex: row.event_index, counterparty: row.sender, amount });
  }
  return movements;
}

/** Resolves the ends of periods to heights. */
function boundQueries(db: Database) {
  const tip = sql.tip.prepared(db);
  const firstSince = firstSinceQuery(db);
  const firstOf = (bound: Bound, above: number): number =>
    'height' in bound ? bound.height : (firstSince(bound.time) ?? above);
  const lastOf = (bound: Bound, above: number): number =>
    'height' in bound ? bound.height : (firstSince(bound.time + 1) ?? above) - 1;

  /** First and last height of a period; null before the first block. */
  return ({ from, to }: Period): { first: number; last: number } | null => {
    const highest = tip.get()?.height ?? null;
    if (highest === null) return null;
    return {
      first: from === null ? 0 : firstOf(from, highest + 1),
      last: to === null ? highest : Math.min(lastOf(to, highest + 1), highest),
    };
  };
}

/** A principal's balances before a height: some are read together, the other tokens' balances one by one. */
function openings(db: Database) {
  const states = accountStates(db);
  const difference = ({ sent, received }: TokenSums): bigint => received - sent;
  return {
    /** Balances of STX, and of the tokens that changed since the last checkpoint before the height. */
    recent(principal: number, height: number, keyOfToken: (token: number, assetId: number) => string) {
      const balances = new Map([[STX_KEY, stxOf(states.at(principal, height - 1))]]);
      for (const sums of states.changed(principal, height - 1)) {
        balances.set(keyOfToken(sums.token, sums.assetId), difference(sums));
      }
      return balances;
    },
    /** The balance of a token that did not change after the last checkpoint before the height. */
    ofToken(principal: number, type: 'ft' | 'nft', assetId: number, height: number): bigint {
      const sums = states.sumsAtCheckpoint(principal, TOKEN[type], assetId, height - 1);
      return sums === null ? 0n : difference(sums);
    },
  };
}

/** Positions between a transaction in block 0, where a walk has it, and in block 1, which serves it. */
const GENESIS_DISTANCE = positionsOf(1).first;

/** The position at which a walk through blocks from a height on starts. With block 1, it starts with block 0. */
const startingPosition = (height: number): number => positionsOf(height === 1 ? 0 : height).first;

function batches(db: Database, batchRows: number) {
  const { transactions, events, rewards } = statements(db, sql);

  /**
   * Transactions from a position of a walk on. Block 1 serves the transactions of block 0 after its own, but the node executed
   * them before.
   */
  function* transactionsFrom(principal: number, position: number, last: number) {
    if (last > 0 && heightOf(position) === 0) {
      const served = positionsOf(1);
      for (const row of transactions.iterate(principal, position + GENESIS_DISTANCE, served.last, true)) {
        yield { row, position: row.position - GENESIS_DISTANCE };
      }
    }
    for (const row of transactions.iterate(principal, position, positionsOf(last).last, false)) {
      yield { row, position: row.position };
    }
  }

  /** Transactions and rewards from a position on; a block's rewards follow its transactions. */
  function* transactionsAndRewards(principal: number, { position, reward }: HistoryPosition, last: number) {
    const [height, index] = reward;
    const rewardRows = rewards.iterate(principal, height, index, last);
    try {
      let next = rewardRows.next();
      for (const transaction of transactionsFrom(principal, position, last)) {
        for (; next.done !== true && next.value.height < heightOf(transaction.position); next = rewardRows.next()) {
          yield { reward: next.value };
        }
        yield { transaction };
      }
      for (; next.done !== true; next = rewardRows.next()) yield { reward: next.value };
    } finally {
      rewardRows.return?.();
    }
  }

  /** The movements of a transaction from an event on, as far as the rows of this batch suffice. */
  function movementsIn(principal: number, row: TransactionRow, current: HistoryPosition, rows: number) {
    const movements = current.event === 0 ? feeMovement(principal, row) : [];
    if (current.found >= row.events) return { movements, event: row.event_count, found: current.found, read: 0 };
    let end = Math.min(current.event + rows, row.event_count);
    let [found, bytes] = [current.found, 0];
    for (const event of events.iterate(row.position, current.event, end - 1, principal)) {
      movements.push(...eventMovements(principal, row, event));
      found += 1;
      bytes += event.value?.length ?? 0;
      if (bytes < rows * BYTES_OF_A_ROW) continue;
      end = event.event_index + 1;
      break;
    }
    return { movements, event: end, found, read: end - current.event + Math.floor(bytes / BYTES_OF_A_ROW) };
  }

  /** The next movements of a walk, and the position after them; null at its end. */
  return (
    principal: number,
    from: HistoryPosition,
    last: number,
  ): { movements: BareMovement[]; position: HistoryPosition } | null => {
    const all: BareMovement[] = [];
    let current = from;
    let rows = 0;
    for (const { transaction, reward } of transactionsAndRewards(principal, from, last)) {
      if (rows >= batchRows) return { movements: all, position: current };
      rows += 1;
      if (reward !== undefined) {
        all.push(rewardMovement(reward));
        current = { ...current, reward: [reward.height, reward.reward_index + 1] };
        continue;
      }
      const isContinued = current.position === transaction.position;
      const start = isContinued ? current : { ...current, position: transaction.position, event: 0, found: 0 };
      const { row } = transaction;
      const { movements, event, found, read } = movementsIn(principal, row, start, batchRows);
      all.push(...movements);
      rows += read;
      current = { ...start, event, found };
      if (event < row.event_count && found < row.events) return { movements: all, position: current };
      current = { ...current, position: transaction.position + 1, event: 0, found: 0 };
    }
    return rows === 0 ? null : { movements: all, position: current };
  };
}

/**
 * @param file identifies the index's file, as a reader does
 * @param rows number of rows in a batch; tests use another than the default
 */
export function principalHistoryQueries(db: Database, file: number, rows = BATCH_ROWS) {
  const heightsOf = boundQueries(db);
  const hashAt = sql.hash.prepared(db);
  const { principalOf, identifierOf } = numbers(db);
  const opening = openings(db);
  const batchFrom = batches(db, rows);

  const keyOfToken = (token: number, assetId: number): string =>
    keyOf({ type: storedToken.nameOf(token), identifier: identifierOf(assetId) });

  function withBalance(walk: HistoryWalk, principal: number, { assetId, ...movement }: BareMovement): Movement {
    const { asset, amount } = movement;
    const key = keyOf(asset);
    let previous = walk.balances.get(key);
    if (previous === undefined) {
      previous =
        asset.type === 'stx' || assetId === null ? 0n : opening.ofToken(principal, asset.type, assetId, walk.first);
    }
    const balance = previous + amount;
    walk.balances.set(key, balance);
    return { ...movement, balance };
  }

  return {
    /** Starts a walk; null if the period has no block. */
    begin(principal: string, period: Period): HistoryWalk | null {
      const heights = heightsOf(period);
      if (heights === null || heights.first > heights.last) return null;
      const { first, last } = heights;
      const lastHash = hashAt.get(last)?.index_block_hash;
      if (lastHash === undefined) return null;
      const position = { position: startingPosition(first), event: 0, found: 0, reward: [first, 0] as const };
      const balances = opening.recent(principalOf(principal), first, keyOfToken);
      return { principal, first, last, lastHash, file, position, balances };
    },

    /**
     * The next movements, which may be an empty list; null at the end.
     * @throws ChainReplacedError if the walk's last block left the chain, or the index was replaced by another file
     */
    next(walk: HistoryWalk): Movement[] | null {
      const { principal, last, lastHash } = walk;
      const hash = hashAt.get(last)?.index_block_hash;
      if (walk.file !== file || hash === undefined || !bytesEqual(hash, lastHash)) {
        throw new ChainReplacedError(`The block at height ${last} is no longer the one that the history began with`);
      }
      const id = principalOf(principal);
      const batch = batchFrom(id, walk.position, last);
      if (batch === null) return null;
      walk.position = batch.position;
      return batch.movements.map((movement) => withBalance(walk, id, movement));
    },
  };
}
