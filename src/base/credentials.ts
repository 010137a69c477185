/**
 * The part of a URL before its host. Passwords may contain a / or # that the operator forgot to encode: without an @ before
 * the first /, a text after `user:` is also taken for a password.
 */
const CREDENTIALS = /^([\w+.-]+:\/\/)([^:@/?#]*:)?(?:[^/]*@|(?<=:).*@)/;
/** The query of a URL, which may contain passwords and tokens. */
const QUERY = /^([\w+.-]+:\/\/[^?]*\?)(.+)$/;
/** A parameter of a query, by its name. */
const PARAMETER = /^([\w.-]+)=/;
/** A parameter of PostgreSQL that is no secret. Operators check in messages how the connection is encrypted. */
const PUBLIC_PARAMETER = /^(?:sslmode|sslrootcert)=[\w./-]*$/;

/** Replaces the values in a query by `***`; the whole query if a text in it isn't a parameter. */
function maskQuery(query: string): string {
  const parameters = query.split('&');
  if (!parameters.every((parameter) => PARAMETER.test(parameter))) return '***';
  const maskParameter = (parameter: string): string =>
    PUBLIC_PARAMETER.test(parameter) ? parameter : `${PARAMETER.exec(parameter)?.[1]}=***`;
  return parameters.map(maskParameter).join('&');
}

/**
 * Replaces the password in the text of a URL by `***`; also a user name without a password, which may be a token, and the
 * values in its query.
 */
export const withoutCredentials = (text: string): string =>
  text
    .replace(CREDENTIALS, (_, scheme: string, user = '') => `${scheme}${user}***@`)
    .replace(QUERY, (_, address: string, query: string) => address + maskQuery(query));
