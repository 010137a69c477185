/** Verifies the bases of an archive: their manifests, the chain values of their entries, and each of their parts once. */

import { mapAhead } from '../base/map-ahead.ts';
import type { ObjectStoreReads } from '../storage/object-store.ts';
import { ArchiveDamagedError, faultIn, holds, type Verified } from './archive.ts';
import { type BaseManifest, type BasePart, baseAt, basesOf, type NamedBase, partName, rowsOfPart } from './base.ts';

/** @returns null if the base was removed in the meantime @throws ArchiveDamagedError */
async function soundBase(store: ObjectStoreReads, named: NamedBase): Promise<BaseManifest | null> {
  const base = await baseAt(store, named);
  if (base === null) return null;
  const holding = await holds(store, named);
  if (holding === 'this') return base;
  throw new ArchiveDamagedError(
    store,
    holding === 'other'
      ? `${named.name} belongs to another log: entry ${named.id} of its segments has another chain value`
      : `entry ${named.id}, the last one of ${named.name}, is missing`,
  );
}

/** Reads and verifies every base of an archive and all their parts. @throws OperatorError if the store can't be read */
export async function* verifiedBases(store: ObjectStoreReads): AsyncGenerator<Verified> {
  const seen = new Set<string>();
  for (const named of await basesOf(store)) {
    const { name, id } = named;
    const about = { first: id, last: id };
    const result = await soundBase(store, named).catch(faultIn);
    yield { name, ...about, fault: typeof result === 'string' ? result : null };
    if (result === null || typeof result === 'string') continue;
    const parts: BasePart[] = [];
    for (const part of result.tables.flatMap((table) => table.parts)) {
      if (seen.has(part.sha256)) continue;
      seen.add(part.sha256);
      parts.push(part);
    }
    yield* mapAhead(parts, async (part) => ({
      ...about,
      name: partName(part.sha256),
      fault: await rowsOfPart(store, part).then(() => null, faultIn),
    }));
  }
}
