/** Files that commands write are complete or don't exist. */
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { OperatorError } from '../../src/base/errors.ts';
import { wholeFile } from '../../src/base/files.ts';
import { printError, writeLines, writeNow } from '../../src/commands/cli/output.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';

let directory: DataDirectory;
let file: string;
beforeEach(() => {
  directory = dataDirectory();
  file = join(directory.path, 'out.tsv');
});
afterEach(() => directory[Symbol.dispose]());

const names = (): string[] => readdirSync(directory.path).sort();

test("an existing file doesn't change until the new one is complete", async () => {
  writeFileSync(file, 'old\n');
  function* lines() {
    for (let n = 0; n < 50_000; n++) yield `line ${n}`;
    expect(readFileSync(file, 'utf8')).toBe('old\n');
    expect(names()).toEqual(['out.tsv', 'out.tsv.partial']);
  }
  await writeLines(file, lines(), true);
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(50_001);
  expect(names()).toEqual(['out.tsv']);
});

test('a failed write keeps the existing file and leaves no other file', async () => {
  function* lines() {
    yield 'new';
    throw new Error('halfway');
  }
  await expect(writeLines(file, lines(), false)).rejects.toThrow('halfway');
  expect(names()).toEqual([]);
  writeFileSync(file, 'old\n');
  await expect(writeLines(file, lines(), true)).rejects.toThrow('halfway');
  expect(names()).toEqual(['out.tsv']);
  expect(readFileSync(file, 'utf8')).toBe('old\n');
});

test('an existing file is replaced only with the option to overwrite', async () => {
  writeFileSync(file, 'old\n');
  await expect(writeLines(file, ['new'], false)).rejects.toMatchObject({
    remedy: 'Add --overwrite to replace the file.',
  });
  expect(readFileSync(file, 'utf8')).toBe('old\n');
});

test('a file name with .gz or .zst is compressed, and zstd has a checksum', async () => {
  await writeLines(`${file}.gz`, ['a', 'b'], false);
  await writeLines(`${file}.zst`, ['a', 'b'], false);
  expect(gunzipSync(readFileSync(`${file}.gz`)).toString()).toBe('a\nb\n');
  const zstd = readFileSync(`${file}.zst`);
  expect(zstdDecompressSync(zstd).toString()).toBe('a\nb\n');
  const CHECKSUM_FLAG = 0b100;
  expect(zstd.readUInt8(4) & CHECKSUM_FLAG).toBe(CHECKSUM_FLAG);
});

test('the partial file of a killed process is replaced, and a symbolic link is followed', async () => {
  writeFileSync(`${file}.partial`, 'left behind');
  await writeLines(file, ['new'], false);
  const link = join(directory.path, 'link.tsv');
  symlinkSync(file, link);
  await writeLines(link, ['newer'], true);
  expect(readFileSync(file, 'utf8')).toBe('newer\n');
  expect(names()).toEqual(['link.tsv', 'out.tsv']);
});

test('if two processes write the same file, only one file remains, and neither overwrites the other', () => {
  const [first, second] = [wholeFile(file), wholeFile(file)];
  writeFileSync(second.partial, 'second');
  expect(() => first.commit()).toThrow(OperatorError);
  first.discard();
  second.commit();
  expect(readFileSync(file, 'utf8')).toBe('second');
});

test.skipIf(!existsSync('/dev/full'))('a device is written to and not replaced', async () => {
  await expect(writeLines('/dev/full', ['a'], false)).rejects.toThrow('The disk of /dev/full is full.');
  expect(existsSync('/dev/full.partial')).toBe(false);
});

test("an error names a directory, and a path whose parent doesn't exist", async () => {
  const into = join(directory.path, 'folder');
  mkdirSync(into);
  await expect(writeLines(into, ['a'], true)).rejects.toThrow(`${into} is a directory.`);
  const none = join(directory.path, 'none');
  await expect(writeLines(join(none, 'a'), ['a'], true)).rejects.toThrow(`The directory ${none} doesn't exist.`);
});

test.skipIf(process.getuid?.() === 0)('an error names a directory without write permission', async () => {
  chmodSync(directory.path, 0o500);
  await expect(writeLines(file, ['a'], true)).rejects.toThrow('may not be read or written');
  chmodSync(directory.path, 0o700);
});

/** Returns a pipe that accepts three bytes at a time, and is full before every second write. */
function narrowPipe() {
  const written: number[] = [];
  let [tries, waits] = [0, 0];
  return {
    text: () => Buffer.from(written).toString(),
    waits: () => waits,
    write(bytes: Uint8Array): number {
      if (tries++ % 2 === 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
      written.push(...bytes.subarray(0, 3));
      return Math.min(3, bytes.length);
    },
    wait: () => void waits++,
  };
}

test('the complete text is written to a pipe that is sometimes full', () => {
  const pipe = narrowPipe();
  writeNow('zwölf Bytes\n', pipe);
  expect([pipe.text(), pipe.waits()]).toEqual(['zwölf Bytes\n', 5]);
});

test.each([
  ['EPIPE', 'is no failure'],
  ['ENOSPC', 'fails'],
])('a write that ends with %s %s', (code, outcome) => {
  const write = () => {
    throw Object.assign(new Error(code), { code });
  };
  const wait = () => expect.unreachable();
  const written = () => writeNow('text', { write, wait });
  if (outcome === 'fails') expect(written).toThrow('The disk of stdout is full.');
  else expect(written()).toBeUndefined();
});

test('an error that quotes external text contains no control characters', () => {
  const { exitCode } = process;
  using written = spyOn(process.stderr, 'write').mockImplementation(() => true);
  printError(new OperatorError('bad JSON path: \u001b[2J\u009b1m.', 'Correct it.'));
  process.exitCode = exitCode ?? 0;
  expect(written.mock.calls.join('')).toBe('bad JSON path: ?[2J?1m.\nCorrect it.\n');
});
