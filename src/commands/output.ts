/** Where commands write to: stdout, which may be closed or full, and files, which are whole or not there. */
import { createWriteStream, statSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import { EXIT, hasCode, OperatorError } from '../base/errors.ts';
import { onFile, operatorErrorOf } from '../base/system-errors.ts';
import { wholeFile } from '../base/whole-file.ts';

/** Whether whoever read the output has enough of it, as `head` has after some lines. */
const isClosedPipe = (error: unknown): boolean => hasCode(error, 'EPIPE');

/**
 * Sees to it that a command goes on where nobody reads what it prints, and ends with two lines where its output can't be
 * written. Without it either would end in a stack trace. Once for the process.
 */
export function guardOutput(): void {
  process.stdout.on('error', (error) => {
    if (isClosedPipe(error)) return;
    const known = operatorErrorOf(error, 'stdout');
    if (known === null) throw error;
    printError(known);
  });
  // There is nowhere left to say it.
  process.stderr.on('error', () => {});
}

/** Two lines on stderr, and the exit code. */
export function printError(error: OperatorError): void {
  process.stderr.write(`${error.message}\n${error.remedy}\n`);
  process.exitCode = error.exitCode;
}

/** By the name that a file is given. With a checksum, so that a changed byte is noticed when it is read. */
const compressors = (file: string): NodeJS.ReadWriteStream[] => {
  if (file.endsWith('.gz')) return [createGzip()];
  if (file.endsWith('.zst')) return [createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })];
  return [];
};

async function writeTo(target: Writable, file: string, lines: Iterable<string>): Promise<void> {
  try {
    await pipeline([Readable.from(lines), ...compressors(file), target]);
  } catch (error) {
    throw operatorErrorOf(error, file) ?? error;
  }
}

/** Writes a file beside its place; it is gone again where that fails, or where a signal ends the process. */
async function writeWhole(file: string, lines: Iterable<string>): Promise<void> {
  const whole = wholeFile(file);
  const interrupted = () => {
    whole.discard();
    process.exit(EXIT.interrupted);
  };
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    await writeTo(createWriteStream(whole.partial), file, lines);
    whole.keep();
  } catch (error) {
    whole.discard();
    throw error;
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
  }
}

/** What is at a path that is to be written: a pipe or device isn't replaced, but written to. */
function whatIsAt(file: string): 'nothing' | 'file' | 'device' {
  const found = onFile(file, () => statSync(file, { throwIfNoEntry: false }));
  if (found?.isDirectory()) throw new OperatorError(`${file} is a directory.`, 'Give the path of a file.');
  if (found === undefined) return 'nothing';
  return found.isFile() ? 'file' : 'device';
}

/** Lines, each with its end, and how many of them were taken. */
function counted(lines: Iterable<string>): { ended: Iterable<string>; count(): number } {
  let count = 0;
  function* ended(): Generator<string> {
    for (const line of lines) {
      count += 1;
      yield `${line}\n`;
    }
  }
  return { ended: ended(), count: () => count };
}

/**
 * Writes lines to a file, compressed if its name ends in .gz or .zst, and says on stderr how many. A file that is there
 * stays as it is until the new one is whole.
 * @param lines without their ends
 * @throws OperatorError where it can't be written, or is there and may not be replaced
 */
export async function writeLines(file: string, lines: Iterable<string>, overwrite: boolean): Promise<void> {
  const found = whatIsAt(file);
  if (found === 'file' && !overwrite) {
    throw new OperatorError(`A file already exists at ${file}.`, 'To replace it: --overwrite.');
  }
  const { ended, count } = counted(lines);
  if (found === 'device') await writeTo(createWriteStream(file), file, ended);
  else await writeWhole(file, ended);
  process.stderr.write(`${file}: ${count()} rows\n`);
}

/** Prints lines, as many as somebody reads and stdout takes: see {@link guardOutput}. */
export async function printLines(lines: Iterable<string>): Promise<void> {
  let ofStdout: unknown;
  const note = (error: unknown) => {
    ofStdout = error;
  };
  process.stdout.once('error', note);
  try {
    await pipeline(Readable.from(counted(lines).ended), process.stdout, { end: false });
  } catch (error) {
    // What stdout fails with was told where it is worth telling.
    if (error !== ofStdout) throw error;
  } finally {
    process.stdout.off('error', note);
  }
}
