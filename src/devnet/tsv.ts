import type { NodeEvent } from './node-event.ts';

const escapes: Record<string, string> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
};

/**
 * A line of an event export: id, time (UTC), path and body, between tabs, without the line end.
 *
 * The escapes are those of PostgreSQL's COPY text format, so each backslash of the JSON stands twice.
 *
 * @example
 * tsvRow(8, event); // 8⇥2022-09-13 00:12:27.103+00⇥/new_block⇥{"events":[…
 */
export function tsvRow(id: number, event: NodeEvent): string {
  const [date = '', clock = ''] = new Date(event.time).toISOString().slice(0, -1).split('T');
  const body = event.body.replace(/[\\\b\t\n\v\f\r]/g, (character) => escapes[character]!);
  return `${id}\t${date} ${clock}+00\t${event.path}\t${body}`;
}
