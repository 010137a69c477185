/** Errors of the chainhook routes: what is wrong with what a caller asks. */

import { ApiError } from '../http/errors.ts';

/** Titles of problems by status (RFC 9457). */
export const titles = {
  400: 'Invalid request body',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  409: 'Conflict',
  410: 'Gone',
  413: 'Payload too large',
  415: 'Unsupported media type',
  421: 'Misdirected request',
  429: 'Too many requests',
  503: 'Unavailable',
} as const;
type ProblemStatus = keyof typeof titles;

/** The caller's mistake, or a state that doesn't allow what it asks. Its texts are part of the API. */
export class HookProblem extends ApiError {
  override readonly name = 'HookProblem';
  constructor(
    status: ProblemStatus,
    /** What exactly, naming the field: `options.decode must be boolean`. */
    details: string,
    readonly title: string = titles[status],
  ) {
    super(status, details);
  }
}

/** The caller tried too often. */
export class TooManyTries extends HookProblem {
  override readonly headers: Readonly<Record<string, string>>;
  constructor(retryAfterSeconds: number, details: string) {
    super(429, details);
    this.headers = { 'retry-after': String(retryAfterSeconds) };
  }
}

/** @param field its path with dots: `filters.events.0.sender` */
export const invalidField = (field: string, rule: string): HookProblem => new HookProblem(400, `${field} ${rule}`);
/** The error for a chainhook that the consumer doesn't have: 404. */
export const unknownHook = (): HookProblem => new HookProblem(404, 'Chainhook not found');
/** The error for a block that the canonical chain doesn't have: 404. */
export const unknownBlock = (): HookProblem => new HookProblem(404, 'Block not found');
