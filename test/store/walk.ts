/** Walks of lists by cursor. */
import { expect } from 'bun:test';
import type { Cursor, Page } from '../../src/store/model/page.ts';

type PageReader<Item, Total extends number | null> = (
  limit: number,
  cursor: Cursor | null,
) => Page<Item, Total> | Promise<Page<Item, Total>>;

/** Reads the pages of a list from its first to its last. The way back must have the same items in the same order. */
export async function walkPages<Item, Total extends number | null>(
  read: PageReader<Item, Total>,
  limit: number,
): Promise<Page<Item, Total>[]> {
  const pages = [await read(limit, null)];
  expect(pages[0]!.previous).toBeNull();
  for (let { next } = pages[0]!; next !== null; next = pages.at(-1)!.next) pages.push(await read(limit, next));
  const back = [pages.at(-1)!];
  for (let { previous } = back[0]!; previous !== null; previous = back[0]!.previous)
    back.unshift(await read(limit, previous));
  const itemsOf = (list: typeof pages) => list.flatMap(({ items }) => items);
  expect(itemsOf(back)).toEqual(itemsOf(pages));
  for (const { items } of pages) expect(items.length).toBeLessThanOrEqual(limit);
  return pages;
}

/** Reads all items of a list, page by page. */
export const walkItems = async <Item, Total extends number | null>(
  read: PageReader<Item, Total>,
  limit: number,
): Promise<Item[]> => (await walkPages(read, limit)).flatMap(({ items }) => items);
