/** The API without a server: it has no node, no hooks and no limits. */
import { systemClock } from '../../../src/base/clock.ts';
import { Turns } from '../../../src/base/turns.ts';
import {
  type ApiOptions,
  createApp,
  type MainThreadParts,
  noMainThreadParts,
  resources,
} from '../../../src/commands/serve/app.ts';
import { deprecationPolicy } from '../../../src/http/deprecation.ts';
import type { RequestMetrics, Route } from '../../../src/http/route.ts';

const VERSION = 'stackside v0.0.0 (test:test)';

/** Counts nothing. */
export const uncounted: RequestMetrics = { route: () => () => {} };

/** The application over an index; the options replace the defaults. */
export const appOf = (options: Pick<ApiOptions, 'snapshots'> & Partial<ApiOptions>) =>
  createApp({
    ...noMainThreadParts,
    version: VERSION,
    log: () => {},
    deprecation: deprecationPolicy(true),
    operations: { readiness: () => Promise.reject(new Error('not served')), metrics: async () => '' },
    metrics: uncounted,
    mainThread: null,
    internalToken: 'secret',
    nodeProxy: async () => new Response(null, { status: 502 }),
    askAccount: null,
    prefixes: [],
    asksAboutTokens: true,
    namesContract: null,
    changes: {},
    openHooks: false,
    clock: systemClock,
    turns: new Turns(options.clock ?? systemClock),
    limiter: null,
    addressOf: (peer) => peer,
    ...options,
  });

/** The declarations of all routes. */
export const routesOf = (version = VERSION, parts: Partial<MainThreadParts> = {}): Route[] =>
  resources({
    ...noMainThreadParts,
    version,
    clock: systemClock,
    asksAboutTokens: true,
    namesContract: null,
    ...parts,
  }).flat();
