/** Errors of the faucets. */
import { ApiError } from '../http/errors.ts';

/** A refusal of a faucet, with its HTTP status. */
export class FaucetError extends ApiError {
  override readonly name = 'FaucetError';
  /** An example of a right request; undefined without one. */
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

/** The node can't be reached. */
export const unavailable = (cause: unknown): FaucetError =>
  new FaucetError(503, 'Faucet is temporarily unavailable, please try again later', { cause });
/** The faucet's accounts lack funds. */
export const outOfFunds = (): FaucetError =>
  new FaucetError(503, 'The faucet is temporarily out of funds, please try again later');
/** Any other failure; its cause is only logged. */
export const failed = (cause: unknown): FaucetError =>
  new FaucetError(500, 'Faucet request failed, please try again later', { cause });
