/** A server in read mode while another process starts, stops and rebuilds the index. */

import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openAt, received, simulatedEvents } from '../support/data/ingest.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

/** Blocks from the future are never old. */
const CHAIN = { seed: 5, transactionsPerBlock: 2, forkEvery: 0, startTime: 4_000_000_000 };
const events = simulatedEvents({ ...CHAIN, blocks: 5 });

interface Readiness {
  reason: string | null;
  height: number | null;
}

/** Milliseconds between two looks for an index. */
const LOOK_MS = 2_000;
const looks = heldClock([LOOK_MS]);
const clock = { ...systemClock, every: looks.every };

/** Waits until the server's state meets a condition. The server looks for an index before each request. */
async function readyWhen(server: Serving, is: (readiness: Readiness) => boolean): Promise<[number, Readiness]> {
  let [status, readiness]: [number, Readiness] = [0, { reason: null, height: null }];
  await until(async () => {
    looks.pass(LOOK_MS);
    const response = await server.get('/ready');
    [status, readiness] = [response.status, (await response.json()) as Readiness];
    return is(readiness);
  }, "the server's own state");
  return [status, readiness];
}

for (const threads of ['0', '1']) {
  test(`with --threads ${threads}, a server in read mode is ready while an index exists, and switches to a new index`, async () => {
    using directory = dataDirectory();
    const missing = `No index found at ${indexPath(directory.path)}.`;
    await using reader = await serving({ mode: 'read', threads }, directory.path, {}, { clock });
    expect(await readyWhen(reader, () => true)).toMatchObject([503, { reason: missing, height: null }]);
    expect(await reader.get('/extended').then(({ status }) => status)).toBe(503);
    expect(await reader.get('/metrics').then(({ status }) => status)).toBe(200);
    {
      using writer = openAt(directory.path);
      for (const event of events) writer.ingest.receive(event);
      expect(await readyWhen(reader, ({ height }) => height === 5)).toMatchObject([200, { reason: null }]);
    }
    rmSync(indexPath(directory.path));
    const deleted = `The index ${indexPath(directory.path)} is missing, but ${directory.path} contains a journal.`;
    expect(await readyWhen(reader, ({ reason }) => reason !== null)).toMatchObject([503, { reason: deleted }]);
    rebuild(directory.path);
    expect(await readyWhen(reader, ({ height }) => height === 5)).toMatchObject([200, { reason: null }]);
    // A new file in the place of the existing one.
    rebuild(directory.path);
    {
      using writer = openAt(directory.path);
      for (const event of devnetEvents({ ...CHAIN, blocks: 7 })) {
        writer.ingest.receive(received(event));
      }
    }
    expect(await readyWhen(reader, ({ height }) => height === 7)).toMatchObject([200, { reason: null }]);
  });
}
