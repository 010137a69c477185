/** `stackside upgrade --check`: how this program would upgrade the files of a data directory. */

import { EXIT } from '../../base/errors.ts';
import { type UpgradePlan, upgradePlan } from '../../store/files/status.ts';
import type { OutputFormat } from '../cli/command.ts';
import { spanText } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import rates from './rebuild-rates.json' with { type: 'json' };

/** What the operator must do before this program can serve the directory. */
type Duty = 'none' | 'rebuild' | 'newer-program' | 'import';

export interface UpgradeReport extends UpgradePlan {
  program: string;
  duty: Duty;
  /** Estimated cost of the rebuild; null if none is needed, or none is possible. */
  rebuild: RebuildCost | null;
}

function dutyOf({ index, journal }: UpgradePlan): Duty {
  if (journal?.fate === 'refused') return 'newer-program';
  if (index.fate === 'refused') return 'newer-program';
  if (index.fate !== 'rebuilt' && journal?.fate !== 'renewed') return 'none';
  return journal === null || journal.lacksEvents ? 'import' : 'rebuild';
}

/** @throws OperatorError if there is no index, or a file is of another kind */
export function upgradeReport(directory: string): UpgradeReport {
  const plan = upgradePlan(directory);
  const duty = dutyOf(plan);
  const rebuild = duty === 'rebuild' ? rebuildCost(plan.journal?.bytes ?? 0) : null;
  return { program: serverVersion, duty, rebuild, ...plan };
}

function size(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** A duration, rounded to the precision of an estimate. */
const roughly = (seconds: number): string =>
  seconds < 60 ? 'less than a minute' : `about ${spanText(rounded(seconds))}`;

/** Rounds to two digits, then up to minutes. */
const rounded = (seconds: number): number => Math.ceil(Number(seconds.toPrecision(2)) / 60) * 60;

function indexLine({ version, known, fate }: UpgradePlan['index']): string {
  switch (fate) {
    case 'made':
      return 'the file is empty: the first start makes the index';
    case 'used':
      return `schema ${version} stays`;
    case 'upgraded':
      return `schema ${version} becomes ${known} at the first start, which takes some seconds for each GB`;
    case 'rebuilt':
      return 'the file was made before version 0.1.0: the index must be rebuilt from the journal';
    case 'refused':
      return `schema ${version} was written by a newer program; this one knows ${known}`;
  }
}

function journalLine(journal: UpgradePlan['journal']): string {
  if (journal === null) return 'none';
  const { version, known, fate, lacksEvents } = journal;
  switch (fate) {
    case 'used':
      return `version ${version} stays${lacksEvents ? ', and lacks events' : ''}`;
    case 'renewed':
      return 'the file was made before version 0.1.0: the rebuild makes it one of this version, which reads all of it once more';
    case 'refused':
      return `version ${version} was written by a newer program; this one knows ${known}`;
  }
}

/** Instructions, one sentence per line. */
function dutyLines({ duty, rebuild, journal, freeBytes: free }: UpgradeReport): string[] {
  switch (duty) {
    case 'none':
      return ['Nothing is to be done first: stop the old program, and start this one.'];
    case 'newer-program':
      return journal?.fate === 'refused'
        ? ['Run the newer program, or restore an archive with this one.']
        : ['Run the newer program, or make an index of this one from the journal: stackside rebuild.'];
    case 'import':
      return [
        'No index can be built without a journal of all events: name the archive with the others to stackside rebuild (--archive), restore a backup, import a recording, or resync the node.',
      ];
    case 'rebuild': {
      const { seconds, indexBytes, logBytes } = rebuild!;
      const needed = indexBytes + logBytes;
      const room = free === null ? '' : `; ${size(free)} are free${free < needed ? ', which is too little' : ''}`;
      return [
        'Stop the old program, run stackside rebuild with this one, then start it.',
        `The rebuild takes ${roughly(seconds)} of one core, and ${size(needed)} beside the present files until it ends${room}.`,
      ];
    }
  }
}

function lines(report: UpgradeReport): string[] {
  const { program, index, journal } = report;
  return [
    `program  ${program}`,
    `index    ${size(index.bytes)}: ${indexLine(index)}`,
    `journal  ${journal === null ? '' : `${size(journal.bytes)}: `}${journalLine(journal)}`,
    '',
    ...dutyLines(report),
  ];
}

/** Prints the report. Sets the exit code if the operator has to act first. */
export function reportUpgrade(directory: string, format: OutputFormat): void {
  const report = upgradeReport(directory);
  process.stdout.write(format === 'json' ? `${JSON.stringify(report)}\n` : `${lines(report).join('\n')}\n`);
  if (report.duty !== 'none') process.exitCode = EXIT.found;
}

/** A part of a growing chain in the import by which costs were measured. */
export interface Growth {
  /** Number of transactions at the end of the part. */
  transactions: number;
}

/**
 * Sums the costs of transactions, each with the cost of its part of the chain.
 * @param parts in order; transactions after the last part cost as much as those in it
 * @param cost of one transaction
 */
export function sumOverGrowth<Part extends Growth>(
  parts: readonly Part[],
  transactions: number,
  cost: (part: Part) => number,
): number {
  let [done, sum] = [0, 0];
  for (const part of parts) {
    const more = Math.max(0, Math.min(part.transactions, transactions) - done);
    sum += more * cost(part);
    done += more;
  }
  return sum + (transactions - done) * cost(parts.at(-1)!);
}

export interface RebuildCost {
  /** Processor time on one core. */
  seconds: number;
  /** Bytes of the new index. */
  indexBytes: number;
  /** Maximum bytes of the write-ahead log while the new index is written. */
  logBytes: number;
}

/** Estimates a rebuild by the size of the journal in bytes. */
export function rebuildCost(journalBytes: number): RebuildCost {
  const transactions = journalBytes / rates.journal_bytes;
  return {
    seconds: sumOverGrowth(rates.parts, transactions, ({ microseconds }) => microseconds) / 1e6,
    indexBytes: transactions * rates.index_bytes,
    logBytes: LOG_BYTES,
  };
}

/** The log grows to 256 MB before it is copied into the file, plus the size of one transaction. */
const LOG_BYTES = 500_000_000;
