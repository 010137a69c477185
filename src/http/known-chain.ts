/**
 * Answers while the server's chain is unknown. The data, a setting, the node or the first block names the chain. Until then, an
 * empty answer could be wrong, so routes of the chain answer 503.
 */
import type { Reader } from '../store/read/index-reader.ts';
import { ApiError } from './errors.ts';

/** Seconds to wait for the node or the first block before the next try. */
const RETRY_AFTER_SECONDS = 5;

/** Creates the error while the server's chain is unknown. @param reason the server's state in sentences; null if unknown */
export function unknownChain(reason: string | null): ApiError {
  const message = "This server's chain is still unknown";
  return new ApiError(503, reason === null ? message : `${message}. ${reason}`, 'CHAIN_UNKNOWN', {
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  });
}

/** Returns whether the data names the chain or has a block. */
export const isChainKnown = ({ chain }: Reader): boolean => chain.tip() !== null || chain.chainId() !== null;
