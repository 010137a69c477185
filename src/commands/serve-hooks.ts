/** The chainhooks of a serving process, as its settings want them. */
import type { Settings } from '../config.ts';
import { OperatorError } from '../errors.ts';
import { access, keysOf } from '../hooks/access.ts';
import type { HookTimers } from '../hooks/counters.ts';
import { deliveryLog } from '../hooks/delivery-log.ts';
import { parseNetworks } from '../hooks/delivery-target.ts';
import { management } from '../hooks/management.ts';
import type { HookApi } from '../hooks/routes/hook-route.ts';
import { type Chainhooks, type HookRules, startChainhooks } from '../hooks/service.ts';
import { trial } from '../hooks/trial.ts';
import type { Log } from '../log.ts';
import type { Ingest } from '../store/ingest.ts';
import { serverVersion } from '../version.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** @throws OperatorError for networks that are none */
function rulesOf(settings: Settings): HookRules {
  const allowed = parseNetworks(settings.hookTargets);
  if (allowed === null) {
    throw new OperatorError(
      `--hook-targets is "${settings.hookTargets}".`,
      'It must be addresses and networks with commas, such as 127.0.0.0/8,10.1.2.3.',
    );
  }
  return {
    targets: { allowed, plainHttp: settings.hookHttp },
    alertUrl: settings.hookAlert,
    timeoutMs: settings.hookTimeout * SECOND,
    connectTimeoutMs: settings.hookConnectTimeout * SECOND,
    budgetMs: settings.hookBudget * HOUR,
    retryCapMs: settings.hookRetryCap * SECOND,
    concurrency: settings.hookConcurrency,
    retentionMs: settings.hookRetention * DAY,
  };
}

export interface ServedHooks {
  hooks: Chainhooks;
  api: HookApi;
}

/** Begins to evaluate and deliver. */
export function serveHooks(settings: Settings, ingest: Ingest, log: Log, timers?: HookTimers): ServedHooks {
  const keys = settings.hookKeys === null ? [] : keysOf(settings.hookKeys);
  const hooks = startChainhooks({
    ingest,
    rules: rulesOf(settings),
    log,
    ...(timers === undefined ? {} : { timers }),
    userAgent: serverVersion.replace(/^(\w+) v(\S+).*$/, '$1/$2'),
  });
  const managed = management(hooks, settings.hookLimit);
  const api = {
    consumerOf: access(keys),
    management: managed,
    deliveries: deliveryLog(hooks, managed),
    trial: trial(hooks, managed),
  };
  return { hooks, api };
}
