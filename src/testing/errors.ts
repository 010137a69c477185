/** The error of test support, and waits that end with it. */

/** Kinds of failures, for programs. */
export type DevnetProblem =
  | 'executable_missing'
  | 'not_started'
  | 'ended'
  | 'stopped'
  | 'time_limit'
  | 'refused'
  | 'not_deployed'
  | 'wrong_signature';

/** The chain's answer to a rejected request. */
export interface Refusal {
  /** HTTP status. */
  status?: number | null;
  /** The node's reason for rejecting a transaction, such as `NotEnoughFunds`, or the error of a contract. */
  reason?: string | null;
  /** The wrong field of the request, such as `amount`. */
  field?: string | null;
}

/** Thrown for failures of a chain under test. The message includes a remedy if there is one. */
export class DevnetError extends Error {
  override readonly name: string = 'DevnetError';
  readonly problem: DevnetProblem;
  /** HTTP status of a rejection; null for other problems. */
  readonly status: number | null;
  /** The node's reason for rejecting a transaction, such as `NotEnoughFunds`, or a contract's error; null for other problems. */
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

/**
 * Waits for work to finish, up to a limit.
 * @param subject name of the awaited thing, to follow "Waited 5 ms for"
 * @throws DevnetError at the limit, and any error of `work`
 */
export async function within<T>(limitMs: number, subject: string, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `Waited ${limitMs} ms for ${subject}, which did not come.`;
    timer = setTimeout(() => reject(new DevnetError('time_limit', message)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
