/** The output of `stackside check`, `tables`, `status` and `accept-journal`. */
import { chainIdText } from '../chain/network.ts';
import { type CheckOptions, checkDirectory } from '../store/check/check.ts';
import type { CheckWatch } from '../store/check/run.ts';
import { type TableSize, tableSizes } from '../store/check/table-sizes.ts';
import { acceptJournal } from '../store/files/accept-journal.ts';
import { type DirectoryStatus, directoryStatus } from '../store/files/status.ts';
import type { CheckLine, TableLine } from './inspections.ts';
import type { OutputFormat } from './option-values.ts';
import { writeNow } from './output.ts';
import { progressLines } from './progress.ts';

/**
 * Checks a data directory, and prints each finding as soon as it is made; the check that is under way stands on stderr.
 * @returns whether there are none
 */
export function reportCheck(directory: string, options: Omit<CheckOptions, 'watch'>): boolean {
  const progress = progressLines(process.stderr);
  const print = (outcome: string, name: string, problems: readonly string[] = []) => {
    progress.erase();
    process.stdout.write(`${outcome} ${name}\n`);
    for (const problem of problems) process.stdout.write(`        ${problem}\n`);
  };
  const watch: CheckWatch = {
    at: (name, { number, of }, detail) =>
      progress.draw(() => `check ${number} of ${of}: ${name}${detail === '' ? '' : `, ${detail}`}`),
    found: ({ name, problems }) => print(problems.length === 0 ? 'ok     ' : 'DIFFERS', name, problems),
    leftOut: (name) => print('-      ', name),
  };
  const results = checkDirectory(directory, { ...options, watch });
  if (options.since !== undefined) {
    process.stdout.write('Checks behind a dash were left out: they read the whole index, whatever --since is.\n');
  }
  return results.every(({ problems }) => problems.length === 0);
}

/** Prints a line of JSON at once: these commands give the event loop no turn before they end. */
const printJson = (line: CheckLine | TableLine): void => writeNow(`${JSON.stringify(line)}\n`);

/**
 * Checks a data directory, and prints a line of JSON for each finding and each step that begins, and every few seconds how
 * far a long one is.
 * @returns whether there are no findings
 */
export function reportCheckAsJson(directory: string, options: Omit<CheckOptions, 'watch'>): boolean {
  const progress = progressLines({ write: (text: string) => writeNow(text) });
  const watch: CheckWatch = {
    at(name, step, detail) {
      const line: CheckLine = { at: { ...step, name, detail } };
      if (detail === '') printJson(line);
      else progress.draw(() => JSON.stringify(line));
    },
    found: (found) => printJson({ found }),
    leftOut: () => {},
  };
  return checkDirectory(directory, { ...options, watch }).every(({ problems }) => problems.length === 0);
}

/** Prints the sizes of tables and indexes, the largest first. @param format JSON has a line for each as it is measured */
export function reportTables(directory: string, format: OutputFormat): void {
  const progress = progressLines(process.stderr);
  const sizes: TableSize[] = [];
  const isJson = format === 'json';
  const measured = tableSizes(directory, (step) => {
    if (isJson) printJson({ at: { ...step, detail: '' } });
    else progress.draw(() => `${step.number} of ${step.of}: ${step.name}`);
  });
  for (const found of measured) {
    if (isJson) printJson({ found });
    sizes.push(found);
  }
  if (isJson) return;
  progress.erase();
  const width = Math.max(0, ...sizes.map(({ name }) => name.length));
  for (const { name, kind, table, bytes } of sizes.sort((a, b) => b.bytes - a.bytes)) {
    const of = kind === 'index' ? `  index of ${table}` : '';
    process.stdout.write(`${name.padEnd(width)}  ${megabytes(bytes).padStart(12)}${of}\n`);
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function lines(status: DirectoryStatus): string[] {
  const { chain_id, tip, transactions, pending, orphaned_blocks, journal, index_bytes } = status;
  return [
    `chain          ${chain_id === null ? 'not known yet' : chainIdText(chain_id)}`,
    tip === null
      ? 'tip            no block yet'
      : `tip            ${tip.height} ${tip.index_block_hash}, ${new Date(tip.block_time * 1000).toISOString()}, bitcoin block ${tip.burn_block_height}`,
    `transactions   ${transactions}`,
    `pending        ${pending}`,
    `orphaned       ${orphaned_blocks} blocks`,
    `index          ${megabytes(index_bytes)}`,
    journal === null
      ? 'journal        none'
      : `journal        ${journal.events} events, ${megabytes(journal.bytes)}, ${standing(journal)}`,
  ];
}

function standing({ fits, behind }: NonNullable<DirectoryStatus['journal']>): string {
  if (!fits) return 'not the journal of this index: stackside serve says what to do';
  return behind === 0 ? 'index up to date' : `index ${behind} behind`;
}

/** Prints the status of a data directory. @param json whether as JSON */
export function reportStatus(directory: string, json: boolean): void {
  const status = directoryStatus(directory);
  process.stdout.write(json ? `${JSON.stringify(status)}\n` : `${lines(status).join('\n')}\n`);
}

/** Accepts the journal of a data directory as it is, and prints what it lacks. */
export function reportAcceptedJournal(directory: string): void {
  const { gap, setAside } = acceptJournal(directory);
  if (setAside !== null) process.stdout.write(`The journal that was here is at ${setAside} now.\n`);
  process.stdout.write(
    `The journal lacks the events from ${gap.first} to ${gap.last}, and goes on after them. The index can not be made from it.\n`,
  );
}
