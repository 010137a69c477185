/**
 * The JSON text of an answer.
 *
 * The engine writes texts of more than a few kilobytes several times slower, byte for byte, than short ones: the items
 * of a list are therefore written one by one. They come last, wherever they stood.
 */
export function jsonOf(body: unknown): string {
  if (!isList(body)) return JSON.stringify(body);
  const envelope = JSON.stringify({ ...body, results: undefined });
  const items = body.results.map((item) => JSON.stringify(item)).join(',');
  return `${envelope.slice(0, -1)}${envelope === '{}' ? '' : ','}"results":[${items}]}`;
}

const isList = (body: unknown): body is { results: readonly unknown[] } =>
  typeof body === 'object' && body !== null && 'results' in body && Array.isArray(body.results);
