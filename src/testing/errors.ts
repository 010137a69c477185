/** The error of everything that test support can't do. */

/** Why something failed, for programs. */
export type DevnetProblem =
  | 'executable_missing'
  | 'not_started'
  | 'ended'
  | 'stopped'
  | 'time_limit'
  | 'refused'
  | 'wrong_signature';

/** What the chain said of a request that it refused. */
export interface Refusal {
  /** HTTP status. */
  status?: number | null;
  /** The node's reason for refusing a transaction, such as `NotEnoughFunds`. */
  reason?: string | null;
  /** The field of the request that is wrong, such as `amount`. */
  field?: string | null;
}

/** An error of a chain under test. The message says what to do where there is something to do. */
export class DevnetError extends Error {
  override readonly name: string = 'DevnetError';
  readonly problem: DevnetProblem;
  /** HTTP status of a refusal; null for other problems. */
  readonly status: number | null;
  /** The node's reason for refusing a transaction, such as `NotEnoughFunds`; null for other problems. */
  readonly reason: string | null;
  /** The field that is wrong, such as `amount`; null where no field alone is, and for chainhooks. */
  readonly field: string | null;
  constructor(problem: DevnetProblem, message: string, options: ErrorOptions & Refusal = {}) {
    super(message, options);
    this.problem = problem;
    this.status = options.status ?? null;
    this.reason = options.reason ?? null;
    this.field = options.field ?? null;
  }
}
