/** Whether the index is what its events say: SQLite's own check, and every derived number against a recount. */
import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { indexPath, openReader } from '../files/database.ts';
import { indexPlace, type Place } from '../files/journal-link.ts';
import { checkAddresses } from './addresses.ts';
import { checkCheckpoints } from './checkpoints.ts';
import { checkCopies } from './copies.ts';
import { checkCounts } from './counts.ts';
import { checkIndexSchema, checkJournal, checkPages } from './files.ts';
import { checkNames } from './names.ts';
import { type CheckResult, examinedAll } from './result.ts';
import { checkStacking } from './stacking.ts';
import { checkStaking } from './staking.ts';
import { checkTables } from './tables.ts';
import { checkTokens } from './tokens.ts';

/** Everything that is recounted, by kind. */
const recounts: Readonly<Record<string, (db: Database) => CheckResult[]>> = {
  'counts, balances and totals': checkCounts,
  'copies of addresses and identifiers': checkCopies,
  tokens: checkTokens,
  stacking: checkStacking,
  staking: checkStaking,
  'lists of addresses': checkAddresses,
  checkpoints: checkCheckpoints,
  names: checkNames,
};

function checkWholeIndex(directory: string): { results: CheckResult[]; place: Place | null } {
  const pages = checkPages(indexPath(directory), 'index');
  if (pages.problems.length > 0) return { results: [pages], place: null };
  using db = openReader(directory);
  db.run('BEGIN');
  const schema = checkIndexSchema(db);
  if (schema.problems.length > 0) return { results: [pages, schema], place: null };
  const recounted = Object.entries(recounts).flatMap(([name, recount]) => examinedAll(name, () => recount(db)));
  return { results: [pages, schema, ...recounted], place: indexPlace(db).current() };
}

/**
 * Checks a data directory, in one snapshot; the writer may go on meanwhile. What is damaged so that it can't be read is
 * not looked into any further.
 * @param options.deep every row too, against an index that is made of the journal beside it
 * @throws OperatorError where there is no index, or one of another version
 */
export function checkDirectory(directory: string, { deep = false } = {}): CheckResult[] {
  if (!existsSync(indexPath(directory))) openReader(directory).close();
  const { results, place } = checkWholeIndex(directory);
  results.push(...checkJournal(directory, place));
  const readable = place !== null && results.every(({ problems }) => problems.length === 0);
  return deep && readable ? [...results, ...checkTables(directory)] : results;
}
