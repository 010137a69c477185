/**
 * Answers from an index with a partial history, which lacks the blocks below its first one. An answer is never wrong for that
 * reason: it equals the answer of an index from genesis, or it is an error. Each route declares the part of the chain that it
 * needs, and `route.ts` checks the declaration.
 */

import { Type } from '@sinclair/typebox';
import { toHex } from '../codec/hex.ts';
import type { StartingAccount } from '../store/queries/accounts/starting-accounts.ts';
import type { Reader } from '../store/read/index-reader.ts';
import { ApiError, notFound, ShapedError } from './errors.ts';

/**
 * The part of the chain that a route needs for right answers if the index began at a block. All but `none` also need
 * the identity of the chain (`isChainKnown` of `route.ts`).
 * - `none`: nothing of the chain, for constants or the state of the server.
 * - `pending`: nothing that is older, for pending transactions or fees. One exception: if a branch that lost below the first
 *   block mined a transaction, and the node announces it again, it stays pending although an older block used its nonce.
 * - `thing`: one block, transaction or contract, which is complete if it is found. If it isn't found, it may be older: the 404
 *   has the code `BEFORE_HISTORY`.
 * - `since`: everything since the first block, for the rows of a list, or for estimates from them. Answers have the header
 *   {@link HISTORY_HEADER}, and a 404 has the same code as for `thing`.
 * - `payouts`: as `since`, for payouts of Bitcoin blocks. Blocks that were filled from the node lack payouts: the header
 *   {@link WITHOUT_PAYOUTS_HEADER} lists their heights.
 * - `account`: the STX and the nonces of accounts, which the server requests from the node. The handler calls {@link withUntouched}.
 * - `whole`: all blocks, for sums, tokens, stacking and names: 503 with the code `HISTORY_INCOMPLETE`.
 * - `all-payouts`: as `whole`, with the header of `payouts`.
 */
export type HistoryRequirement =
  | 'none'
  | 'pending'
  | 'thing'
  | 'since'
  | 'payouts'
  | 'account'
  | 'whole'
  | 'all-payouts';

/** Response header: height of the first block of the index, if the chain has earlier blocks. */
export const HISTORY_HEADER = 'stackside-history-from';

/** The height of the first block of an index that began at a block. */
export const HistoryFrom = Type.Integer({
  minimum: 1,
  description: 'Height of the first block that the server has; missing if it has the whole chain',
  examples: [150_000],
});

/** Returns the clause with the start of this server's history. @param from height of the first block */
const begins = (from: number): string => `the history of this server begins at block ${from}`;

/** Error code of a 404 for something that may be older than the index. */
const NOT_FOUND_SINCE = 'BEFORE_HISTORY';

/** Seconds to wait while Stackside requests an account from the node. */
const RETRY_AFTER_SECONDS = 1;
/** Seconds to wait before the next try if the node doesn't answer. */
const NODE_RETRY_AFTER_SECONDS = 5;

/**
 * Requests the STX and nonces of an account after a block from the node.
 * @param indexBlockHash of the block
 * @throws ApiError if the node doesn't return it
 */
export type AskAccount = (principal: string, indexBlockHash: Uint8Array) => Promise<StartingAccount>;

/** The error for an account whose state the node didn't return. */
export const nodeAway = (principal: string, reason: string, options?: ErrorOptions): ApiError =>
  new ApiError(503, `The node didn't return the account ${principal} (${reason}); try again later`, 'NODE_AWAY', {
    headers: { 'retry-after': String(NODE_RETRY_AFTER_SECONDS) },
    ...options,
  });

const withFrom = (from: number): Record<string, string> => ({ [HISTORY_HEADER]: String(from) });

/**
 * Refuses an answer that needs the whole history.
 * @throws ApiError if the index began at a block
 */
export function requireWholeHistory(read: Reader): void {
  const from = read.chain.historyFrom();
  if (from === null) return;
  const message = `The answer needs older blocks: ${begins(from)}`;
  throw new ApiError(503, message, 'HISTORY_INCOMPLETE', { headers: withFrom(from) });
}

/**
 * Makes an answer about accounts. Requests accounts from the node if no block of a partial history has touched them.
 * @param answer gets the STX and nonces of each account that only the node knows, and null for the others
 * @returns a promise if the history is partial
 * @throws ApiError if the index has blocks of an account and waits for the node's answer about earlier ones
 * @throws ApiError if the node doesn't answer
 */
export function withUntouched<T>(
  read: Reader,
  principals: readonly string[],
  askAccount: AskAccount | null,
  answer: (untouched: readonly (StartingAccount | null)[]) => T,
): T | Promise<T> {
  const from = read.chain.historyFrom();
  if (from === null) return answer(principals.map(() => null));
  return Promise.all(principals.map((principal) => untouchedAccount(read, from, principal, askAccount))).then(answer);
}

