/** Waiting for what comes at a time of its own. */

/** Only ends a hang: no machine is so busy that what comes at all takes so long. */
const LIMIT_MS = 120_000;

/** Waits until something holds. @throws Error that names what did not come */
export async function until(holds: () => boolean | Promise<boolean>, what = 'what was waited for'): Promise<void> {
  const limit = Date.now() + LIMIT_MS;
  while (!(await holds())) {
    if (Date.now() > limit) throw new Error(`${what} did not come`);
    await Bun.sleep(2);
  }
}
