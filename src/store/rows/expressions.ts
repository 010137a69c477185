/** SQL expressions for positions (chain/position.ts), and for the state of chainhooks. */
import { PLACE_BITS } from '../../chain/position.ts';
import { storedNameOperation, storedStage, storedStatus } from './enums.ts';

/** The height of a position. @param position an expression */
export const heightIn = (position: string): string => `${position} >> ${PLACE_BITS}`;

/**
 * The time of a transaction's block, for a query whose FROM has `transactions t` and `blocks b`. Transactions of block 0 are
 * shown in block 1 with the time of block 0, if that has one.
 */
export const shownTime = 'coalesce(nullif(t.genesis_block_time, 0), b.block_time)';

/** Columns of a table for a query. @param alias of the table in the query */
export const columnList = (alias: string, names: readonly string[]): string =>
  names.map((name) => `${alias}.${name}`).join(', ');

/** An integer column with its name: as a number if a double holds it, otherwise as decimal text. */
export const exactColumn = (alias: string, name: string): string =>
  `iif(${alias}.${name} <= ${Number.MAX_SAFE_INTEGER}, ${alias}.${name}, CAST(${alias}.${name} AS TEXT)) AS ${name}`;

/** The first position of a block. @param height an expression */
export const firstPositionIn = (height: string): string => `${height} << ${PLACE_BITS}`;

export const LIVE = storedStage.numberOf('live');
export const NEW = storedStatus.numberOf('new');
export const STREAMING = storedStatus.numberOf('streaming');

// For a live hook, progress has these columns instead of the hook's row.
const SINCE = `(h.stage = ${LIVE} AND p.hooks_evaluated > h.joined)`;

/** Whether a hook evaluates blocks. */
export const isEnabledHook = `h.stage IN (${LIVE}, ${storedStage.numberOf('catching_up')})`;

/** Columns of the state of a hook by name, in a query whose FROM has `hooks h` and `progress p`. */
export const hookNow = {
  status: `CASE WHEN h.status = ${NEW} AND ${SINCE} THEN ${STREAMING} ELSE h.status END`,
  cursor_height: `iif(h.stage = ${LIVE}, p.hooks_cursor_height, h.cursor_height)`,
  cursor_hash: `iif(h.stage = ${LIVE}, p.hooks_cursor_hash, h.cursor_hash)`,
  evaluated: `h.evaluated + iif(${SINCE}, p.hooks_evaluated - h.joined, 0)`,
  last_evaluated_at: `iif(${SINCE}, p.hooks_evaluated_at, h.last_evaluated_at)`,
  last_evaluated_height: `iif(${SINCE}, p.hooks_cursor_height, h.last_evaluated_height)`,
};

export const fromHooks = 'FROM hooks h CROSS JOIN progress p';

/** Condition of the indexes of names that are not revoked, on `name_operations`. */
export const isActiveName = `current = 1 AND operation <> ${storedNameOperation.numberOf('name-revoke')}`;

/** Whether the index starts at a block. Its counts then only include blocks from there on. */
export const isBegun = '(SELECT start_height IS NOT NULL FROM progress WHERE id = 1)';
