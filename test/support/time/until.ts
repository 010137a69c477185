/** Waits for conditions that become true at an unknown time. */

/** Looks between which a moment passes. Only ends a hang: on a busy machine a look takes as much longer as all else. */
const MAX_LOOKS = 10_000;
/** The first moment, and the longest. Each is a quarter longer than the one before: a look may cost a request. */
const FIRST_MS = 1;
const MAX_PAUSE_MS = 30;
const LONGER = 1.25;

/** Waits until a condition holds. @throws Error that names the condition that didn't come true */
export async function until(holds: () => boolean | Promise<boolean>, what = 'what was waited for'): Promise<void> {
  let moment = FIRST_MS;
  for (let look = 0; look < MAX_LOOKS; look++) {
    if (await holds()) return;
    await Bun.sleep(moment);
    moment = Math.min(MAX_PAUSE_MS, moment * LONGER);
  }
  throw new Error(`${what} did not come`);
}
