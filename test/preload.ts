/** Runs before all tests of a process. */
import { setDefaultTimeout } from 'bun:test';
import { TEST_LIMIT } from './support/property.ts';

// Bun resets its limit of five seconds at each file, so this sets it again. It doesn't change how files are resolved.
Bun.plugin({
  name: 'time limit of tests',
  setup(build) {
    build.onResolve({ filter: /\.test\.ts$/ }, () => {
      setDefaultTimeout(TEST_LIMIT);
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
