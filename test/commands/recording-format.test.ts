/** Which format a recording is read in, where its rows alone don't say. */
import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { type RecordingFormat, RowError } from '../../src/chain/recording.ts';
import { openInput } from '../../src/commands/data/input.ts';
import { rowReader } from '../../src/commands/data/recording-format.ts';
import { dataDirectory } from '../support/data-directory.ts';

const directory = dataDirectory();
afterAll(() => directory[Symbol.dispose]());

/** A path as it stands, or with COPY's escapes a line end. */
const EITHER = '{"a":"C:\\\\new"}';
const WITH_LINE_END = '{"a":"C:\\new"}';
const QUOTED = '{"a":"say \\"hello\\""}';
const QUOTED_COPY = '{"a":"say \\\\"hello\\\\""}';

/** The payloads of a file with these columns. */
async function read(columns: readonly string[], again = true, format: RecordingFormat | null = null) {
  const file = join(directory.path, 'recording.tsv');
  writeFileSync(file, columns.map((column, id) => `${id}\t2022-09-13 00:12:27+00\t/p\t${column}\n`).join(''));
  const readRow = rowReader(file, again, format);
  const texts: (string | undefined)[] = [];
  for await (const bytes of openInput(file).lines()) texts.push((await readRow(bytes, texts.length + 1))?.text);
  return texts;
}

test('a row far below decides how one is read that can be read in two ways', async () => {
  const plain = Array.from({ length: 50 }, (_, n) => `{"n":${n}}`);
  expect(await read([EITHER, ...plain, QUOTED])).toEqual([EITHER, ...plain, QUOTED]);
  expect(await read([EITHER, ...plain, QUOTED_COPY])).toEqual([WITH_LINE_END, ...plain, QUOTED]);
});

test('rows that can be read in two ways, and none that decides, are refused with the number of the first', async () => {
  const refused = read(['{}', EITHER, EITHER]);
  await expect(refused).rejects.toThrow(OperatorError);
  await expect(refused).rejects.toThrow(/^Row 2 of .+ can be read in two ways, and no row shows which is meant\.$/);
  await expect(refused).rejects.toMatchObject({ remedy: expect.stringContaining('--format copy') });
});

test('what can be read once only is not looked through', async () => {
  await expect(read([EITHER, QUOTED], false)).rejects.toThrow('no row before it shows which is meant');
  expect(await read([QUOTED, EITHER], false)).toEqual([QUOTED, EITHER]);
});

test('the operator decides', async () => {
  expect(await read([EITHER], true, 'raw')).toEqual([EITHER]);
  expect(await read([EITHER], false, 'copy')).toEqual([WITH_LINE_END]);
});

test('rows of both formats are refused with both numbers', async () => {
  const refused = read([EITHER, QUOTED_COPY, QUOTED]);
  await expect(refused).rejects.toThrow(OperatorError);
  await expect(refused).rejects.toThrow('Row 3 of');
  await expect(refused).rejects.toThrow('the format that row 2 shows, copy');
});

test('a row that is not UTF-8 is refused', async () => {
  const readRow = rowReader('unused', false, null);
  const bytes = Buffer.concat([Buffer.from('1\t2022-09-13 00:12:27+00\t/p\t"'), Buffer.from([0xff]), Buffer.from('"')]);
  await expect(readRow(bytes, 1)).rejects.toThrow(RowError);
});
