/** The output of `stackside check`, also with `--node`, and of `stackside status`. */
import { existsSync } from 'node:fs';
import type { HostsState } from '../../api/stackside/server.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { withoutCredentials } from '../../base/credentials.ts';
import { TemporaryError } from '../../base/errors.ts';
import { durationInWords, plural } from '../../base/format.ts';
import { chainIdText } from '../../chain/network.ts';
import { toHex } from '../../codec/hex.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { type CommonBlock, comparison, differenceText, type KindReport } from '../../node/comparison.ts';
import { type NodeRpc, NodeUnreachableError } from '../../node/rpc.ts';
import { checkDirectory } from '../../store/check/check.ts';
import type { CheckWatch } from '../../store/check/checks.ts';
import { type TableSize, tableSizes } from '../../store/check/tables.ts';
import { indexPath, journalPath, requireIndex } from '../../store/files/database.ts';
import { openWholeJournal, positionOfFile, requireJournal } from '../../store/files/journal-link.ts';
import { type DirectoryStatus, directoryStatus } from '../../store/files/status.ts';
import { ChainReplacedError } from '../../store/model/read-errors.ts';
import { openSnapshots, type Snapshots } from '../../store/read/snapshots.ts';
import { requestHostState, requestReadiness, type ServerReadiness } from '../cli/client.ts';
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

/** Makes the printer of a check. @param json whether it prints JSON */
export const checkWatch = (json: boolean): PrintingWatch => (json ? jsonWatch() : textWatch());

/** Checks a data directory, and prints the findings. @returns whether there are none */
export function reportCheck(directory: string, { json, deep }: { json: boolean; deep: boolean }): boolean {
  const kind = deep ? { deep: silentMachine } : {};
  const results = checkDirectory(directory, { ...kind, watch: checkWatch(json) });
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
    `orphaned       ${plural(orphaned_blocks, 'block')}`,
    `index          ${megabytes(index_bytes)}${missingIndexesText(missing_indexes)}`,
    journal === null
      ? 'journal        missing'
      : `journal        ${plural(journal.events, 'entry')}, ${megabytes(journal.bytes)}, ${lagText(journal)}`,
  ];
}

const missingIndexesText = (indexes: number): string =>
  indexes === 0 ? '' : `, without ${indexes} of its indexes until the import or the next start has made them`;

function lagText({ fits, behind }: NonNullable<DirectoryStatus['journal']>): string {
  if (!fits) return 'not the journal of this index';
  return behind === 0 ? 'index up to date' : `index ${behind} behind`;
}

function serverLines(url: string, server: ServerReadiness | 'late' | null): string[] {
  if (server === null)
    return [`server         no Stackside answers at ${withoutCredentials(url)}; if it has another address, set --url`];
  if (server === 'late')
    return [`server         ${withoutCredentials(url)} did not answer in time; read that server's log`];
  const { state, reason, next, observer } = server;
  const section = observer === null ? [] : ['', ...observer.trimEnd().split('\n'), ''];
  return [`server         ${stateText(state, reason)}`, `next           ${next}`, ...section];
}

/** Returns which host of its cluster the server is, how far it is behind the shared log, and which host delivers. */
function clusterLines(host: HostsState['host']): string[] {
  if (host === null) return [];
  const { name, entry, head, lag_seconds: lag, reachable, deliveries } = host;
  const behind = `${Math.max(0, (head ?? entry) - entry)} behind for ${durationInWords(Math.ceil(lag))}`;
  const position = lag === 0 && head !== null ? 'up to date' : behind;
  const holder = deliveries?.holder ?? null;
  return [
    `cluster        host ${name}, entry ${entry}, ${reachable ? position : 'the shared log accepts nothing'}`,
    ...(deliveries === null ? [] : [`deliveries     ${holder === null ? 'no known host' : `host ${holder}`}`]),
  ];
}

/** Requires the journal of an index, which exists. @throws OperatorError if it is missing, or belongs to another index */
export function requireOwnJournal(directory: string): void {
  const position = positionOfFile(indexPath(directory));
  if (position !== null) requireJournal(directory, position);
  if (existsSync(journalPath(directory))) openWholeJournal(directory).close();
}

/**
 * Prints the state of the server at a URL and the status of a data directory. @param json whether as JSON
 * @throws OperatorError if neither a server nor an index is found; after it has printed, if the index lacks its journal,
 *   or the journal its index
 */
