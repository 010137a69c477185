/**
 * Parses messages of realtime clients. A message is bounded before it is parsed, so that no text costs more than its
 * length.
 */

import { isTooDeep, MAX_DEPTH } from '../base/json-depth.ts';

/** The longest frame or body of a client, in bytes; Socket.IO tells its clients so. */
export const MAX_MESSAGE = 1_000_000;
/**
 * Characters of the longest JSON text that is read. A thousand subscriptions fit into it; a longer text is refused by its
 * length alone, since clients that send many such texts would make all others wait.
 */
export const MAX_TEXT = 100_000;
/** Characters of a client's own text that an answer or a log line repeats at most. */
const MAX_EXCERPT = 1_000;

/** The error for a message that breaks a rule; its text names the rule. */
export class MessageError extends Error {
  override readonly name = 'MessageError';
}

/**
 * The value of a client's JSON text.
 * @throws MessageError where it is too long or nested too deep, SyntaxError where it is no JSON
 */
export function parsedMessage(text: string): unknown {
  if (text.length > MAX_TEXT) throw new MessageError(`a message must NOT have more than ${MAX_TEXT} characters`);
  if (isTooDeep(text)) throw new MessageError(`a message must NOT be nested deeper than ${MAX_DEPTH} levels`);
  return JSON.parse(text);
}

/** A client's text, cut to a length that may be repeated in an answer or a log line. */
export const excerpt = (text: string): string => (text.length <= MAX_EXCERPT ? text : `${text.slice(0, MAX_EXCERPT)}…`);
