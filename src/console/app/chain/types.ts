/** Objects of the API that several pages use. */
import type { Answer } from '../api/api.ts';

type Item<T> = T extends readonly (infer I)[] ? I : never;

type FoundTransaction = Extract<Answer<'/extended/v1/tx/multiple'>[string], { found: true }>;

/** A transaction with all available data, mined or not. */
export type Transaction = FoundTransaction['result'];
export type MinedTransaction = Extract<Transaction, { block_height: number }>;
export type PendingTransaction = Exclude<Transaction, { block_height: number }>;
export type TransactionEvent = Item<MinedTransaction['events']>;
export type PostCondition = Item<Transaction['post_conditions']>;

/** A mined transaction in a list. */
export type ListedTransaction = Item<Answer<'/extended/v3/transactions'>['results']>;
/** A pending transaction in a list. */
export type ListedPending = Item<Answer<'/extended/v3/mempool/transactions'>['results']>;

export type Block = Item<Answer<'/extended/v2/blocks'>['results']>;
export type BitcoinBlock = Item<Answer<'/extended/v2/burn-blocks'>['results']>;

/** The state of the server. */
export type ServerStatus = Answer<'/stackside/v1/status'>;

export const isMined = (transaction: Transaction): transaction is MinedTransaction => 'block_height' in transaction;
