/** Why a faucet gives nothing. Its text is part of the API. */
export class FaucetError extends Error {
  override readonly name = 'FaucetError';
  constructor(
    readonly status: 400 | 403 | 429 | 500 | 503,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const unavailable = (cause: unknown): FaucetError =>
  new FaucetError(503, 'Faucet is temporarily unavailable, please try again later', { cause });
export const outOfFunds = (): FaucetError =>
  new FaucetError(503, 'The faucet is temporarily out of funds, please try again later');
export const failed = (cause: unknown): FaucetError =>
  new FaucetError(500, 'Faucet request failed, please try again later', { cause });
