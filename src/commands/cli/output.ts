/** The output of commands: stdout, which may be closed or full, and files, which are written whole or not at all. */
import { createWriteStream, readFileSync, statSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import { EXIT, hasCode, OperatorError } from '../../base/errors.ts';
import { wholeFile } from '../../base/files.ts';
import { plural } from '../../base/format.ts';
import { type DescriptorWriter, writerTo } from '../../base/lossy-output.ts';
import { onFile, operatorErrorOf } from '../../base/system-errors.ts';

/** Whether the output's reader closed it, as `head` does after some lines. */
export const isClosedOutput = (error: unknown): boolean => hasCode(error, 'EPIPE');

/**
 * Handles errors of stdout for the whole process: a command continues when its reader is gone, and ends with an error of two
 * lines, not a stack trace, when its output can't be written.
 */
export function guardOutput(): void {
  process.stdout.on('error', (error) => {
    if (isClosedOutput(error)) return;
    const operatorError = operatorErrorOf(error, 'stdout');
    if (operatorError === null) throw error;
    printError(operatorError);
  });
  // Errors of stderr can't be reported.
  process.stderr.on('error', () => {});
}

/**
 * Writes all of a text to stdout before it returns, for commands that don't yield to the event loop. Waits while a pipe is
 * full, and does nothing once the reader is gone.
 * @throws OperatorError if stdout's file or disk fails
 */
export function writeNow(text: string, { write, wait }: DescriptorWriter = writerTo(1)): void {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(write(rest));
    } catch (error) {
      if (isClosedOutput(error)) return;
      // The pipe is full.
      if (!hasCode(error, 'EAGAIN')) throw operatorErrorOf(error, 'stdout') ?? error;
      wait();
    }
  }
}

/** Prints an error in two lines on stderr and sets the exit code. */
export function printError(error: OperatorError): void {
  process.stderr.write(printableText(`${error.message}\n${error.remedy}\n`));
  process.exitCode = error.exitCode;
}

/** The compressors for a file, by the suffix of its name. Zstandard gets a checksum, so that readers detect changed bytes. */
const compressors = (file: string): NodeJS.ReadWriteStream[] => {
  if (file.endsWith('.gz')) return [createGzip()];
  if (file.endsWith('.zst')) return [createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })];
  return [];
};

/** Texts, or a stream of bytes. */
type Content = Iterable<string> | Readable;

const streamOf = (content: Content): Readable => (content instanceof Readable ? content : Readable.from(content));

async function writeTo(target: Writable, file: string, content: Content): Promise<void> {
  try {
    await pipeline([streamOf(content), ...compressors(file), target]);
  } catch (error) {
    throw operatorErrorOf(error, file) ?? error;
  }
}

/** Writes a temporary file and renames it. A failure or a signal removes the temporary file. */
async function writeWhole(file: string, open: () => Content): Promise<void> {
  const outputFile = wholeFile(file);
  try {
    await interruptible(outputFile.discard, () => writeTo(createWriteStream(outputFile.partial), file, open()));
    outputFile.commit();
  } catch (error) {
    outputFile.discard();
    throw error;
  }
}

/** Returns the kind of file at an output path. Pipes and devices are written to, not replaced. */
function fileKind(file: string): 'nothing' | 'file' | 'device' {
  const stats = onFile(file, () => statSync(file, { throwIfNoEntry: false }));
  if (stats?.isDirectory()) throw new OperatorError(`${file} is a directory.`, 'Give the path of a file.');
  if (stats === undefined) return 'nothing';
  return stats.isFile() ? 'file' : 'device';
}

/** Characters of lines that are written together: a stream takes as long for a line as for many. */
const CHUNK = 16_384;

/** Adds line ends, joins short lines to longer texts, and counts the lines that were read. */
function joinLines(lines: Iterable<string>): { chunks: Iterable<string>; count(): number } {
  let count = 0;
  function* chunks(): Generator<string> {
    let chunk = '';
    for (const line of lines) {
      count += 1;
      chunk += `${line}\n`;
      if (chunk.length < CHUNK) continue;
      yield chunk;
      chunk = '';
    }
    if (chunk !== '') yield chunk;
  }
  return { chunks: chunks(), count: () => count };
}

