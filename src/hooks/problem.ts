/** Errors of the chainhook routes. */

import { ApiError } from '../http/errors.ts';

const titles = {
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

/** Returns the title of a problem by its status (RFC 9457). */
export const titleOf = (status: number): string => titles[status as ProblemStatus] ?? titles[400];

/** The request is wrong, or the present state doesn't allow it. The texts are part of the API. */
export class HookProblem extends ApiError {
  override readonly name = 'HookProblem';
  constructor(
    status: ProblemStatus,
    /** The problem, with the field's name: `options.decode must be boolean`. */
    details: string,
    headers: ApiError['headers'] = {},
  ) {
    super(status, details, null, { headers });
  }
}

/** The caller made too many requests. */
export const tooManyTries = (retryAfterSeconds: number, details: string): HookProblem =>
  new HookProblem(429, details, { 'retry-after': String(retryAfterSeconds) });

/** @param field its path with dots: `filters.events.0.sender` */
export const invalidField = (field: string, rule: string): HookProblem => new HookProblem(400, `${field} ${rule}`);

/** Checks a range of heights in a body. @throws HookProblem 400 that names the wrong bound */
export function requireRange(from: number, to: number, tip: number): void {
  if (from > tip) throw invalidField('from_height', `must not be above the tip, which is at ${tip}`);
  if (from > to) throw invalidField('from_height', 'must not be above to_height');
  if (to > tip) throw invalidField('to_height', `must not be above the tip, which is at ${tip}`);
}

/** Creates the 404 for a chainhook that the consumer doesn't have. */
export const unknownHook = (): HookProblem => new HookProblem(404, 'Chainhook not found');
/** Creates the 404 for a block that isn't on the canonical chain. */
export const unknownBlock = (): HookProblem => new HookProblem(404, 'Block not found');
