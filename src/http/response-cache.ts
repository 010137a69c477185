import { lruCache } from '../base/cache.ts';
import { type Coding, compress } from './content-coding.ts';

interface Answer {
  tag: string;
  /** Undefined for a URL that was requested once. */
  text: string | undefined;
  /** The text in the codings that were requested. */
  compressed?: Map<Coding, Uint8Array<ArrayBuffer>>;
}

/** Capacity: characters of all answers and their URLs, and bytes of compressed answers. */
const CAPACITY = 8_000_000;
/** Maximum characters of a cached answer. Longer ones, such as the source of a large contract, would evict many others. */
const MAX_ANSWER = 100_000;
/** Approximate overhead of an entry, in characters. */
const ENTRY_OVERHEAD = 100;

/**
 * Makes a cache of answers. A tag names all state that an answer depends on, so a cached answer with the current tag is still
 * right: popular answers are made once or twice between two blocks.
 */
export function responseCache() {
  const answers = lruCache<string, Answer>(CAPACITY);
  const sizeOf = (url: string, { text = '', compressed }: Answer): number =>
    ENTRY_OVERHEAD +
    url.length +
    text.length +
    (compressed?.values().reduce((sum, { length }) => sum + length, 0) ?? 0);
  return {
    /** The cached text; undefined if none is cached with this tag. @param url the path and query */
    get(url: string, tag: string): string | undefined {
      const answer = answers.get(url);
      return answer?.tag === tag ? answer.text : undefined;
    },
    /** Caches the text if its URL was requested recently: most URLs are requested only once, and would only take memory. */
    set(url: string, tag: string, text: string): void {
      const wasRequested = answers.get(url) !== undefined;
      const cached = wasRequested && text.length <= MAX_ANSWER ? text : undefined;
      const answer = { tag, text: cached };
      answers.set(url, answer, sizeOf(url, answer));
    },
    /** Compresses a text, and caches the bytes if the text is cached with this tag. */
    compress(url: string, tag: string, text: string, coding: Coding): Uint8Array<ArrayBuffer> {
      const answer = answers.get(url);
      if (answer?.tag !== tag || answer.text !== text) return compress(text, coding);
      const cached = answer.compressed?.get(coding);
      if (cached !== undefined) return cached;
      const bytes = compress(text, coding);
      answer.compressed = (answer.compressed ?? new Map()).set(coding, bytes);
      answers.set(url, answer, sizeOf(url, answer));
      return bytes;
    },
  };
}
export type ResponseCache = ReturnType<typeof responseCache>;
