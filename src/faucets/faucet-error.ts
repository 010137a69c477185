/** Errors of the faucets. */
import { ApiError } from '../http/errors.ts';

/** Thrown if a faucet rejects a request, with the HTTP status. */
export class FaucetError extends ApiError {
  override readonly name = 'FaucetError';
  /** An example of a valid request; undefined if there is none. */
  readonly help: string | undefined;
  constructor(
    status: 400 | 403 | 429 | 500 | 503,
    message: string,
    { help, ...options }: ErrorOptions & { help?: string } = {},
  ) {
    super(status, message, null, options);
    this.help = help;
  }
}

/** Returns the error for a node that can't be reached. */
export const unavailable = (cause: unknown): FaucetError =>
  new FaucetError(503, 'Faucet is temporarily unavailable, please try again later', { cause });
/** Returns the error for faucet accounts without enough funds. */
export const outOfFunds = (): FaucetError =>
  new FaucetError(503, 'The faucet is temporarily out of funds, please try again later');
/** Returns the error for any other failure. Only the log contains its cause. */
export const failed = (cause: unknown): FaucetError =>
  new FaucetError(500, 'Faucet request failed, please try again later', { cause });
