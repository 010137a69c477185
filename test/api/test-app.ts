/** The application over the sample chain or over a test's index, without a server. */
import { systemClock } from '../../src/base/clock.ts';
import { TESTNET_CHAIN_ID } from '../../src/chain/network.ts';
import type { ApiOptions } from '../../src/commands/serve/app.ts';
import type { ApiEvent } from '../../src/http/errors.ts';
import { versionText } from '../../src/http/respond.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { snapshotsBy } from '../support/data/snapshots-by.ts';
import { sampleEvents } from './sample-chain.ts';

/** Time of the clock, in Unix milliseconds. */
export const NOW = 1_800_000_000_000;
export const VERSION = versionText('1.2.3', 'main', 'abc1234');

let sample: Snapshots | undefined;

/** The index of the sample chain, one for the whole process: nobody writes to it. */
export function sampleIndex(): Snapshots {
  sample ??= memoryIndex(sampleEvents());
  return sample;
}

/** An index of a configured chain without blocks. */
export const emptyIndex = (): Snapshots => memoryIndex([], {}, TESTNET_CHAIN_ID);

/** Snapshots that fail every read with an error. */
export const failingIndex = (error: Error): Snapshots =>
  snapshotsBy(() => {
    throw error;
  });

/** The application over an index, and its log. @param create `appOf` if answers aren't checked, since a check reads them whole */
export function testApp(
  snapshots: Snapshots = sampleIndex(),
  options: Partial<ApiOptions> = {},
  create: typeof checkedApp = checkedApp,
) {
  const logged: ApiEvent[] = [];
  const app = create({
    snapshots,
    version: VERSION,
    log: (event) => logged.push(event),
    clock: { ...systemClock, now: () => NOW },
    ...options,
  });
  const request = (path: string, init?: RequestInit): Promise<Response> =>
    Promise.resolve(app.handle(new Request(`http://localhost${path}`, init)));
  const json = async <Body = unknown>(path: string, init?: RequestInit) => {
    const response = await request(path, init);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  };
  return { app, logged, request, json };
}
