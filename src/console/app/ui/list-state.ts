/** The place in a list by cursor, which the address holds. */
import { place } from './router.ts';

/** The query of a list at the cursor of the address. @param name of the query parameter that holds the cursor */
export function listQuery(limit: number, name = 'cursor'): { limit: number; cursor?: string } {
  const cursor = place.value.query.get(name);
  return cursor === null ? { limit } : { limit, cursor };
}
