/**
 * Runs before all tests of a process: Elysia collects garbage whenever it has made an application, which a server does once,
 * and the suite thousands of times. What a test or Stackside asks for is collected.
 */
const collect = Bun.gc;
Bun.gc = (force) => (force === true ? collect(true) : 0);
