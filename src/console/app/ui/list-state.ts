/** The place in a list by cursor, which the address holds. */
import { place } from '../shell/router.ts';

/** The query of a list at the cursor of the address. */
export function listQuery(limit: number): { limit: number; cursor?: string } {
  const cursor = place.value.query.get('cursor');
  return cursor === null ? { limit } : { limit, cursor };
}
