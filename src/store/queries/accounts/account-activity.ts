/** Summarizes an account: its first and last transactions, its counterparties in STX transfers, and its balance over time. */
import type { Database } from 'bun:sqlite';
import type { Pause, Turns } from '../../../base/turns.ts';
import { heightOf } from '../../../chain/position.ts';
import {
  type AccountActivity,
  type BalanceOverTime,
  type Counterparties,
  type SeenTransaction,
  stxOf,
} from '../../model/account.ts';
import { EVENT_KIND } from '../../rows/enums.ts';
import { firstPositionIn, heightIn, shownTime } from '../../rows/expressions.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { NOBODY, numbers } from '../numbers.ts';
import { accountStates } from './account-states.ts';

export interface ActivityLimits {
  /** Newest transfers in each direction that are searched for counterparties. */
  transfers: number;
  /** Maximum number of heights in a balance chart. Each reads a checkpoint and fewer than 64 transactions after it. */
  points: number;
}

const LIMITS: ActivityLimits = { transfers: 1_000, points: 100 };

/** Maximum number of counterparties in each direction. */
const MAX_COUNTERPARTIES = 10;

const seenQuery = (order: string) =>
  query<SeenRow, [number]>`
   SELECT pt.position, t.tx_id, ${shownTime} AS time FROM principal_transactions pt
     JOIN transactions t ON t.position = pt.position JOIN blocks b ON b.height = ${heightIn('pt.position')}
    WHERE pt.principal_id = ?1 ORDER BY pt.position ${order} LIMIT 1`;

/** Transfers that are read at once, before other work has its turn. */
const BATCH = 200;

/** Limits a list to events before an event, newest first. */
const newest = 'AND (position, event_index) < (?2, ?3) ORDER BY position DESC, event_index DESC LIMIT ?4';

export const sql = {
  first: seenQuery('ASC'),
  last: seenQuery('DESC'),
  received: query<TransferRow, [number, number, number, number]>`
    SELECT position, event_index, sender_id AS other, amount FROM events
     WHERE recipient_id = ?1 AND kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_mint}) ${newest}`,
  sent: query<TransferRow, [number, number, number, number]>`
    SELECT position, event_index, recipient_id AS other, amount FROM events
     WHERE sender_id = ?1 AND kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_burn}) ${newest}`,
  transactions: query<Stored<'principal_transactions', 'position'>, [number, number]>`
    SELECT position FROM principal_transactions WHERE principal_id = ?1 ORDER BY position LIMIT ?2`,
  rewards: query<Stored<'miner_rewards', 'height'>, [number, number]>`
    SELECT height FROM miner_rewards WHERE recipient_id = ?1 ORDER BY height LIMIT ?2`,
  tip: query<{ height: number | null }>`SELECT max(height) AS height FROM blocks`,
  // The block of genesis has the time of its transactions.
  time: query<{ time: number }, [number]>`
    SELECT ${shownTime} AS time FROM blocks b LEFT JOIN transactions t ON t.position = ${firstPositionIn('b.height')}
     WHERE b.height = ?1`,
};

interface SeenRow extends Stored<'transactions', 'position' | 'tx_id'> {
  time: number;
}

interface TransferRow extends Stored<'events', 'position' | 'event_index' | 'amount'> {
  other: number | null;
}

const NOTHING: BalanceOverTime = { complete: true, points: [] };

/** Returns evenly distributed heights, with the first and the last. */
function evenHeights(first: number, last: number, count: number): number[] {
  const heights = Array.from(
    { length: count },
    (_, index) => first + Math.round(((last - first) * index) / (count - 1)),
  );
  return [...new Set(heights)];
}

/**
 * @param turns shares the thread among long queries and other work
 * @param limits tests use others than the default
 */
