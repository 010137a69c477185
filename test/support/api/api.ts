/** The API over a data directory, without a server. */

import { openSnapshots } from '../../../src/store/read/snapshots.ts';
import { appOf } from './app.ts';
import { checkedApp } from './checked-app.ts';

export interface OpenApi extends Disposable {
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

/**
 * `using` closes it, and leaves the directory.
 * @param checkResponses whether each body is held against its schema
 */
export function openApi(
  directory: string,
  version = 'stackside v0.0.0 (test:test)',
  { checkResponses = true } = {},
): OpenApi {
  const snapshots = openSnapshots(directory);
  const app = (checkResponses ? checkedApp : appOf)({ snapshots, version, log: () => {} });
  return {
    get: (path, headers = {}) => app.handle(new Request(`http://localhost${path}`, { headers })),
    [Symbol.dispose]: () => snapshots.close(),
  };
}
