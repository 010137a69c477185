/** Runs before all tests of a process. */
import { setDefaultTimeout } from 'bun:test';

/** Time limit of a test, in milliseconds: a busy machine may be slow for long. Only a test that hangs takes so much. */
const TEST_TIMEOUT = 24 * 3_600_000;

// Bun resets its limit of five seconds at each file, so this sets it again. It doesn't change how files are resolved.
Bun.plugin({
  name: 'time limit of tests',
  setup(build) {
    build.onResolve({ filter: /\.test\.ts$/ }, () => {
      setDefaultTimeout(TEST_TIMEOUT);
      return undefined;
    });
  },
});

/**
 * Elysia collects garbage each time it creates an application. A server does that once, but the suite does it thousands
 * of times. Collections that a test or Stackside requests still run.
 */
const collect = Bun.gc;
Bun.gc = (force) => (force === true ? collect(true) : 0);
