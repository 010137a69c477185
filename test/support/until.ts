/** Waiting for what comes at a time of its own. */

/** Looks between which a moment passes. Only ends a hang: on a busy machine a look takes as much longer as all else. */
const MOST_LOOKS = 60_000;
const MOMENT_MS = 2;

/** Waits until something holds. @throws Error that names what did not come */
export async function until(holds: () => boolean | Promise<boolean>, what = 'what was waited for'): Promise<void> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    if (await holds()) return;
    await Bun.sleep(MOMENT_MS);
  }
  throw new Error(`${what} did not come`);
}
