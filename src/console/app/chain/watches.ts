/** What a reader watches: kept in the browser alone. */
import { storedList } from './stored-list.ts';

const KINDS = ['account', 'contract', 'token', 'collection', 'name'] as const;

export type WatchKind = (typeof KINDS)[number];

/** Something that can be watched. */
export interface Watched {
  kind: WatchKind;
  /** An address, a contract or asset identifier, or a name. */
  id: string;
}

/** Something that is watched. */
export interface Watch extends Watched {
  /** The newest transaction that concerns it, as the browser last saw; null before that is known, and where there is none. */
  seen: string | null;
  /** When the browser saw a newer one than the one before, in Unix seconds; null if it never did. */
  changed_at: number | null;
}

/** Maximum number of watches: each is asked for at each block. */
export const MOST_WATCHES = 20;

export const isSameWatch = (one: Watched, other: Watched): boolean => one.kind === other.kind && one.id === other.id;

/** Watches with one more, newest first. */
export const withWatch = (watches: readonly Watch[], { kind, id }: Watched): Watch[] =>
  [{ kind, id, seen: null, changed_at: null }, ...withoutWatch(watches, { kind, id })].slice(0, MOST_WATCHES);

/** Watches without one. */
export const withoutWatch = (watches: readonly Watch[], one: Watched): Watch[] =>
  watches.filter((other) => !isSameWatch(one, other));

/** A watch whose newest transaction was read, and whether that is news: not where the first one is read. */
export function readWatch(watch: Watch, newest: string | null, now: number): { watch: Watch; isNews: boolean } {
  const isNews = watch.seen !== null && newest !== null && newest !== watch.seen;
  return { watch: { ...watch, seen: newest ?? watch.seen, changed_at: isNews ? now : watch.changed_at }, isNews };
}

function storedWatch(stored: unknown): Watch[] {
  const { kind, id, seen, changed_at } = Object(stored) as Record<string, unknown>;
  const known = KINDS.find((one) => one === kind);
  if (known === undefined || typeof id !== 'string') return [];
  return [
    {
      kind: known,
      id,
      seen: typeof seen === 'string' ? seen : null,
      changed_at: typeof changed_at === 'number' ? changed_at : null,
    },
  ];
}

/** Watches from what the browser has stored. What can't be read is none. */
export const watchesOf = (stored: string | null): Watch[] => storedList(stored, storedWatch, MOST_WATCHES);