/** @param from height of the first block @returns null if the index has the account */
async function untouchedAccount(
  read: Reader,
  from: number,
  principal: string,
  askAccount: AskAccount | null,
): Promise<StartingAccount | null> {
  const knowledge = read.principals.knowledge(principal);
  if (knowledge === 'known') return null;
  if (knowledge === 'asking') {
    const message = `Stackside is requesting the account ${principal} before block ${from} from the node; retry`;
    const headers = { ...withFrom(from), 'retry-after': String(RETRY_AFTER_SECONDS) };
    throw new ApiError(503, message, 'ASKING_NODE', { headers });
  }
  const tip = read.chain.tip();
  if (tip !== null && askAccount !== null) return askAccount(principal, tip.indexBlockHash);
  const message = `No block has touched ${principal} yet, and ${begins(from)}; request it from the node at /v2/accounts/${principal}`;
  throw new ApiError(503, message, 'HISTORY_INCOMPLETE', { headers: withFrom(from) });
}

/**
 * The error of a request to an index that began at a block: a thing that isn't found may be older.
 * @param from height of the first block
 */
export function errorSince(error: unknown, from: number): unknown {
  if (!(error instanceof ApiError) || error.status !== 404 || error instanceof ShapedError) return error;
  return new ApiError(404, `${error.message}; ${begins(from)}`, NOT_FOUND_SINCE, { headers: withFrom(from) });
}

/**
 * Checks that a partial history has the transactions that a request names, since older ones would seem to have no events and
 * no balance changes. With the whole chain, that is right for an unknown transaction.
 * @throws ApiError if the index began at a block and lacks a transaction
 */
export function requireTransactions(read: Reader, txIds: readonly Uint8Array[]): void {
  if (read.chain.historyFrom() === null) return;
  const missing = txIds.find((txId) => read.transactions.state(txId) === undefined);
  if (missing !== undefined) refuseIfPartial(read, `Transaction ${toHex(missing)} not found`);
}

/**
 * Refuses an empty answer about one thing that the index doesn't have, if the thing may be older.
 * @param message of the 404, to which {@link errorSince} adds the first block
 * @throws ApiError if the index began at a block
 */
export function refuseIfPartial(read: Reader, message: string): void {
  if (read.chain.historyFrom() !== null) throw notFound(message);
}

/** Returns the text of a 404 with a special body. The text contains the code if the index began at a block. */
export function notFoundText(read: Reader, message: string): string {
  const from = read.chain.historyFrom();
  return from === null ? message : `${message}; ${begins(from)} (${NOT_FOUND_SINCE})`;
}

/** Response header: Bitcoin heights with unknown payouts, as ranges such as `870000-870012,870020`. */
const WITHOUT_PAYOUTS_HEADER = 'stackside-without-payouts';
/** Maximum ranges in the header. If there are more, the last range covers all that follow. */
const MAX_RANGES = 50;

/** Returns the Bitcoin blocks that were filled from the node, which doesn't return payouts, as ranges; null if there are none. */
function missingPayouts(read: Reader): string | null {
  const ranges = read.burnRewards.withoutPayouts();
  const [last, cut] = [ranges.at(-1), ranges[MAX_RANGES - 1]];
  if (last === undefined) return null;
  const listed = cut === undefined ? ranges : [...ranges.slice(0, MAX_RANGES - 1), [cut[0], last[1]] as const];
  return listed.map(([first, end]) => (first === end ? String(first) : `${first}-${end}`)).join(',');
}

/** Whether answers may lack rows from before the first block. They then have the header {@link HISTORY_HEADER}. */
export const isPartial = (history: HistoryRequirement): boolean => history === 'since' || history === 'payouts';

/**
 * Checks that an index has the part of the chain that a route needs.
 * @returns the height of the first block, or null if the route may ignore it, and headers of the answer
 * @throws ApiError if older blocks are needed
 */
export function requireHistory(
  read: Reader,
  history: HistoryRequirement,
): { from: number | null; headers: Record<string, string> } {
  const from = history === 'none' || history === 'pending' ? null : read.chain.historyFrom();
  const headers = from !== null && isPartial(history) ? withFrom(from) : {};
  if (history === 'whole' || history === 'all-payouts') requireWholeHistory(read);
  if (history !== 'payouts' && history !== 'all-payouts') return { from, headers };
  const missing = missingPayouts(read);
  return { from, headers: missing === null ? headers : { ...headers, [WITHOUT_PAYOUTS_HEADER]: missing } };
}
