/** Events of the server's log: their fields, and the search by words and fields. */
import { isObject, parsedJson } from '../../../base/json.ts';
import { hasWords } from './format.ts';

interface LogEvent {
  event: string;
  level: string;
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

/**
 * Reports whether an event has a level, and contains each word of a text. A word may be a field with the start of its value:
 * `height=12`.
 * @param level empty for any
 */
export function isLogMatch(event: LogEvent, level: string, text: string): boolean {
  const fields = parseLogFields(event).map(([name, value]) => `${name}=${value}`);
  return (level === '' || event.level === level) && hasWords([event.event, ...fields].join(' '), text);
}
