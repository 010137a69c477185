/** Runs before all tests of a process. */
import { setDefaultTimeout } from 'bun:test';

/** Time limit of a test, in milliseconds: a busy machine may be slow for long. Only a test that hangs takes so much. */
const TEST_TIMEOUT = 24 * 3_600_000;

// Bun sets its own limit of five seconds again at each file. No file is resolved here.
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
 * Elysia collects garbage whenever it has made an application, which a server does once,
 * and the suite thousands of times. What a test or Stackside asks for is collected.
 */
const collect = Bun.gc;
Bun.gc = (force) => (force === true ? collect(true) : 0);
