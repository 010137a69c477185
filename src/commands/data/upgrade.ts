/** `stackside status --upgrade`: how this program would upgrade the files of a data directory. */

import { EXIT } from '../../base/errors.ts';
import { type UpgradePlan, upgradePlan } from '../../store/files/status.ts';
import { sizeText } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';

/** The task of the operator before this program can serve the directory. */
type Duty = 'none' | 'newer-program' | 'import';

export interface UpgradeReport extends UpgradePlan {
  program: string;
  duty: Duty;
}

function dutyOf({ index, journal }: UpgradePlan): Duty {
  const fates = [index.fate, journal?.fate];
  if (fates.includes('newer')) return 'newer-program';
  return fates.includes('unreleased') ? 'import' : 'none';
}

/**
 * Returns how this program would upgrade a directory.
 * @throws OperatorError if there is no index, or a file isn't one of Stackside's
 */
export function upgradeReport(directory: string): UpgradeReport {
  const plan = upgradePlan(directory);
  return { program: serverVersion, duty: dutyOf(plan), ...plan };
}

type FilePlan = UpgradePlan['index'] | NonNullable<UpgradePlan['journal']>;

/** Returns the text about a file's upgrade at the first start. @param what `schema` or `version` */
function fateText(what: string, { version, known, fate }: FilePlan): string {
  switch (fate) {
    case 'made':
      return 'the file is empty: the first start makes the index';
    case 'used':
      return `${what} ${version} stays`;
    case 'upgraded':
      return `${what} ${version} becomes ${known} at the first start, which takes some seconds for each GB`;
    case 'unreleased':
      return `${what} ${version} was written by an unreleased version`;
    case 'newer':
      return `${what} ${version} was written by a newer version; this one supports ${known}`;
  }
}

/** Returns the instructions. */
function dutyText({ duty, journal }: UpgradeReport): string {
  switch (duty) {
    case 'none':
      return 'You only need to restart: stop the old program, and start this one.';
    case 'newer-program':
      return journal?.fate === 'newer'
        ? 'Run the newer program, or restore an archive with this one.'
        : 'Run the newer program, or run stackside rebuild with this one.';
    case 'import':
      return 'Run stackside export with the executable that made the files, and stackside import into a new directory with this one.';
  }
}

function lines(report: UpgradeReport): string[] {
  const { program, index, journal } = report;
  return [
    `program  ${program}`,
    `index    ${sizeText(index.bytes)}: ${fateText('schema', index)}`,
    `journal  ${journal === null ? 'none' : `${sizeText(journal.bytes)}: ${fateText('version', journal)}`}`,
    '',
    dutyText(report),
  ];
}

/** Prints the report. Sets the exit code if the operator has to act first. */
export function reportUpgrade(directory: string, json: boolean): void {
  const report = upgradeReport(directory);
  process.stdout.write(json ? `${JSON.stringify(report)}\n` : `${lines(report).join('\n')}\n`);
  if (report.duty !== 'none') process.exitCode = EXIT.found;
}
