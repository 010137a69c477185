/**
 * What a failure of PostgreSQL's client means for a statement that writes: that nothing was written, or that nobody knows.
 *
 * Statements run by themselves, each in a transaction of its own. An answer of severity ERROR says that the transaction is
 * undone. An answer of severity FATAL or PANIC ends the session and may come after the commit, and a connection that ends
 * without an answer says nothing, wherever it was cut. Whatever fails before there is a connection has sent nothing.
 */
import type { SQL } from 'bun';
import { LogUnavailableError, LogUnknownOutcomeError } from './shared-log.ts';

/** The engine did not answer in time. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds} ms`);
  }
}

/** SQLSTATEs of severity ERROR that say nothing of the outcome: of connections, and of statements whose end isn't known. */
const isSilent = (state: string): boolean => state.startsWith('08') || state === '40003';

/** Whether the server itself says that the statement changed nothing. */
function provesNothingWritten(error: SQL.PostgresError): boolean {
  return error.severity === 'ERROR' && error.errno !== undefined && !isSilent(error.errno);
}

/** SQLSTATEs of a server that is not, or no longer, the one to write to, though the connection lives. */
const READ_ONLY = '25006';

/** Whether a failure says that another server, or another connection to the same one, must be looked for. */
export function endsConnection(error: unknown): boolean {
  return !(error instanceof Bun.SQL.PostgresError) || !provesNothingWritten(error) || error.errno === READ_ONLY;
}

/** What the failure says, with the server's code where it has one. */
const textOf = (error: SQL.PostgresError): string => `${error.message} (${error.errno ?? error.code})`;

/** Errors of a connection that could not be made, such as a certificate that isn't trusted, may be of any kind. */
const messageOf = (error: unknown): string =>
  error instanceof Bun.SQL.PostgresError ? textOf(error) : error instanceof Error ? error.message : String(error);

/** The error of a statement that could not be sent, or that only read. @param server host and port */
export const unavailable = (server: string, cause: unknown): LogUnavailableError =>
  new LogUnavailableError(`PostgreSQL at ${server}: ${messageOf(cause)}`, { cause });

/** The error of a statement that writes, once it may have been sent. @param server host and port */
export function failureOfWrite(server: string, cause: unknown): LogUnavailableError | LogUnknownOutcomeError {
  if (cause instanceof Bun.SQL.PostgresError && provesNothingWritten(cause)) return unavailable(server, cause);
  return new LogUnknownOutcomeError(`PostgreSQL at ${server}: ${messageOf(cause)}`, { cause });
}

/** Whether PostgreSQL refused a statement with this SQLSTATE. @param error what the engine threw */
export const hasState = (error: unknown, state: string): boolean =>
  error instanceof LogUnavailableError && error.cause instanceof Bun.SQL.PostgresError && error.cause.errno === state;
