/** A server closes each part before the parts that it depends on. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Environment, realEnvironment } from '../../src/commands/serve/environment.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { serving } from '../support/servers/serving.ts';

/** Returns an environment that records which parts of a server close, in order. */
function watchedClosing(): { closed: string[]; environment: Partial<Environment> } {
  const closed: string[] = [];
  const { listen, openSnapshots, connect } = realEnvironment;
  const recordCalls = <T extends object, K extends keyof T>(part: T, method: K, name: string): T => {
    const call = part[method] as (...args: unknown[]) => unknown;
    part[method] = ((...args: unknown[]) => {
      if (!closed.includes(name)) closed.push(name);
      return call.apply(part, args);
    }) as T[K];
    return part;
  };
  const workers = ['archive', 'bases'];
  return {
    closed,
    environment: {
      listen: ((options) => recordCalls(listen(options), 'stop', options.what)) as typeof listen,
      openSnapshots: (...args) => recordCalls(openSnapshots(...args), 'close', 'snapshots'),
      connect: (path, synchronous) => recordCalls(connect(path, synchronous), 'close', path.replace(/^.*\//, '')),
      archiveWorker: (start) => recordCalls(realEnvironment.archiveWorker(start), 'stop', workers.shift() ?? 'archive'),
    },
  };
}

test('a server stops its API first, then the event port, then archives the rest, and closes its files last', async () => {
  using place = dataDirectory();
  const { closed, environment } = watchedClosing();
  {
    await using server = await serving({ archive: join(place.path, 'archive') }, undefined, {}, environment);
    await server.post(devnetEvents({ seed: 1, blocks: 3 }));
    expect(closed).toEqual([]);
  }
  expect(closed).toEqual(['The API', 'The event receiver', 'bases', 'archive', 'snapshots', 'journal.db', 'index.db']);
});

test('a server that fails to start closes the parts that it started', async () => {
  const { closed, environment } = watchedClosing();
  const { listen } = realEnvironment;
  const refused = new Error('no such port');
  const starting = serving(
    {},
    undefined,
    {},
    {
      ...environment,
      listen: ((options) => {
        if (options.what === 'The API') throw refused;
        return environment.listen?.(options) ?? listen(options);
      }) as typeof listen,
    },
  );
  await expect(starting).rejects.toBe(refused);
  expect(closed).toEqual(['The event receiver', 'snapshots', 'journal.db', 'index.db']);
});
