/** The error of test support. */

/** Kinds of failures, for programs. */
export type DevnetProblem =
  | 'executable_missing'
  | 'not_started'
  | 'ended'
  | 'stopped'
  | 'time_limit'
  | 'refused'
  | 'wrong_signature';

/** What the chain answered to a refused request. */
export interface Refusal {
  /** HTTP status. */
  status?: number | null;
  /** The node's reason for refusing a transaction, such as `NotEnoughFunds`. */
  reason?: string | null;
  /** The wrong field of the request, such as `amount`. */
  field?: string | null;
}

/** An error of a chain under test. The message has a remedy where there is one. */
export class DevnetError extends Error {
  override readonly name: string = 'DevnetError';
  readonly problem: DevnetProblem;
  /** HTTP status of a refusal; null for other problems. */
  readonly status: number | null;
  /** The node's reason for refusing a transaction, such as `NotEnoughFunds`; null for other problems. */
  readonly reason: string | null;
  /** The wrong field, such as `amount`; null if there isn't exactly one, and for chainhooks. */
  readonly field: string | null;
  constructor(problem: DevnetProblem, message: string, options: ErrorOptions & Refusal = {}) {
    super(message, options);
    this.problem = problem;
    this.status = options.status ?? null;
    this.reason = options.reason ?? null;
    this.field = options.field ?? null;
  }
}
