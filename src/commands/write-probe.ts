/**
 * Finds out that writes succeed again where no event comes that would show it. By a timer and not when `/ready` is asked:
 * what the journal is ahead of the index, and deliveries of chainhooks, wait for it whether somebody asks or not.
 */

/** Milliseconds. */
const EVERY_MS = 2_000;

/** Calls `action` every so many milliseconds. @returns what ends it */
export type Every = (action: () => void, milliseconds: number) => () => void;

const everyUnref: Every = (action, milliseconds) => {
  const timer = setInterval(action, milliseconds);
  timer.unref?.();
  return () => clearInterval(timer);
};

/** @param probe costs nothing while writes succeed @returns what ends it */
export const probeWrites = ({ probe }: { probe: () => void }, every: Every = everyUnref): (() => void) =>
  every(probe, EVERY_MS);
