import { describe, expect, spyOn, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSegmentName } from '../../src/archive/segment.ts';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { progressLines, progressReport, secondaryIndexReport } from '../../src/commands/cli/progress.ts';
import { reportArchive, runRestore } from '../../src/commands/data/archive.ts';
import { readSettings } from '../../src/settings/config.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { archive } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { webServer } from '../support/servers/web-server.ts';
import { until } from '../support/time/until.ts';

/** Returns its lines after this number of milliseconds. */
function linesAfter(milliseconds: number, isTTY: boolean, size: number | null): string[] {
  let now = 0;
  const lines: string[] = [];
  const report = progressReport('a.tsv', { isTTY, write: (text) => lines.push(text) }, () => now);
  now += milliseconds;
  report.update({ rows: 500, height: 12, read: 250, size });
  report.done();
  return lines;
}

test('on a terminal, one line is redrawn with rate, height, share and time left', () => {
  expect(linesAfter(2_000, true, 1000)).toEqual([
    '\r\u001b[Ka.tsv: 500 rows, 250 rows/s, height 12, 25.0%, ETA 6 s',
    '\n',
  ]);
  expect(linesAfter(199, true, 1000)).toEqual([]);
});

test('without a terminal, a line is written every five seconds', () => {
  expect(linesAfter(4_999, false, null)).toEqual([]);
  expect(linesAfter(5_000, false, null)).toEqual(['a.tsv: 500 rows, 100 rows/s, height 12\n']);
});

test('each step without progress gets a separate line', () => {
  let now = 0;
  const written: string[] = [];
  const lines = progressLines({ write: (text) => written.push(text) }, () => now);
  for (now of [1, 2]) lines.begin(`step at ${now}`);
  expect(written).toEqual(['step at 1\n', 'step at 2\n']);
});

test('progress names only the indexes of large files', () => {
  const written: string[] = [];
  const { making } = secondaryIndexReport(progressLines({ write: (text) => written.push(text) }));
  const step = { index: 'transactions_by_fee', number: 8, total: 34 } as const;
  making({ ...step, bytes: 199_999_999 });
  making({ ...step, bytes: 200_000_000 });
  expect(written).toEqual(['index 8 of 34: transactions_by_fee\n']);
});

describe('on a terminal, a restore', () => {
  const events = simulatedEvents({ seed: 4, blocks: 6, transactionsPerBlock: 1, forkEvery: 0 });

  /**
   * Restores an archive, and a second passes between two reads of the clock.
   * @param spoil damages the archive @returns the error, and the text on stderr
   */
  async function captureRestore(spoil: (archivePath: string) => void = () => {}) {
    using data = ingestOf(events);
    using places = dataDirectory();
    const archivePath = join(places.path, 'archive');
    await archive(data.path, directoryFiles(archivePath));
    spoil(archivePath);
    let now = 0;
    const { stderr } = process;
    const { isTTY } = stderr;
    using written = spyOn(stderr, 'write').mockImplementation(() => true);
    using _ = spyOn(process.stdout, 'write').mockImplementation(() => true);
    using __ = spyOn(systemClock, 'monotonic').mockImplementation(() => (now += 1_000));
    stderr.isTTY = true;
    try {
      const settings = readSettings({ data: join(places.path, 'new'), logLevel: 'silent' }, {});
      const error: unknown = await runRestore(settings, archivePath).catch((thrown: unknown) => thrown);
      return { error, written: written.mock.calls.join('') };
    } finally {
      stderr.isTTY = isTTY;
    }
  }

  test('ends its progress line when it finishes', async () => {
    const { error, written } = await captureRestore();
    expect(error).toBeUndefined();
    expect(written).toMatch(/: entry \d+ of \d+, .*, ETA \d+ .*\n$/);
  });

  test('ends its progress line before it prints an error', async () => {
    const { error, written } = await captureRestore((archivePath) => {
      const files = readdirSync(archivePath).filter((name) => parseSegmentName(name) !== null);
      writeFileSync(join(archivePath, files.sort().at(-1)!), 'torn');
    });
    expect(error).toBeInstanceOf(OperatorError);
    expect(written).toMatch(/: entry \d+ of \d+, .*\n$/);
  });
});

test('restore and archive status print a notice while an archive does not answer', async () => {
  using places = dataDirectory();
  using away = webServer(places.path);
  let open = Promise.withResolvers<null>();
  away.answer = () => open.promise;
  const { after } = systemClock;
  const notices: (() => void)[] = [];
  using written = spyOn(process.stderr, 'write').mockImplementation(() => true);
  using _ = spyOn(systemClock, 'after').mockImplementation((milliseconds, call) => {
    if (milliseconds !== 20_000) return after(milliseconds, call);
    notices.push(call);
    return () => void notices.splice(notices.indexOf(call), 1);
  });
  const { publicKey } = parseSigner(newPrivateKey())!;
  const settings = readSettings({ data: join(places.path, 'new'), archivePublicKey: publicKey }, {});
  for (const run of [() => runRestore(settings, away.url), () => reportArchive(settings, away.url, false)]) {
    const asked = away.requestedNames.length;
    const failed = run().catch((error: Error) => error.message);
    await until(() => away.requestedNames.length > asked, 'the first request');
    for (const call of notices) call();
    expect(written.mock.calls).toEqual([[`${away.url} has not answered for 20 s. Still waiting.\n`]]);
    open.resolve(null);
    expect(await failed).toBe(`No public archive found at ${away.url}: head.json is missing.`);
    expect(notices).toEqual([]);
    written.mockClear();
    open = Promise.withResolvers();
  }
});
