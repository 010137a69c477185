/**
 * Watches files by their metadata, so it works for every editor: editors write in place, rename, or don't write at all.
 */
import { statSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { startLoop } from '../../base/service.ts';

/** Milliseconds between two looks. Changes are reported when a look finds no further changes. */
const LOOK_MS = 250;

/** Returns a text that changes with the file; the error's code if the file can't be read. */
function stampOf(path: string): string {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code;
  }
}

const stampsOf = (paths: readonly string[]): string => paths.map((path) => `${path} ${stampOf(path)}`).join('\n');

/**
 * Calls a function when files change.
 * @param paths returns the files, which may differ after a change
 * @param changed called for changes; the watch continues after it is done
 * @returns a function that ends the watch
 */
export function watching(
  paths: () => readonly string[],
  clock: Clock,
  changed: () => Promise<void>,
): () => Promise<void> {
  /** The files after the last call, and at the last look. */
  let [known, seen] = [stampsOf(paths()), ''];

  async function look(): Promise<void> {
    const now = stampsOf(paths());
    // Several files are written one after the other.
    const isStill = now === seen;
    seen = now;
    if (now === known || !isStill) return;
    known = now;
    await changed();
  }

  const loop = startLoop({ clock, everyMs: LOOK_MS, turn: look, passes: (_): _ is never => false });
  return () => loop.stop();
}
