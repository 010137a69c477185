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

/** An error of a chain under test. The message says what to do where there is something to do. */
export class DevnetError extends Error {
  override readonly name: string = 'DevnetError';
  readonly problem: DevnetProblem;
  constructor(problem: DevnetProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
