/** A rebuild without threads that read ahead. */
import { beginRebuild, type RebuildOptions, type Rebuilt } from '../../../src/store/ingest/rebuild.ts';

/** Replays the journal into a new index, and installs it in place of the old one. @throws as `beginRebuild` and `finish` */
export function rebuildIndex(options: RebuildOptions): Rebuilt {
  using rebuild = beginRebuild(options);
  return rebuild.finish();
}
