/** The output of `stackside check` and `stackside status`. */
import { existsSync } from 'node:fs';
import { type Clock, systemClock } from '../../base/clock.ts';
import { chainIdText } from '../../chain/network.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { checkDirectory } from '../../store/check/check.ts';
import type { CheckWatch } from '../../store/check/checks.ts';
import { type TableSize, tableSizes } from '../../store/check/tables.ts';
import { indexPath } from '../../store/files/database.ts';
import { type DirectoryStatus, directoryStatus } from '../../store/files/status.ts';
import { requestReadiness, type ServerReadiness } from '../cli/client.ts';
import type { OutputFormat } from '../cli/command.ts';
import { writeNow } from '../cli/output.ts';
import { progressLines } from '../cli/progress.ts';
import type { CheckLine, TableLine } from '../serve/own-processes.ts';
import { stateText } from '../terminal/pretty-log.ts';

/** Prints findings at once. */
export interface PrintingWatch extends CheckWatch {
  /** Prints the name of the input, for work without a known size. */
  reading(what: string): void;
}

/** Prints for people, with progress on stderr. */
function textWatch(): PrintingWatch {
  const progress = progressLines(process.stderr);
  const print = (outcome: string, name: string, problems: readonly string[] = []) => {
    progress.erase();
    process.stdout.write(`${outcome} ${name}\n`);
    for (const problem of problems) process.stdout.write(`        ${problem}\n`);
  };
  return {
    at: (name, { number, of }, detail) =>
      progress.draw(() => `check ${number} of ${of}: ${name}${detail === '' ? '' : `, ${detail}`}`),
    found: ({ name, problems }) => print(problems.length === 0 ? 'ok     ' : 'DIFFERS', name, problems),
    reading: (what) => progress.draw(() => what),
  };
}

/** Prints JSON lines: findings, beginnings of steps, and every few seconds the progress of a long step. */
function jsonWatch(): PrintingWatch {
  const progress = progressLines({ write: (text: string) => writeNow(text) });
  return {
    at(name, step, detail) {
      const line: CheckLine = { at: { ...step, name, detail } };
      if (detail === '') printJson(line);
      else progress.draw(() => JSON.stringify(line));
    },
    found: (checkResult) => printJson({ found: checkResult }),
    reading: (name) => progress.draw(() => JSON.stringify({ at: { number: 0, of: 0, name, detail: '' } })),
  };
}

/** Makes the printer of a check in a format. */
export const checkWatch = (format: OutputFormat): PrintingWatch => (format === 'json' ? jsonWatch() : textWatch());

/** Checks a data directory, and prints the findings. @returns whether there are none */
export function reportCheck(directory: string, { format, deep }: { deep: boolean; format: OutputFormat }): boolean {
  const kind = deep ? { deep: silentMachine } : {};
  const results = checkDirectory(directory, { ...kind, watch: checkWatch(format) });
  return results.every(({ problems }) => problems.length === 0);
}

/** Prints a line of JSON at once, since these commands don't yield to the event loop before they end. */
const printJson = (line: CheckLine | TableLine): void => writeNow(`${JSON.stringify(line)}\n`);

/** Prints the sizes of tables and indexes, the largest first. @param json whether to print each as JSON when it is measured */
export function reportTables(directory: string, json: boolean): void {
  const progress = progressLines(process.stderr);
  const sizes: TableSize[] = [];
  const measured = tableSizes(directory, (step) => {
    if (json) printJson({ at: { ...step, detail: '' } });
    else progress.draw(() => `${step.number} of ${step.of}: ${step.name}`);
  });
  for (const tableSize of measured) {
    if (json) printJson({ found: tableSize });
    sizes.push(tableSize);
  }
  if (json) return;
  progress.erase();
  const width = Math.max(0, ...sizes.map(({ name }) => name.length));
  for (const { name, kind, table, bytes } of sizes.sort((a, b) => b.bytes - a.bytes)) {
    const suffix = kind === 'index' ? `  index of ${table}` : '';
    process.stdout.write(`${name.padEnd(width)}  ${megabytes(bytes).padStart(12)}${suffix}\n`);
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function statusLines(status: DirectoryStatus): string[] {
  const { chain_id, tip, history_from, transactions, pending, orphaned_blocks, journal, index_bytes, missing_indexes } =
    status;
  return [
    `chain          ${chain_id === null ? 'unknown' : chainIdText(chain_id)}`,
    tip === null
      ? 'tip            no block yet'
      : `tip            ${tip.height} ${tip.index_block_hash}, ${new Date(tip.block_time * 1000).toISOString()}, bitcoin block ${tip.burn_block_height}`,
    ...(history_from === null ? [] : [`history        from block ${history_from}`]),
    `transactions   ${transactions}`,
    `pending        ${pending}`,
    `orphaned       ${orphaned_blocks} blocks`,
    `index          ${megabytes(index_bytes)}${missingIndexesText(missing_indexes)}`,
    journal === null
      ? 'journal        missing'
      : `journal        ${journal.events} events, ${megabytes(journal.bytes)}, ${lagText(journal)}`,
  ];
}

const missingIndexesText = (indexes: number): string =>
  indexes === 0 ? '' : `, without ${indexes} of its indexes until the import or the next start has made them`;

function lagText({ fits, behind }: NonNullable<DirectoryStatus['journal']>): string {
  if (!fits) return 'not the journal of this index: stackside serve shows the remedy';
  return behind === 0 ? 'index up to date' : `index ${behind} behind`;
}

function serverLines(url: string, server: ServerReadiness | 'late' | null): string[] {
  if (server === null) return [`server         no Stackside answers at ${url}; if it has another address, set --url`];
  if (server === 'late') return [`server         ${url} did not answer in time; read that server's log`];
  const { state, reason, next, observer } = server;
  const section = observer === null ? [] : ['', ...observer.trimEnd().split('\n'), ''];
  return [`server         ${stateText(state, reason)}`, `next           ${next}`, ...section];
}

/**
 * Prints the state of the server at a URL and the status of a data directory. @param json whether as JSON
 * @throws OperatorError if neither a server nor an index is found
 */
export async function reportStatus(
  { url, data }: { url: string; data: string },
  json: boolean,
  clock: Clock = systemClock,
): Promise<void> {
  const server = await requestReadiness(url, clock);
  // A server that answers may have another data directory than the command's default.
  const status = server === null || existsSync(indexPath(data)) ? directoryStatus(data) : null;
  const text = json
    ? JSON.stringify({ server: server === 'late' ? null : server, ...status })
    : [
        ...serverLines(url, server),
        ...(status === null
          ? [`data           no index in ${data}: give the server's directory with --data`]
          : statusLines(status)),
      ].join('\n');
  process.stdout.write(`${text}\n`);
}
