/** Watched objects, newest first, stored only in the browser. */
import { parsedJson } from '../../../base/json.ts';

const KINDS = ['account', 'contract', 'token', 'collection', 'name'] as const;

export type WatchKind = (typeof KINDS)[number];

/** An object that can be watched. */
export interface Watched {
  kind: WatchKind;
  /** An address, a contract or asset identifier, or a name. */
  id: string;
}

/** A watched object. */
export interface Watch extends Watched {
  /** The newest transaction that the browser saw for the object; null before the first read, and if there is none. */
  seen: string | null;
  /** Time at which the browser last saw a newer transaction, in Unix seconds; null if it never did. */
  changed_at: number | null;
}

/** Maximum number of watches: the browser requests each one at each block. */
const MAX_WATCHES = 20;

/** Reports whether two items are the same object. */
export const isSame = (one: Watched, other: Watched): boolean => one.kind === other.kind && one.id === other.id;

/** Returns the list without an object. */
export const without = (list: readonly Watch[], item: Watched): Watch[] => list.filter((other) => !isSame(item, other));

/** Returns the list with an object as its first, and without the oldest if there are too many. */
export const withFirst = (list: readonly Watch[], item: Watch): Watch[] =>
  [item, ...without(list, item)].slice(0, MAX_WATCHES);

/** Updates a watch by its newest transaction, and returns whether that is news. The first one isn't. */
export function readWatch(watch: Watch, newest: string | null, now: number): { watch: Watch; isNews: boolean } {
  const isNews = watch.seen !== null && newest !== null && newest !== watch.seen;
  return { watch: { ...watch, seen: newest ?? watch.seen, changed_at: isNews ? now : watch.changed_at }, isNews };
}

function parseWatch(stored: unknown): Watch[] {
  const { kind, id, seen, changed_at } = Object(stored) as Record<string, unknown>;
  const watchKind = KINDS.find((name) => name === kind);
  if (watchKind === undefined || typeof id !== 'string') return [];
  return [
    {
      kind: watchKind,
      id,
      seen: typeof seen === 'string' ? seen : null,
      changed_at: typeof changed_at === 'number' ? changed_at : null,
    },
  ];
}

/** Reads the watches that the browser has stored. Invalid ones are left out, because anybody may change the storage. */
export function parseWatches(stored: string | null): Watch[] {
  const list = parsedJson(stored ?? '[]');
  return Array.isArray(list) ? list.flatMap(parseWatch).slice(0, MAX_WATCHES) : [];
}
