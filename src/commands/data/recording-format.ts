/** Detects the format of a recording, where a row can be read in both formats. */

import { OperatorError } from '../../base/errors.ts';
import {
  formatShownBy,
  MixedFormatsError,
  type RecordedEvent,
  type RecordingFormat,
  RowError,
  recordingReader,
  type ShownFormat,
  UndecidedFormatError,
} from '../../chain/recording.ts';
import { strictText } from '../../codec/utf8.ts';
import { openInput } from './input.ts';

const BACKSLASH = 0x5c;

/** Decodes a row. @throws RowError for bytes that are not UTF-8, since replacing them would alter the event */
function textOf(bytes: Uint8Array): string {
  const text = strictText(bytes);
  if (text === null) throw new RowError('it is not UTF-8');
  return text;
}

/** The remedy where no row shows the format. */
const REMEDY =
  "Say how it is written: --format copy (with the escapes of PostgreSQL's COPY) or --format raw (as the columns stand).";

/** The format that a row shows, if any. A row that can't be read shows none, and is reported when it is imported. */
function formatOf(bytes: Uint8Array): RecordingFormat | null {
  if (!bytes.includes(BACKSLASH)) return null;
  try {
    return formatShownBy(textOf(bytes));
  } catch (error) {
    if (error instanceof RowError) return null;
    throw error;
  }
}

/** The first row of a recording that shows its format; null where none does. */
async function firstThatShows(file: string): Promise<ShownFormat | null> {
  let row = 0;
  for await (const bytes of openInput(file).lines()) {
    row += 1;
    const format = formatOf(bytes);
    if (format !== null) return { format, row };
  }
  return null;
}

/**
 * Reads rows one after the other. Where one can be read in both formats and none before it has shown which is meant, the
 * whole file is looked through for a row that does.
 * @param again whether the file can be read from its beginning once more
 * @param given what the operator says
 * @returns a function from a row and its number to its event; null where it holds none. It throws RowError, and
 *   OperatorError where the rows don't agree on a format or none of them shows it
 */
export function rowReader(file: string, again: boolean, given: RecordingFormat | null) {
  const reader = recordingReader(given);

  async function settleFormat(cause: UndecidedFormatError): Promise<void> {
    const shown = again ? await firstThatShows(file) : null;
    if (shown !== null) return reader.settle(shown);
    const problem = `Row ${cause.row} of ${file} can be read in two ways`;
    const why = again ? 'no row shows which is meant' : 'no row before it shows which is meant';
    throw new OperatorError(`${problem}, and ${why}.`, REMEDY, { cause });
  }

  return async (bytes: Uint8Array, row: number): Promise<RecordedEvent | null> => {
    const line = textOf(bytes);
    try {
      return reader.read(line, row);
    } catch (error) {
      if (error instanceof MixedFormatsError) throw mixed(file, error);
      if (!(error instanceof UndecidedFormatError)) throw error;
      await settleFormat(error);
      return reader.read(line, row);
    }
  };
}

function mixed(file: string, cause: MixedFormatsError): OperatorError {
  const { row, earlier } = cause;
  return new OperatorError(
    `Row ${row} of ${file} is not written in the format that row ${earlier.row} shows, ${earlier.format}.`,
    REMEDY,
    { cause },
  );
}