/**
 * Writes a file, compressed if its name ends in .gz or .zst. An existing file is replaced only once the new one is complete.
 * @param open begins the content, once the path was checked
 * @throws OperatorError if it can't be written, or exists and must not be replaced
 */
export async function writeFile(file: string, open: () => Content, overwrite: boolean): Promise<void> {
  const kind = fileKind(file);
  if (kind === 'file' && !overwrite) {
    throw new OperatorError(`A file already exists at ${file}.`, 'Add --overwrite to replace the file.');
  }
  if (kind === 'device') await writeTo(createWriteStream(file), file, open());
  else await writeWhole(file, open);
}

/**
 * Writes lines to a file like {@link writeFile}, and prints their number on stderr.
 * @param lines without line ends
 * @throws OperatorError if it can't be written, or exists and must not be replaced
 */
export async function writeLines(file: string, lines: Iterable<string>, overwrite: boolean): Promise<void> {
  const { chunks, count } = joinLines(lines);
  await writeFile(file, () => chunks, overwrite);
  process.stderr.write(`${file}: ${plural(count(), 'row')}\n`);
}

/**
 * Writes to stdout.
 * @returns once stdout has taken the output
 * @throws OperatorError if stdout's file or disk fails, and the error EPIPE once its reader is gone
 */
export const writeOutput = (output: Uint8Array | string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(output, (error) => (error ? reject(operatorErrorOf(error, 'stdout') ?? error) : resolve()));
  });

/** Prints lines until stdout is closed or fails; see {@link guardOutput}. */
export const printLines = (lines: Iterable<string>): Promise<void> => print(joinLines(lines).chunks);

/** Prints until stdout is closed or fails; see {@link guardOutput}. */
export async function print(content: Content): Promise<void> {
  let stdoutError: unknown;
  const recordError = (error: unknown) => {
    stdoutError = error;
  };
  process.stdout.once('error', recordError);
  try {
    await pipeline(streamOf(content), process.stdout, { end: false });
  } catch (error) {
    // A failure of stdout itself was reported before, if necessary.
    if (error !== stdoutError) throw error;
  } finally {
    process.stdout.off('error', recordError);
  }
}

/** Whether the process ignores SIGHUP, as one that `nohup` started does. Only Linux reports this. */
function ignoresHangup(): boolean {
  if (process.platform !== 'linux') return false;
  const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return ignored !== undefined && (BigInt(`0x${ignored}`) & 1n) === 1n;
}

/** The signals that stop a command. A closed terminal sends SIGHUP, unless the command was started to outlive it. */
export const stopSignals = (): NodeJS.Signals[] => [
  'SIGINT',
  'SIGTERM',
  ...(ignoresHangup() ? [] : ['SIGHUP' as const]),
];

/**
 * Runs work, which a signal ends with the process.
 * @param leave cleans up files before the process ends; called after a signal only
 * @param code exit code of the process
 * @throws the error of the work
 */
export async function interruptible<T>(
  leave: (signal: NodeJS.Signals) => void,
  work: () => Promise<T>,
  code: number = EXIT.interrupted,
): Promise<T> {
  const handleSignal = (signal: NodeJS.Signals) => {
    leave(signal);
    process.exit(code);
  };
  const signals = stopSignals();
  for (const name of signals) process.once(name, handleSignal);
  try {
    return await work();
  } finally {
    for (const name of signals) process.off(name, handleSignal);
  }
}

/** Control characters. Text from other sources could use them to control the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Replaces control characters other than tabs and line ends. */
export const printableText = (text: string): string => text.replaceAll(CONTROL, '?');

/** Returns a text as a part of one line: a space replaces each tab and line end. */
export const printableWords = (text: string): string => printableText(text).replaceAll(/[\t\n]/g, ' ');
