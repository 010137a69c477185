/** A rebuild without threads that read ahead. */
import { silentMachine } from '../../../src/hooks/machine.ts';
import { beginRebuild, type RebuildOptions, type Rebuilt } from '../../../src/store/ingest/rebuild.ts';

/**
 * Replays the journal into a new index, and installs it in place of the old one. The options replace the defaults.
 * @throws as `beginRebuild` and `finish`
 */
export function rebuildIndex(options: Pick<RebuildOptions, 'directory'> & Partial<RebuildOptions>): Rebuilt {
  using rebuild = beginRebuild({ chainId: null, machine: silentMachine, log: () => {}, force: false, ...options });
  return rebuild.finish();
}

/** Rebuilds a directory without chainhooks, as {@link rebuildIndex}. */
export const rebuild = (directory: string, options: Partial<RebuildOptions> = {}): Rebuilt =>
  rebuildIndex({ directory, chainId: null, machine: silentMachine, log: () => {}, force: false, ...options });
