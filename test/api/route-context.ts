/** A context for tests of single routes, without an application. */

import { systemClock } from '../../src/base/clock.ts';
import { Turns } from '../../src/base/turns.ts';
import { deprecationPolicy } from '../../src/http/deprecation.ts';
import { failures } from '../../src/http/errors.ts';
import { monotonicReads } from '../../src/http/heights.ts';
import { responder } from '../../src/http/respond.ts';
import { responseCache } from '../../src/http/response-cache.ts';
import type { RouteContext } from '../../src/http/route.ts';
import { NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { uncounted } from '../support/api/app.ts';
import { snapshotsBy } from '../support/data/snapshots-by.ts';

/** A context of routes without data, except for the overrides. */
export function routeContext(overrides: Partial<RouteContext> = {}): RouteContext {
  const respond = overrides.respond ?? responder('test');
  const snapshots =
    overrides.snapshots ??
    snapshotsBy(() => {
      throw new NoSnapshotError('no data');
    });
  return {
    snapshots,
    heights: monotonicReads({ snapshots, clock: systemClock, turns: new Turns(systemClock) }),
    respond,
    tag: (state) => state,
    failure: failures(respond, () => {}),
    cache: responseCache(),
    deprecation: deprecationPolicy(true),
    now: systemClock.now,
    turns: new Turns(systemClock),
    longRead: (work) => work(),
    metrics: uncounted,
    clientAddress: () => '',
    limiter: null,
    askAccount: null,
    standing: async () => null,
    ...overrides,
  };
}
