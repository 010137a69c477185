/**
 * Caches the texts of rows in responses. The tag of a text identifies the state that it depends on. After a fork, rows at the
 * same positions have other tags, so connections with different snapshots can share the cache.
 */
import { type LruCache, lruCache } from '../../base/cache.ts';
import { heightOf } from '../../chain/position.ts';
import type { ChainQueries } from './blocks/chain.ts';

interface CachedRow {
  tag: string;
  /** By shape. */
  texts: Record<string, string>;
  /** Characters of all texts, and the overhead. */
  size: number;
}

/** Capacity: characters of all texts, and the overhead of their rows. */
const CAPACITY = 32_000_000;
/** Maximum characters of a cached text. A longer text, such as the source of a contract, would evict many others. */
const MAX_TEXT = 20_000;
/** Approximate overhead of a row, in characters. */
const OVERHEAD = 300;

/**
 * The identity of a row in the cache. Positive numbers are positions of transactions, and negative numbers are blocks. Other
 * rows have texts, which take longer to find.
 */
type RowId = number | string;

/** The identity of the block at a height. */
export const blockRowId = (height: number): RowId => -1 - height;

/** The cache that all connections of a thread to one file share. */
export type SharedTexts = LruCache<RowId, CachedRow>;

export const sharedTexts = (): SharedTexts => lruCache(CAPACITY);

/** A row of a page: its cached text, or its model. */
export type ListedRow<Model> = string | { model: Model; cache(text: string): void };

/** The rows of a page, which are read only if they are needed. */
export interface PageRows<Model> {
  read(): Model[];
  /** Finds the cached texts, and reads the other rows. @param shape names the function that makes the texts */
  listed(shape: string): ListedRow<Model>[];
}

export type ItemsOf<Model, Item> = (rows: PageRows<Model>) => Item[];

/** The models of all rows, for callers that need no texts. */
export const models = <Model>(rows: PageRows<Model>): Model[] => rows.read();

interface Keyed<Key, Model> {
  idOf(key: Key): RowId;
  /** The height of the block that the row is from; null for a row that never changes. */
  heightOf(key: Key): number | null;
  /** Reads the rows of some keys, in their order. */
  read(keys: readonly Key[]): Model[];
}

export type RowTexts = ReturnType<typeof rowTexts>;

/** @param cache the cache that the connections to one file share */
export function rowTexts({ tagAt }: Pick<ChainQueries, 'tagAt'>, cache: SharedTexts) {
  function add(id: RowId, tag: string, shape: string, text: string): void {
    if (text.length > MAX_TEXT) return;
    const cachedText = cache.get(id);
    const { texts, size } = cachedText?.tag === tag ? cachedText : { texts: {}, size: OVERHEAD };
    const row = { tag, texts: { ...texts, [shape]: text }, size: size + text.length };
    cache.set(id, row, row.size);
  }

  function rows<Key, Model>(keys: readonly Key[], { idOf, heightOf, read }: Keyed<Key, Model>): PageRows<Model> {
    function listed(shape: string): ListedRow<Model>[] {
      let [height, tag]: [number | null, string] = [null, ''];
      const missing: { key: Key; index: number; id: RowId; tag: string }[] = [];
      const listedRows = keys.map((key, index): ListedRow<Model> => {
        const [id, rowHeight] = [idOf(key), heightOf(key)];
        if (rowHeight !== null && rowHeight !== height) {
          height = rowHeight;
          tag = tagAt(height);
        }
        const cachedText = cache.get(id);
        const text = cachedText?.tag === tag ? cachedText.texts[shape] : undefined;
        if (text !== undefined) return text;
        missing.push({ key, index, id, tag });
        return '';
      });
      if (missing.length === 0) return listedRows;
      const others = read(missing.map(({ key }) => key));
      for (const [nth, row] of missing.entries()) {
        listedRows[row.index] = { model: others[nth]!, cache: (text) => add(row.id, row.tag, shape, text) };
      }
      return listedRows;
    }
    return { read: () => (keys.length === 0 ? [] : read(keys)), listed };
  }

  return {
    rows,
    rowsAt: <Model>(positions: readonly number[], read: (positions: readonly number[]) => Model[]): PageRows<Model> =>
      rows(positions, { idOf: (position) => position, heightOf, read }),
  };
}
