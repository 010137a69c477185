/** Recordings, and their imports without output. */
import { spyOn } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { recordingRow } from '../../src/chain/recording.ts';
import { type ImportOptions, runImport } from '../../src/commands/data/import.ts';
import { readSettings } from '../../src/settings/config.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { SAME_IDENTITY } from '../support/data/ingest.ts';

/** An event, or the text of a row. */
export type Row = ReceivedEvent | string;

/** Rows of a recording, with their numbers as ids. */
export const rowsOf = (rows: readonly Row[]): string[] =>
  rows.map((row, index) => (typeof row === 'string' ? row : recordingRow({ id: index + 1, ...row })));

/** Writes a recording. @returns its path */
export function writeRecording(directory: string, rows: readonly Row[], name = 'recording.tsv'): string {
  const file = join(directory, name);
  writeFileSync(
    file,
    rowsOf(rows)
      .map((row) => `${row}\n`)
      .join(''),
  );
  return file;
}

export interface ImportResult {
  error: OperatorError | null;
  /** Lines on stdout. */
  output: string;
}

/** Imports recordings. @throws an error that isn't for the operator */
export async function importFiles(
  data: string,
  files: readonly string[],
  { network, ...how }: Partial<ImportOptions> & { network?: string } = {},
): Promise<ImportResult> {
  using stdout = spyOn(process.stdout, 'write').mockImplementation(() => true);
  using _ = spyOn(process.stderr, 'write').mockImplementation(() => true);
  const settings = readSettings({ data, logLevel: 'silent', ...(network === undefined ? {} : { network }) }, {});
  const options = { skipBad: false, restart: false, random: SAME_IDENTITY, ...how };
  const error = (await runImport(settings, files, options).catch((thrown: unknown) => thrown)) ?? null;
  if (error !== null && !(error instanceof OperatorError)) throw error;
  return { error, output: stdout.mock.calls.join('') };
}
