/** Events of the server's log: their fields, and the search by words and fields. */
import { isObject, parsedJson } from '../../../base/json.ts';
import { hasWords } from './format.ts';

interface LogEvent {
  event: string;
  level: string;
  /** Number of the API thread; 0 for the main thread. */
  thread: number;
  /** The fields as JSON. */
  fields: string;
}

/** Returns the fields of an event by name, each value as a text. */
export function parseLogFields({ fields }: Pick<LogEvent, 'fields'>): [name: string, value: string][] {
  const parsed = parsedJson(fields);
  return Object.entries(isObject(parsed) ? parsed : {}).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}

export const threadName = ({ thread }: Pick<LogEvent, 'thread'>): string => (thread === 0 ? 'main' : `API ${thread}`);

/**
 * Reports whether an event has a level, and contains each word of a text. A word may be a field with the start of its value:
 * `height=12`. The level and the thread count as fields.
 * @param level empty for any
 */
export function isLogMatch(event: LogEvent, level: string, text: string): boolean {
  const fields = [['level', event.level], ['thread', threadName(event)], ...parseLogFields(event)];
  const words = [event.event, ...fields.map(([name, value]) => `${name}=${value}`)];
  return (level === '' || event.level === level) && hasWords(words.join(' '), text);
}
