/** What is done again and again, beside everything else. */

/** Calls it every so many milliseconds. @returns what ends that */
export type Every = (milliseconds: number, call: () => void) => () => void;

/** By the system's clock; keeps no process alive. */
export const everyInterval: Every = (milliseconds, call) => {
  const timer = setInterval(call, milliseconds);
  timer.unref();
  return () => clearInterval(timer);
};
