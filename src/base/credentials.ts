/**
 * The part of a URL before its host. Passwords may contain a / or # that the operator forgot to encode: without an @ before
 * the first /, a text after `user:` is also taken for a password.
 */
const CREDENTIALS = /^([\w+.-]+:\/\/)([^:@/?#]*:)?(?:[^/]*@|(?<=:).*@)/;
/** The query of a URL, which may contain passwords and tokens. */
const QUERY = /^([\w+.-]+:\/\/[^?]*\?)(.+)$/;
/** A parameter of PostgreSQL that is no secret. Operators check in messages how the connection is encrypted. */
const PUBLIC_PARAMETER = /^(?:sslmode=(?:disable|allow|prefer|require|verify-ca|verify-full)|sslrootcert=[\w./-]*)$/;

/** Replaces the parameters of a query by `***`, also their names: an unescaped password looks like several parameters. */
const maskQuery = (query: string): string =>
  query
    .split('&')
    .map((parameter) => (PUBLIC_PARAMETER.test(parameter) ? parameter : '***'))
    .join('&');

/**
 * Replaces the password in the text of a URL by `***`; also a user name without a password, which may be a token, and the
 * parameters in its query.
 */
export const withoutCredentials = (text: string): string =>
  text
    .replace(CREDENTIALS, (_, scheme: string, user = '') => `${scheme}${user}***@`)
    .replace(QUERY, (_, address: string, query: string) => address + maskQuery(query));