export async function reportStatus(
  { url, data }: { url: string; data: string },
  json: boolean,
  clock: Clock = systemClock,
): Promise<void> {
  const server = await requestReadiness(url, clock);
  const cluster = server === null || server === 'late' ? null : await requestHostState(url, clock);
  // A server that answers may have another data directory than the command's default.
  const status = server === null || existsSync(indexPath(data)) ? directoryStatus(data) : null;
  const hasJournal = existsSync(journalPath(data));
  const text = json
    ? JSON.stringify({ server: server === 'late' ? null : server, cluster, ...status })
    : [
        ...serverLines(url, server),
        ...clusterLines(cluster),
        ...(status === null ? [] : statusLines(status)),
        ...(status === null && !hasJournal
          ? [`data           no index in ${data}: give the server's directory with --data`]
          : []),
      ].join('\n');
  process.stdout.write(`${text}\n`);
  if (status !== null) requireOwnJournal(data);
  else if (hasJournal) requireIndex(data);
}

export interface CheckNodeOptions {
  /** Number of facts of each kind; all of them if omitted. */
  sample?: number;
  /** Requests to the node each second. */
  rate: number;
  clock: Clock;
}

/** Maximum number of blocks to sample, since some kinds of facts are rare. */
const MAX_SAMPLED_BLOCKS = 20_000;

/** Maximum number of times a comparison restarts because a fork orphaned its block. */
const MAX_FORKS = 10;

/** Compares at one block. @throws ChainReplacedError, NodeUnreachableError, OperatorError */
async function compareOnce(
  snapshots: Snapshots,
  node: NodeRpc,
  { sample, rate, clock }: CheckNodeOptions,
  progress: (text: string) => void,
): Promise<{ block: CommonBlock; reports: KindReport[] } | null> {
  const { common, compare } = comparison(snapshots, node, { rate, clock });
  const block = await common();
  if (block === null) return null;
  const limits = sample === undefined ? {} : { limit: sample, lowest: block.height - MAX_SAMPLED_BLOCKS };
  const reports = await compare(block, limits, (count, kind) =>
    progress(`compared ${count} values at block ${block.height}: ${kind}`),
  );
  return { block, reports };
}

function problemsOf({ differences, differing }: KindReport): string[] {
  const rest = differing - differences.length;
  return [...differences.map(differenceText), ...(rest === 0 ? [] : [`and ${rest} more`])];
}

function nameOf({ kind, compared, unanswered }: KindReport): string {
  const others = [...unanswered].map(([reason, count]) => `${count} not compared (${reason})`);
  return [`${kind}: ${compared} compared`, ...others].join(', ');
}

/**
 * Compares the index of a data directory with a node. The findings have a line for each kind of facts.
 * @returns whether nothing differs
 * @throws OperatorError if the node follows another chain; TemporaryError if the node doesn't answer or is behind
 */
export async function checkAgainstNode(
  directory: string,
  node: NodeRpc,
  options: CheckNodeOptions,
  watch: Pick<PrintingWatch, 'found' | 'reading'>,
): Promise<boolean> {
  requireIndex(directory);
  const snapshots = openSnapshots(directory);
  try {
    const comparison = await repeatOnFork(() => compareOnce(snapshots, node, options, watch.reading));
    if (comparison === null) {
      throw new TemporaryError(
        "The index doesn't contain a block yet.",
        'Run the command again once the node has sent one.',
      );
    }
    const { block, reports } = comparison;
    for (const report of reports) watch.found({ name: nameOf(report), problems: problemsOf(report) });
    watch.found({ name: placeText(block), problems: [] });
    if (reports.some(({ differing }) => differing > 0)) return false;
    if (!block.isBehind) return true;
    throw new TemporaryError(
      `The node is behind: it lacks the newest ${plural(block.blocksAbove, 'block')} of the index.`,
      'Run the command again once the node has caught up.',
    );
  } catch (error) {
    if (!(error instanceof NodeUnreachableError)) throw error;
    throw new TemporaryError(
      `The index can't be compared with the node at ${node.location}: ${error.message}.`,
      'Start the node, or name the URL of its RPC interface with --node-rpc.',
      { cause: error },
    );
  } finally {
    snapshots.close();
  }
}

const placeText = ({ height, hash, blocksAbove, isBehind }: CommonBlock): string =>
  `compared at block ${height} (${toHex(hash)})${
    blocksAbove === 0 || isBehind ? '' : `; the node abandoned the branch of ${plural(blocksAbove, 'block')} above it`
  }`;

/** Repeats a comparison while forks orphan its block. */
async function repeatOnFork<T>(compare: () => Promise<T>): Promise<T> {
  for (let forks = 0; ; forks++) {
    try {
      return await compare();
    } catch (error) {
      if (!(error instanceof ChainReplacedError)) throw error;
      if (forks < MAX_FORKS) continue;
      throw new TemporaryError(
        `${MAX_FORKS} forks happened during the comparison.`,
        'Repeat the command, with a smaller --sample.',
        { cause: error },
      );
    }
  }
}
