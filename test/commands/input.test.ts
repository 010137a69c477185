/** Recording files: compressed, misnamed, truncated, or in another format. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { OperatorError } from '../../src/base/errors.ts';
import { PayloadError } from '../../src/chain/payload-reader.ts';
import type { RecordingFormat } from '../../src/chain/recording.ts';
import { openInput, rowReader } from '../../src/commands/data/input.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

const directory = dataDirectory();
afterAll(() => directory[Symbol.dispose]());
const pathOf = (name: string): string => join(directory.path, name);

const lines = Array.from({ length: 20_000 }, (_, n) => `${n}\t${Bun.hash(String(n))}`);
const text = Buffer.from(lines.join('\n'));
const checksummed = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const packed = { gzip: gzipSync(text), zstd: zstdCompressSync(text, checksummed) };

async function read(name: string, content: Uint8Array): Promise<string[]> {
  writeFileSync(pathOf(name), content);
  const lines: string[] = [];
  for await (const line of openInput(pathOf(name)).lines()) lines.push(line.toString());
  return lines;
}

for (const [name, content] of [
  ['plain.tsv', text],
  ['plain-named.gz', text],
  ['plain-named.zst', text],
  ['gzip-named.tsv', packed.gzip],
  ['gzip-named.zst', packed.gzip],
  ['zstd-named.gz', packed.zstd],
] as const) {
  test(`reads ${name} by its content, not its extension`, async () => {
    expect(await read(name, content)).toEqual(lines);
  });
}

test('reads all parts of a gzip or zstd file', async () => {
  const half = text.indexOf('\n', text.length / 2) + 1;
  const parts = [text.subarray(0, half), text.subarray(half)];
  for (const pack of [gzipSync, (part: Uint8Array) => Bun.zstdCompressSync(part)])
    expect(await read('parts', Buffer.concat(parts.map((part) => pack(part))))).toEqual(lines);
});

test('reads an empty file and a file too short for a signature', async () => {
  expect(await read('empty.gz', new Uint8Array())).toEqual([]);
  expect(await read('short', Buffer.from('a'))).toEqual(['a']);
});

describe('rejects a damaged file with a problem and a remedy:', () => {
  for (const [compression, content] of Object.entries(packed)) {
    for (const [damage, broken] of [
      ['cut off in the middle', content.subarray(0, content.length >> 1)],
      ['without its last byte', content.subarray(0, -1)],
      ['with bytes after its end', Buffer.concat([content, Buffer.from('something else')])],
      ['with a changed byte', content.map((byte, index) => (index === content.length >> 1 ? byte ^ 0xff : byte))],
    ] as const) {
      test(`${compression} ${damage}`, async () => {
        const refused = read('broken', broken);
        await expect(refused).rejects.toThrow(OperatorError);
        await expect(refused).rejects.toThrow(`broken is truncated or damaged: its ${compression} data`);
        await expect(refused).rejects.toMatchObject({ remedy: expect.stringContaining('Get the complete file') });
      });
    }
  }
});

test("errors name a directory, and a file that doesn't exist", () => {
  expect(() => openInput(directory.path)).toThrow(`${directory.path} is a directory.`);
  expect(() => openInput(pathOf('none'))).toThrow(`${pathOf('none')} doesn't exist.`);
});

test('an error names a row that is longer than any event', async () => {
  writeFileSync(pathOf('long'), `short\n${'x'.repeat(200_000)}\n`);
  const texts: string[] = [];
  const reading = (async () => {
    for await (const line of openInput(pathOf('long'), 100_000).lines()) texts.push(line.toString());
  })();
  await expect(reading).rejects.toThrow(
    `Row 2 of ${pathOf('long')} has more than 100000 bytes, so it is not an event.`,
  );
  expect(texts).toEqual(['short']);
});

test.skipIf(process.platform !== 'linux')('reading that ends early gives the file back', async () => {
  const open = () => readdirSync('/proc/self/fd').length;
  for (const content of [text, packed.zstd]) {
    writeFileSync(pathOf('early'), content);
    const before = open();
    for (let n = 0; n < 20; n++) for await (const _ of openInput(pathOf('early')).lines()) break;
    expect(open()).toBeLessThan(before + 10);
  }
});

/** A path as it is, or with line ends as COPY escapes them. */
const EITHER = '{"a":"C:\\\\new"}';
const WITH_LINE_END = '{"a":"C:\\new"}';
const QUOTED = '{"a":"say \\"hello\\""}';
const QUOTED_COPY = '{"a":"say \\\\"hello\\\\""}';

/** The payloads of a file with these columns. */
async function payloadsOf(columns: readonly string[], again = true, format: RecordingFormat | null = null) {
  const file = join(directory.path, 'recording.tsv');
  writeFileSync(file, columns.map((column, id) => `${id}\t2022-09-13 00:12:27+00\t/p\t${column}\n`).join(''));
  const readRow = rowReader(file, again, format);
  const texts: (string | undefined)[] = [];
  for await (const bytes of openInput(file).lines()) texts.push((await readRow(bytes, texts.length + 1))?.text);
  return texts;
}

test('a later row decides the format of an ambiguous row', async () => {
  const plain = Array.from({ length: 50 }, (_, n) => `{"n":${n}}`);
  expect(await payloadsOf([EITHER, ...plain, QUOTED])).toEqual([EITHER, ...plain, QUOTED]);
  expect(await payloadsOf([EITHER, ...plain, QUOTED_COPY])).toEqual([WITH_LINE_END, ...plain, QUOTED]);
});

test('ambiguous rows without a row that decides are rejected with the number of the first', async () => {
  const refused = payloadsOf(['{}', EITHER, EITHER]);
  await expect(refused).rejects.toThrow(OperatorError);
  await expect(refused).rejects.toThrow(/^Row 2 of .+ can be read in two ways, and no row shows which is meant\.$/);
  await expect(refused).rejects.toMatchObject({ remedy: expect.stringContaining('--format copy') });
});

test('an ambiguous row uses only earlier rows if the input can be read only once', async () => {
  await expect(payloadsOf([EITHER, QUOTED], false)).rejects.toThrow('no row before it shows which is meant');
  expect(await payloadsOf([QUOTED, EITHER], false)).toEqual([QUOTED, EITHER]);
});

test('the --format option decides the format of an ambiguous row', async () => {
  expect(await payloadsOf([EITHER], true, 'raw')).toEqual([EITHER]);
  expect(await payloadsOf([EITHER], false, 'copy')).toEqual([WITH_LINE_END]);
});

test('a recording with rows in both formats is rejected with both row numbers', async () => {
  const refused = payloadsOf([EITHER, QUOTED_COPY, QUOTED]);
  await expect(refused).rejects.toThrow(OperatorError);
  await expect(refused).rejects.toThrow('Row 3 of');
  await expect(refused).rejects.toThrow('the format that row 2 shows, copy');
});

test('a row that is not UTF-8 is rejected', async () => {
  const readRow = rowReader('unused', false, null);
  const bytes = Buffer.concat([Buffer.from('1\t2022-09-13 00:12:27+00\t/p\t"'), Buffer.from([0xff]), Buffer.from('"')]);
  await expect(readRow(bytes, 1)).rejects.toThrow(PayloadError);
});
