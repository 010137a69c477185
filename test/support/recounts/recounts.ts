/** All recounts of an index, which tests use as an oracle. */
import { Database } from 'bun:sqlite';
import { type CheckOptions, checkDirectory, valueIndexProblems } from '../../../src/store/check/check.ts';
import type { CheckResult } from '../../../src/store/check/checks.ts';
import { indexPath } from '../../../src/store/files/database.ts';
import { addressChecks } from './addresses.ts';
import { bnsCheck } from './bns-names.ts';
import { checkpointCheck } from './checkpoints.ts';
import { copyChecks, countChecks } from './counts.ts';
import { namePartCheck } from './name-parts.ts';
import { nameChecks } from './names.ts';
import type { Recount } from './recount.ts';
import { stackingChecks, stakingChecks } from './staking.ts';
import { tokenMetadataChecks } from './token-metadata.ts';
import { tokenChecks } from './tokens.ts';

export const recounts: readonly Recount[] = [
  ...countChecks,
  ...copyChecks,
  ...tokenChecks,
  ...tokenMetadataChecks,
  ...stackingChecks,
  ...stakingChecks,
  ...addressChecks,
  checkpointCheck,
  ...nameChecks,
  bnsCheck,
  namePartCheck,
  { name: 'decoded values of logs and calls', find: valueIndexProblems },
];

/** Checks a data directory as `stackside check` does, and recounts every derived number of its index. */
export function checkAndRecount(directory: string, options: CheckOptions = {}): CheckResult[] {
  const checked = checkDirectory(directory, options);
  using db = new Database(indexPath(directory), { readonly: true });
  return [...checked, ...recounts.map(({ name, find }) => ({ name, problems: [...find(db)] }))];
}

/** Returns the problems that {@link checkAndRecount} finds, each with the name of its check. */
export const problemsIn = (directory: string, options: CheckOptions = {}): string[] =>
  checkAndRecount(directory, options).flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));
