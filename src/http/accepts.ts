/** What a client says it takes, from the headers of its request. */

/** Whether a header names one of the values without the weight 0 (RFC 9110, 12.4.2). Header values are comma-separated. */
function names(header: string | null, values: readonly string[]): boolean {
  return (header ?? '').split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return values.includes(name) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Whether `Accept-Encoding` names a content coding, or anything. */
export const takesCoding = (request: Request, coding: 'gzip' | 'br'): boolean =>
  names(request.headers.get('accept-encoding'), coding === 'gzip' ? ['gzip', '*'] : ['br']);

/** Whether `Accept` names HTML, as browsers do and API clients don't; the wildcard of a client without a wish is no HTML. */
export const takesHtml = (request: Request): boolean => names(request.headers.get('accept'), ['text/html']);
