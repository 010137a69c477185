/** Watches files by what the file system says of them, whichever way an editor writes: in place, by renaming, or not at all. */
import { statSync } from 'node:fs';
import { type Clock, pause } from '../../base/clock.ts';

/** Milliseconds between two looks. Changes are reported once a look finds no more of them. */
const LOOK_MS = 250;

/** What tells a file from what it was; the error's code for one that can't be looked at. */
function stampOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code;
  }
}

const stampsOf = (paths: readonly string[]): string => paths.map((path) => `${path} ${stampOf(path)}`).join('\n');

interface Watched {
  /** The files, which may be others after a change. */
  readonly paths: () => readonly string[];
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Called for changes; the next ones are looked for once it is done. */
  readonly changed: () => Promise<void>;
}

/** Watches files until the signal. @throws as `changed` does */
export async function watchFiles({ paths, clock, signal, changed }: Watched): Promise<void> {
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
