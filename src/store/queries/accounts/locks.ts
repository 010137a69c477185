/** The locked STX of a principal when a block was the tip. */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import { heightOf, positionsOf } from '../../../chain/position.ts';
import type { StxBalance } from '../../model/account.ts';
import { heightIn } from '../../rows/expressions.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { historyStartQuery } from '../blocks/chain.ts';
import { type StartingAccount, startingAccountQuery } from './starting-accounts.ts';

const poxVersions = [1, 2, 3, 4] as const;

/** The forced unlock height of a pox version, from the newest block above ?1 that has one. */
const unlockHeight = (version: number): string =>
  `(SELECT pox_${version}_unlock_height FROM blocks WHERE pox_${version}_unlock_height IS NOT NULL AND height > ?1
     ORDER BY height DESC LIMIT 1)`;

export const sql = {
  last: query<LockRow, [number, number, number]>`
    SELECT l.amount, l.unlock_height, l.pox_version, l.position, l.event_index, t.tx_id, b.burn_block_height
      FROM stx_locks l JOIN transactions t ON t.position = l.position
      JOIN blocks b ON b.height = ${heightIn('l.position')}
     WHERE l.principal_id = ?1 AND (?2 OR l.amount IS NOT NULL) AND l.position <= ?3
     ORDER BY l.position DESC, l.event_index DESC LIMIT 1`,
  block: query<Stored<'blocks', 'height' | 'burn_block_height'>, [number]>`
    SELECT height, burn_block_height FROM blocks WHERE height <= ?1 ORDER BY height DESC LIMIT 1`,
  tip: query<Stored<'blocks', 'height'> & { hash: Uint8Array }>`
    SELECT height, index_block_hash AS hash FROM blocks ORDER BY height DESC LIMIT 1`,
  hash: query<{ hash: Uint8Array }, [number]>`SELECT index_block_hash AS hash FROM blocks WHERE height = ?1`,
  forcedUnlocks: query<ForcedUnlocks, [number]>`
    SELECT ${poxVersions.map((version) => `${unlockHeight(version)} AS pox_${version}`).join(', ')}`,
};

type LockRow = Stored<'stx_locks', 'amount' | 'unlock_height' | 'pox_version' | 'position'> &
  Stored<'transactions', 'tx_id'> &
  Stored<'blocks', 'burn_block_height'>;

/** Bitcoin heights of the forced unlocks, by pox version; 0 means none, null that no block has a value. */
type ForcedUnlocks = Record<`pox_${(typeof poxVersions)[number]}`, number | null>;

const UNKNOWN_UNLOCKS: ForcedUnlocks = { pox_1: null, pox_2: null, pox_3: null, pox_4: null };

/**
 * Reads the Bitcoin heights of the forced unlocks as the chain's blocks report them. Nodes before 2.1 report none, and nodes
 * before 4.0 don't report pox-4's, so any block may be the newest one with a value. Each block is read once.
 */
export function forcedUnlockQuery(db: Database): () => ForcedUnlocks {
  const { tip: tipBlock, hash: hashAt, forcedUnlocks: unlocksAbove } = statements(db, sql);
  const isAt = (height: number, hash: Uint8Array): boolean => {
    const row = hashAt.get(height);
    return row !== null && bytesEqual(row.hash, hash);
  };
  /** The unlock heights up to a block. */
  let cache: { height: number; hash: Uint8Array; unlocks: ForcedUnlocks } | null = null;

  return () => {
    const tip = tipBlock.get();
    if (tip === null) return UNKNOWN_UNLOCKS;
    if (cache !== null && !isAt(cache.height, cache.hash)) cache = null;
    if (cache?.height === tip.height) return cache.unlocks;
    const earlier = cache?.unlocks ?? UNKNOWN_UNLOCKS;
    const above = unlocksAbove.get(cache?.height ?? -1) ?? UNKNOWN_UNLOCKS;
    const unlocks = Object.fromEntries(
      Object.entries(earlier).map(([version, height]) => [version, above[version as keyof ForcedUnlocks] ?? height]),
    ) as ForcedUnlocks;
    cache = { ...tip, unlocks };
    return unlocks;
  };
}

/** The pox version of a lock that exists before the index's first block: from the forced unlock of pox-4 on, pox-5 locks. */
const versionBefore = (burnHeight: number, { pox_4 }: ForcedUnlocks): number =>
  (pox_4 ?? 0) > 0 && pox_4! <= burnHeight ? 5 : 4;

const lockOf = ({ amount, pox_version, tx_id, position, burn_block_height, unlock_height }: LockRow) => ({
  amount: BigInt(amount ?? 0),
  poxVersion: pox_version,
  transaction: { txId: tx_id, blockHeight: heightOf(position), burnBlockHeight: burn_block_height },
  unlockHeight: unlock_height,
});

export function lockQuery(db: Database) {
  const startingAccount = startingAccountQuery(db);
  const historyStart = historyStartQuery(db);
  const { last: lastLock, block } = statements(db, sql);
  const forcedUnlocks = forcedUnlockQuery(db);

  /** The lock that an account had before the index's first block; null if it had none, or the lock is unknown. */
  function beforeFirst(account: StartingAccount | null): StxBalance['locked'] {
    const start = account === null || account.locked === 0n ? null : historyStart();
    if (account === null || start === null) return null;
    const { locked: amount, unlockHeight } = account;
    return {
      amount,
      unlockHeight,
      poxVersion: versionBefore(start.burnBlockHeight, forcedUnlocks()),
      transaction: null,
    };
  }

  /**
   * The node's rule: a lock ends as soon as its height, or the forced unlock height of its version, is reached.
   * @param height of the block; a height above the tip counts as the tip's
   * @param nodeAccount the node's answer about an untouched account; null if the index has the account
   */
  return (principal: number, height: number, nodeAccount: StartingAccount | null = null): StxBalance['locked'] => {
    const tip = block.get(height);
    if (tip === null) return null;
    const { last: position } = positionsOf(tip.height);
    const { burn_block_height: burnHeight } = tip;
    const last = lastLock.get(principal, 1, position);
    const startLock =
      last === null || last.amount === null ? beforeFirst(nodeAccount ?? startingAccount(principal)) : null;
    const unlockHeight = last?.unlock_height ?? startLock?.unlockHeight ?? 0;
    if (unlockHeight <= burnHeight) return null;
    const version = last?.pox_version ?? startLock?.poxVersion;
    const forcedHeight = forcedUnlocks()[`pox_${version}` as keyof ForcedUnlocks] ?? 0;
    if (forcedHeight > 0 && forcedHeight <= burnHeight) return null;
    // A row that ends a lock early has no amount, so the lock's amount counts.
    const row = last !== null && last.amount === null ? lastLock.get(principal, 0, position) : last;
    const lock = row === null ? startLock : lockOf(row);
    return lock === null || lock.amount === 0n ? null : { ...lock, unlockHeight };
  };
}
