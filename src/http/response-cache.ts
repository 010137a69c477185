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

/** Characters of a generation; there are two. */
const GENERATION = 4_000_000;
/** Longer ones, such as the source of a large contract, would drive out many others. */
const MAX_ANSWER = 100_000;
/** What an entry takes besides its texts, about. */
const ENTRY = 100;

/**
 * When the younger generation is full the older one is forgotten, and with it what nobody asked for meanwhile: nothing
 * is to be done for each answer that goes.
 */
export function responseCache(): ResponseCache {
  let older = new Map<string, Answer>();
  let younger = new Map<string, Answer>();
  let characters = 0;

  function add(url: string, answer: Answer): void {
    if (characters > GENERATION) {
      older = younger;
      younger = new Map();
      characters = 0;
    }
    younger.set(url, answer);
    characters += ENTRY + url.length + (answer.text?.length ?? 0);
  }

  return {
    get(url, tag) {
      const young = younger.get(url);
      if (young !== undefined) return young.tag === tag ? young.text : undefined;
      const old = older.get(url);
      if (old?.text === undefined || old.tag !== tag) return undefined;
      add(url, old);
      return old.text;
    },
    set(url, tag, text) {
      const again = younger.has(url) || older.has(url);
      add(url, { tag, text: again && text.length <= MAX_ANSWER ? text : undefined });
    },
  };
}
