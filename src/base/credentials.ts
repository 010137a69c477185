/**
 * The part of a URL before its host. Passwords may contain a / or # that the operator forgot to encode: without an @ before
 * the first /, a text after `user:` is also taken for a password.
 */
const CREDENTIALS = /^([\w+.-]+:\/\/)([^:@/?#]*:)?(?:[^/]*@|(?<=:).*@)/;
/** The query of a URL, which may contain passwords and tokens. */
const QUERY = /^([\w+.-]+:\/\/[^?]*)\?.*$/;

/**
 * Replaces the password in the text of a URL by `***`; also a user name without a password, which may be a token. Removes the
 * query.
 */
export const withoutCredentials = (text: string): string =>
  text.replace(CREDENTIALS, (_, scheme: string, user = '') => `${scheme}${user}***@`).replace(QUERY, '$1');
