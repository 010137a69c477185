/** Types that several settings have, and what their texts stand for. */
import { Type } from '@sinclair/typebox';

const URL_PATTERN = '^https?://[^/?#\\s]+(/[^?#\\s]*)?$';

/** A TCP port; 0 stands for a free one. */
export const port = (defaultPort: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: defaultPort });
/** The address of an HTTP server. */
export const url = (defaultUrl: string) => Type.String({ pattern: URL_PATTERN, default: defaultUrl });
/** The address of an HTTP server, or null. */
export const urlOrNone = () => Type.Union([Type.Null(), Type.String({ pattern: URL_PATTERN })], { default: null });
/** A text that is not empty, or null. */
export const textOrNone = () => Type.Union([Type.Null(), Type.String({ minLength: 1 })], { default: null });

/** Reads an integer; any other text stays a text, which the type then refuses. */
export const integer = (text: string): unknown => (/^-?\d+$/.test(text) ? Number(text) : text);
/** Reads a decimal number; any other text stays a text, which the type then refuses. */
export const decimal = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);
/** Reads true or false in their accepted spellings; any other text stays a text, which the type then refuses. */
export const yesOrNo = (text: string): unknown =>
  ({ true: true, '1': true, on: true, false: false, '0': false, off: false })[text] ?? text;
/** Removes `http://` or `https://` from the start of a text. */
export const withoutScheme = (text: string): string => text.replace(/^https?:\/\//, '');
/** Removes slashes from the end of a text. */
export const withoutSlash = (text: string): string => text.replace(/\/+$/, '');

/** The part of a URL before its host, up to the last @: an operator may forget to encode a / or # of a password. */
const CREDENTIALS = /^(\w+:\/\/)([^:@/?#]*:)?.*@/;
/** Replaces the password in the text of a URL by `***`, and a user name without a password, which may be a token. */
export const withoutCredentials = (text: string): string =>
  text.replace(CREDENTIALS, (_, scheme: string, user = '') => `${scheme}${user}***@`);

/** Hex of 32 bytes, with or without the mark of a compressed public key. */
export const PRIVATE_KEY = '[0-9a-fA-F]{64}(01)?';
