import { lruCache } from '../base/cache.ts';

/**
 * A cache of answers. A tag says all of the chain's state that an answer depends on, so a cached answer of the current
 * tag is still right: what everybody asks for between two blocks is made once or twice.
 */
export interface ResponseCache {
  /** The text of the answer, undefined where none of this tag is cached. @param url the path and query */
  get(url: string, tag: string): string | undefined;
  /** Caches the text if its URL was asked for lately: most are never asked for again, and would only take memory. */
  set(url: string, tag: string, text: string): void;
}

interface Answer {
  tag: string;
  /** Undefined of a URL that was asked for once. */
  text: string | undefined;
}

/** Characters of all answers with their URLs. */
const CAPACITY = 8_000_000;
/** Longer ones, such as the source of a large contract, would drive out many others. */
const MAX_ANSWER = 100_000;
/** What an entry takes besides its texts, about. */
const ENTRY = 100;

/** Makes an empty cache of {@link CAPACITY}. */
export function responseCache(): ResponseCache {
  const answers = lruCache<string, Answer>(CAPACITY);
  return {
    get(url, tag) {
      const answer = answers.get(url);
      return answer?.tag === tag ? answer.text : undefined;
    },
    set(url, tag, text) {
      const again = answers.get(url) !== undefined;
      const cached = again && text.length <= MAX_ANSWER ? text : undefined;
      answers.set(url, { tag, text: cached }, ENTRY + url.length + (cached?.length ?? 0));
    },
  };
}
