/** The part of a URL before its host, up to the last @: an operator may forget to encode a / or # in a password. */
const CREDENTIALS = /^(\w+:\/\/)([^:@/?#]*:)?.*@/;
/** A password in the query of a URL, as PostgreSQL's have it. */
const QUERY_PASSWORD = /\b((?:ssl)?password=)[^&]*/g;

/** Replaces the passwords in the text of a URL by `***`; also a user name without a password, which may be a token. */
export const withoutCredentials = (text: string): string =>
  text.replace(CREDENTIALS, (_, scheme: string, user = '') => `${scheme}${user}***@`).replace(QUERY_PASSWORD, '$1***');
