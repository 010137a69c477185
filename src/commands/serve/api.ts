/** Serves the API on the main thread or on separate threads. */
import type { Steering } from '../../api/devnet/family.ts';
import type { SystemApi } from '../../api/stackside/system.ts';
import type { Faucets } from '../../faucets/faucets.ts';
import type { HookApi } from '../../hooks/routes/hooks.ts';
import { RateTable } from '../../http/rate-limit.ts';
import type { CommitCount } from '../../store/ingest/commit-count.ts';
import { startApiService } from './api-service.ts';
import { type ApiThreads, apiThreadCount, startApiThreads } from './api-threads.ts';
import type { ServerReadings } from './app.ts';
import type { Base } from './base.ts';
import { crash } from './crash.ts';

/** The main thread's address for forwarded requests. */
const LOOPBACK = { hostname: '127.0.0.1', port: 0, shared: false };

interface ApiParts {
  commits: CommitCount;
  faucets: Faucets;
  hooks: HookApi | null;
  server: ServerReadings;
  system: SystemApi | null;
  steering: Steering | null;
}

/** Starts the API. @returns its URL, and the threads that answer; null if this thread does */
export async function answerApi(
  { services, environment, watch, ...base }: Base,
  { commits, ...own }: ApiParts,
): Promise<{ url: string; threads: ApiThreads | null }> {
  const { settings, log } = base;
  const { clock, listen, clientLimits, cores } = environment;
  const { apiHost: hostname, apiPort: port } = settings;
  const count = apiThreadCount(settings.threads, cores);
  const address = count === 0 ? { hostname, port, shared: false } : LOOPBACK;
  const internalToken = crypto.randomUUID();
  const rates = RateTable.memory(clock.now());
  const { requests } = watch;
  // API threads count the requests that they forward.
  const counted = count === 0 ? { requestCounts: requests } : {};
  const service = await startApiService({
    ...{ ...base, ...own, ...counted, clock, listen, clientLimits, address, internalToken, rates },
  });
  const { url } = services.use('API', service);
  if (count === 0) return { url, threads: null };
  const threads = await startApiThreads({
    ...{ settings, count, mainThread: url, internalToken, rates, clock, requests, commits },
    lines: environment.threadLines,
    crashed: (cause) => crash(log, cause),
  });
  return { url: services.use('API threads', threads).url, threads };
}
