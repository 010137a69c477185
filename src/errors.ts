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

/** What a command ends with; 0 is done. */
export const EXIT = {
  /** The operator must act. */
  operator: 1,
  /** A check found something. */
  found: 2,
  /** Starting again may help. */
  again: 75,
} as const;