export function accountActivityQueries(db: Database, turns: Turns, limits: ActivityLimits = LIMITS) {
  const { transfers: maxTransfers, points: maxPoints } = limits;
  const read = statements(db, sql);
  const { principalOf, addressOf, assetOf } = numbers(db);
  const states = accountStates(db);

  const seenOf = (row: SeenRow | null): SeenTransaction | null =>
    row === null ? null : { txId: row.tx_id, height: heightOf(row.position), time: row.time };

  async function readNewest(direction: typeof read.sent, principal: number, pause: Pause): Promise<TransferRow[]> {
    const transfers: TransferRow[] = [];
    for (;;) {
      const { position, event_index } = transfers.at(-1) ?? { position: Number.MAX_SAFE_INTEGER, event_index: 0 };
      const count = Math.min(BATCH, maxTransfers - transfers.length);
      const rows = direction.all(principal, position, event_index, count);
      transfers.push(...rows);
      if (rows.length < BATCH) return transfers;
      await pause();
    }
  }

  /** Counts transfers by the other side. Mints and burns, which have none, are left out. */
  function counterparties(rows: readonly TransferRow[]): Counterparties {
    const totals = new Map<number, { transfers: number; amount: bigint }>();
    let transfers = 0;
    for (const { other, amount } of rows) {
      if (other === null) continue;
      transfers += 1;
      const sums = totals.get(other) ?? { transfers: 0, amount: 0n };
      totals.set(other, { transfers: sums.transfers + 1, amount: sums.amount + BigInt(amount ?? 0) });
    }
    const ranked = [...totals].sort(([, a], [, b]) => {
      if (a.amount === b.amount) return b.transfers - a.transfers;
      return a.amount < b.amount ? 1 : -1;
    });
    return {
      transfers,
      largest: ranked.slice(0, MAX_COUNTERPARTIES).map(([id, sums]) => ({ principal: addressOf(id), ...sums })),
    };
  }

  /** Blocks that may have changed a principal's balances, and whether the list is complete: it is cut after a limit. */
  function readHeights(principal: number): { heights: number[]; complete: boolean } {
    const txHeights = read.transactions.all(principal, maxPoints + 1).map(({ position }) => heightOf(position));
    const rewardHeights = read.rewards.all(principal, maxPoints + 1).map(({ height }) => height);
    const heights = [...new Set([...txHeights, ...rewardHeights])].sort((a, b) => a - b);
    const rowCount = Math.max(txHeights.length, rewardHeights.length, heights.length);
    return { heights, complete: rowCount <= maxPoints };
  }

  return {
    /** The first and last transactions of a principal, and the counterparties of its newest STX transfers. */
    async summary(principal: string): Promise<AccountActivity> {
      const id = principalOf(principal);
      const pause = turns.longWork();
      return {
        first: seenOf(read.first.get(id)),
        last: seenOf(read.last.get(id)),
        received: counterparties(await readNewest(read.received, id, pause)),
        sent: counterparties(await readNewest(read.sent, id, pause)),
      };
    },

    /**
     * The balance of an asset after blocks, oldest first: after each block that changed it if there are few, else after
     * blocks that are evenly distributed. The last is the tip.
     * @param asset identifier of a fungible token; null for STX, locked ones included
     */
    async balances(principal: string, asset: string | null): Promise<BalanceOverTime> {
      const id = principalOf(principal);
      const token = asset === null ? null : assetOf(asset);
      const highest = read.tip.get()?.height ?? null;
      if (highest === null || token === NOBODY) return NOTHING;
      const { heights: changeHeights, complete } = readHeights(id);
      const [begin] = changeHeights;
      if (begin === undefined) return NOTHING;
      const heights = complete ? [...new Set([...changeHeights, highest])] : evenHeights(begin, highest, maxPoints);
      const balanceAt = (height: number): bigint =>
        token === null ? stxOf(states.at(id, height)) : states.ftBalance(id, token, height);
      const points: BalanceOverTime['points'][number][] = [];
      const pause = turns.longWork();
      for (const height of heights) {
        await pause();
        const balance = balanceAt(height);
        if (complete && height !== highest && balance === points.at(-1)?.balance) continue;
        points.push({ height, time: read.time.get(height)?.time ?? 0, balance });
      }
      return { complete, points };
    },
  };
}
