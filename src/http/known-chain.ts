/**
 * Answers before the server knows its chain. Until the data, a setting, the node or the first block names the chain, an empty
 * answer could be wrong, so routes of the chain answer 503. A server that knows its chain answers before the first block, too.
 */
import type { Reader } from '../store/read/index-reader.ts';
import { ApiError } from './errors.ts';

/** Seconds after which the node may be back, or the first block may be there. */
const RETRY_AFTER_SECONDS = 5;

/** The server doesn't know its chain yet. */
export class ChainUnknownError extends ApiError {
  override readonly name = 'ChainUnknownError';
  override readonly headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
  /** @param reason the state of the server in sentences; null if it isn't known */
  constructor(reason: string | null) {
    const message = "This server doesn't know its chain yet";
    super(503, reason === null ? message : `${message}. ${reason}`, 'chain_unknown');
  }
}

/** Whether the server knows its chain: the data names it or has a block. */
export const isChainKnown = ({ chain }: Reader): boolean => chain.tip() !== null || chain.chainId() !== null;
