/** Percent-decodes a part of a URL. Returns null if the encoding is malformed, or isn't UTF-8. */
export function percentDecoded(text: string): string | null {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return null;
  }
}
