/**
 * Watches files by their metadata, so it works for every editor: editors write in place, rename, or don't write at all.
 */
import { statSync } from 'node:fs';
import { type Clock, pause } from '../../base/clock.ts';

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

interface Watched {
  /** Returns the files, which may differ after a change. */
  readonly paths: () => readonly string[];
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Called for changes. The watch continues after it is done. */
  readonly changed: () => Promise<void>;
}

/** Watches files until the signal. @throws any error of `changed` */
async function watchFiles({ paths, clock, signal, changed }: Watched): Promise<void> {
  const look = async (): Promise<string> => {
    await pause(clock, LOOK_MS, signal);
    return stampsOf(paths());
  };
  let known = stampsOf(paths());
  while (!signal.aborted) {
    let now = await look();
    if (now === known || signal.aborted) continue;
    // Several files are written one after the other.
    for (let before = ''; before !== now && !signal.aborted; ) [before, now] = [now, await look()];
    known = now;
    if (!signal.aborted) await changed();
  }
}

/** Calls a function when files change. @returns a function that ends it */
export function watching(
  paths: () => readonly string[],
  clock: Clock,
  changed: () => Promise<void>,
): () => Promise<void> {
  const ending = new AbortController();
  const watch = watchFiles({ paths, clock, signal: ending.signal, changed });
  return async () => {
    ending.abort();
    await watch;
  };
}
