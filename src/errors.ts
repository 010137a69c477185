/** Errors that end a command. */

/** What only the operator can put right. Printed as two lines, problem and remedy; exit code 1. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
  constructor(
    problem: string,
    readonly remedy: string,
    options?: ErrorOptions,
  ) {
    super(problem, options);
  }
}
