/** Where an export may be written. */
import { OperatorError } from '../../base/errors.ts';
import { isSamePlace } from '../../base/paths.ts';
import { indexPath, journalPath } from '../../store/files/database.ts';

/** Refuses a file in the place of one of the databases that are exported. @throws OperatorError */
export function requireNoDatabase(file: string, directory: string): void {
  if (![indexPath(directory), journalPath(directory)].some((path) => isSamePlace(file, path))) return;
  throw new OperatorError(
    `${file} is the place of a database of the data directory.`,
    'Give the path of another file.',
  );
}
