/** Images of a crash at every moment that matters: copies of the files before and after each commit. */
import { Database } from 'bun:sqlite';
import { copyFileSync, existsSync } from 'node:fs';
import { indexPath, journalPath } from '../../../src/store/files/database.ts';
import { type DataDirectory, dataDirectory } from './data-directory.ts';

/** Copies the files, as a crash would leave them now, to a new directory. */
export function image(directory: string): DataDirectory {
  const copy = dataDirectory();
  for (const path of [indexPath, journalPath]) {
    for (const suffix of ['', '-wal']) {
      if (existsSync(path(directory) + suffix)) copyFileSync(path(directory) + suffix, path(copy.path) + suffix);
    }
  }
  return copy;
}

/** Runs `action`, and takes an image before and after every commit that it makes on the way. */
export async function imagesAtCommits(directory: string, action: () => unknown): Promise<DataDirectory[]> {
  const images: DataDirectory[] = [];
  const run = Database.prototype.run;
  Database.prototype.run = function (this: Database, ...parameters: Parameters<typeof run>) {
    if (parameters[0] !== 'COMMIT') return run.apply(this, parameters);
    images.push(image(directory));
    const changes = run.apply(this, parameters);
    images.push(image(directory));
    return changes;
  } as typeof run;
  try {
    await action();
  } finally {
    Database.prototype.run = run;
  }
  return images;
}
