/** Errors of the faucets. */
import { ApiError } from '../http/errors.ts';

export class FaucetError extends ApiError {
  override readonly name = 'FaucetError';
  constructor(status: 400 | 403 | 429 | 500 | 503, message: string, options?: ErrorOptions) {
    super(status, message, null, options);
  }
}

export const unavailable = (cause: unknown): FaucetError =>
  new FaucetError(503, 'Faucet is temporarily unavailable, please try again later', { cause });
export const outOfFunds = (): FaucetError =>
  new FaucetError(503, 'The faucet is temporarily out of funds, please try again later');
export const failed = (cause: unknown): FaucetError =>
  new FaucetError(500, 'Faucet request failed, please try again later', { cause });
