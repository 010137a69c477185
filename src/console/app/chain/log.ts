/** Events of the server's log: their fields, and the search by words and fields. */
import { isObject, parsedJson } from '../../../base/json.ts';

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
 * Reports whether an event has a level and contains each word of a text. A word such as `height=12` is a field with the
 * start of its value.
 * @param level empty for any
 */
export function isLogMatch(event: LogEvent, level: string, text: string): boolean {
  if (level !== '' && event.level !== level) return false;
  const fields = parseLogFields(event);
  const content = [event.event, ...fields.flat()].join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => {
      const [name = '', value] = word.split(/=(.*)/s);
      if (value === undefined) return content.includes(word);
      return fields.some(([field, has]) => field.toLowerCase() === name && has.toLowerCase().startsWith(value));
    });
}
