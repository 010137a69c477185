/** Waits for conditions that become true at an unknown time. */

/** Number of checks before the wait fails. It only ends a hang: on a busy machine, checks are as slow as everything else. */
const MAX_LOOKS = 10_000;
/** The first and the longest pause between two checks. Pauses grow by a quarter, because a check may cost a request. */
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
