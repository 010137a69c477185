/** Errors that end a command. */

/** Exit codes of commands; 0 means success. */
export const EXIT = {
  /** The operator must act. */
  operator: 1,
  /** A check or comparison found a difference or damage. */
  difference: 2,
  /** The error may be temporary: running the command again may help. */
  temporary: 75,
  /** Stopped by a signal before it was done. */
  interrupted: 130,
} as const;

/** Thrown if only the operator can resolve an error. The command line prints two lines, the problem and the remedy. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
  readonly exitCode: number = EXIT.operator;
  constructor(
    problem: string,
    readonly remedy: string,
    options?: ErrorOptions,
  ) {
    super(problem, options);
  }
}

/** Thrown for a temporary error: running the command again may help. */
export class TemporaryError extends OperatorError {
  override readonly name: string = 'TemporaryError';
  override readonly exitCode = EXIT.temporary;
}

/** A failure that passes without help, or after the operator has acted. The same work may succeed when it is tried again. */
export abstract class TransientError extends Error {}

/** The disk is full. A command ends; a server is restarted until there is space. */
export class DiskFullError extends OperatorError {
  override readonly name = 'DiskFullError';
  override readonly exitCode = EXIT.temporary;
}

export interface ErrorMessage {
  problem: string;
  remedy: string;
  kind: 'operator' | 'passing' | 'disk full';
}

export const messageOfError = (error: OperatorError): ErrorMessage => ({
  problem: error.message,
  remedy: error.remedy,
  kind: error instanceof DiskFullError ? 'disk full' : error instanceof TemporaryError ? 'passing' : 'operator',
});

export function errorOfMessage({ problem, remedy, kind }: ErrorMessage): OperatorError {
  const kinds = { operator: OperatorError, passing: TemporaryError, 'disk full': DiskFullError };
  return new kinds[kind](problem, remedy);
}

/** Reports whether a system error has this code, such as `ENOENT`. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** The text that clients get for an unexpected error. Only the log contains its cause, which may include secrets. */
export const UNEXPECTED = 'Unexpected error; the log has its cause';
