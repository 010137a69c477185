/** Failed attempts in words, for logs, the API, the commands and the console. */

interface Outcome {
  /** Null if no answer came. */
  statusCode: number | null;
  /** Why no answer came; null if one came. */
  error: string | null;
}

const PAYLOAD_TOO_LARGE = 413;

/** Explains a status that receivers often don't explain themselves; empty for any other status. */
export function statusReason(status: number): string {
  if (status === PAYLOAD_TOO_LARGE) return 'the receiver takes no body this large';
  return status >= 300 && status < 400 ? 'redirects are not followed' : '';
}

/**
 * Why an attempt failed, as a clause without the receiver's name: `status 302: redirects are not followed`.
 * @param answer what the receiver answered, which follows any other status
 */
export function failureOf({ statusCode, error }: Outcome, answer = ''): string {
  if (statusCode === null) return error ?? 'no answer';
  const reason = statusReason(statusCode) || answer;
  return reason === '' ? `status ${statusCode}` : `status ${statusCode}: ${reason}`;
}
