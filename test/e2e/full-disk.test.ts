/** A full disk that also holds the process log, as with `2>> DIR/stackside.log`. */
import { describe, expect, test } from 'bun:test';
import { cpSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { canMount, smallDisk } from '../support/data/small-disk.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { command, jsonLines, readyLine, stackside } from './stackside.ts';

const MEGABYTE = 1024 * 1024;
const events = [...devnetEvents({ seed: 5, blocks: 12, transactionsPerBlock: 4, forkEvery: 4 })];

describe.skipIf(!canMount)('a file system of a few megabytes', () => {
  test.each(['0', '1'])(
    'with %s threads, a full disk rejects events with 503 and drops log lines, and both continue afterwards',
    async (threads) => {
      using disk = smallDisk(12 * MEGABYTE)!;
      const log = join(disk.path, 'stackside.log');
      const ports = ['--api-port', '0', '--event-port', '0', '--node-rpc', 'http://127.0.0.1:1', '--threads', threads];
      await using server = Bun.spawn(
        [...command, 'serve', '--data', disk.path, '--log-level', 'debug', '--network', 'testnet', ...ports],
        { stdin: 'ignore', stdout: 'pipe', stderr: openSync(log, 'a') },
      );
      const { events: port, api } = (await readyLine(server))!;
      const send = async ({ path, body }: { path: string; body: string }) =>
        (await fetch(port + path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })).status;
      const countDropped = () => metricOf(api, 'stackside_log_lines_dropped_total');
      const statuses = new Set<number>();
      for (const event of events) {
        disk.fill();
        // The files may already have allocated enough space for the data.
        for (let tries = 0; tries < 3; tries++) statuses.add(await send(event));
        disk.empty();
        expect(await send(event)).toBe(200);
      }
      expect([...statuses].sort()).toEqual([200, 503]);
      disk.fill();
      // The last page of the log has room for some lines.
      while ((await countDropped()) === 0) expect(await send({ path: '/new_block', body: '{' })).toBe(400);
      disk.empty();
      expect(await send(events[0]!)).toBe(200);
      const lost = await countDropped();
      server.kill('SIGTERM');
      expect(await server.exited).toBe(0);
      const reported = jsonLines(readFileSync(log, 'utf8')).filter(({ msg }) => msg === 'log_lines_dropped');
      expect(reported.reduce((sum, { lines }) => sum + lines, 0)).toBe(lost);
    },
  );

  test.each([
    ['without any room', 0, 1_000],
    ['with room for one more file than the database', 40_960, 1_000],
    ['that can hold no more files', 10 * MEGABYTE, 3],
  ])('%s, commands report a full disk, and end with the exit code for another attempt', async (_, room, files) => {
    using source = ingestOf(events.map(received));
    for (const args of [['serve', '--api-port', '0', '--event-port', '0'], ['rebuild'], ['backup', 'BACKUP']]) {
      using disk = smallDisk(20 * MEGABYTE)!;
      const data = join(disk.path, 'data');
      cpSync(source.path, data, { recursive: true });
      disk.fill(room, files);
      const options = args.map((arg) => (arg === 'BACKUP' ? join(disk.path, 'backup') : arg));
      const { code, stderr } = await stackside(...options, '--data', data);
      expect({ args, stderr }).toEqual({ args, stderr: expect.stringMatching(/The disk of .* is full\.\nFree space/) });
      expect({ args, code }).toEqual({ args, code: 75 });
    }
  });

  test('an import and a restore that fill the disk end with one error and the exit code for another attempt', async () => {
    using source = ingestOf(events.map(received));
    using files = dataDirectory();
    const [recording, archive] = [join(files.path, 'events.tsv'), join(files.path, 'archive')];
    for (const args of [
      ['export', '--output', recording],
      ['backup', archive],
    ])
      expect((await stackside(...args, '--data', source.path)).code).toBe(0);
    for (const args of [
      ['import', recording],
      ['restore', archive],
      ['restore', archive, '--base', 'none'],
    ]) {
      using disk = smallDisk(2 * MEGABYTE)!;
      const { code, stderr } = await stackside(...args, '--data', join(disk.path, 'data'));
      expect({ args, code, stderr }).toEqual({
        args,
        code: 75,
        stderr: expect.stringMatching(/^The disk of .* is full\.\nFree space .*\n$/),
      });
    }
  });
});
