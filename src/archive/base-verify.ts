/** Verifies the bases of an archive: their manifests, the chain values of their entries, and each of their parts once. */
import { mapAhead } from '../backup/backup.ts';
import type { Place } from '../backup/manifest.ts';
import { sameChain } from '../store/log/entry.ts';
import {
  ArchiveDamagedError,
  contentsOf,
  faultIn,
  linkedFrom,
  newestOpenPart,
  sealedSegment,
  type Verified,
} from './archive.ts';
import { type BaseManifest, type BasePart, baseAt, basesOf, type NamedBase, partName, rowsOfPart } from './base.ts';

/** The chain value that the segments have for an entry; null where they lack it. @throws ArchiveDamagedError */
async function chainAt(place: Place, entry: number): Promise<Uint8Array | null> {
  const { open, ...contents } = await contentsOf(place);
  const { linked, last } = linkedFrom(contents, entry);
  const found = linked[0];
  const segment =
    found === undefined
      ? await newestOpenPart(place, open, last)
      : await sealedSegment(place, found.range, found.after);
  return segment?.entries.find(({ id }) => id === entry)?.chain ?? null;
}

/** @returns null where the base was removed meanwhile @throws ArchiveDamagedError */
async function soundBase(place: Place, named: NamedBase): Promise<BaseManifest | null> {
  const base = await baseAt(place, named);
  if (base === null) return null;
  const chain = await chainAt(place, named.id);
  if (chain === null) throw new ArchiveDamagedError(place, `it lacks entry ${named.id}, with which ${named.name} ends`);
  if (sameChain(chain, named.chain)) return base;
  throw new ArchiveDamagedError(
    place,
    `${named.name} is of another log: entry ${named.id} of its segments has another chain value`,
  );
}

/** Reads every base of an archive and every part that one needs, and verifies it. @throws OperatorError where the place can't be read */
export async function* verifiedBases(place: Place): AsyncGenerator<Verified> {
  const seen = new Set<string>();
  for (const named of await basesOf(place)) {
    const { name, id } = named;
    const about = { first: id, last: id };
    const result = await soundBase(place, named).catch(faultIn);
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
      fault: await rowsOfPart(place, part).then(() => null, faultIn),
    }));
  }
}
