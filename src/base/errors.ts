/** Errors that end a command. */

/** What a command ends with; 0 is done. */
export const EXIT = {
  /** The operator must act. */
  operator: 1,
  /** A check found something. */
  found: 2,
  /** Starting again may help. */
  again: 75,
  /** Stopped by a signal before it was done. */
  interrupted: 130,
} as const;

/** What only the operator can put right. Printed as two lines, problem and remedy. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
  /** What the command ends with. */
  readonly exitCode: number = EXIT.operator;
  constructor(
    problem: string,
    readonly remedy: string,
    options?: ErrorOptions,
  ) {
    super(problem, options);
  }
}

/** What may be gone when the command is started again. */
export class PassingError extends OperatorError {
  override readonly name = 'PassingError';
  override readonly exitCode = EXIT.again;
}

/** Whether the system gave an error this code, such as `ENOENT`. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** What a caller is told of an error that nobody expected: its cause may hold what is not for callers. */
export const UNEXPECTED = 'Unexpected error; the log has its cause';
