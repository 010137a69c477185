/** Where paths lead, whatever links and `..` are in them. */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** A path without links; names that nothing has stay as they are. */
function withoutLinks(path: string): string {
  const whole = resolve(path);
  return existsSync(whole) ? realpathSync(whole) : join(withoutLinks(dirname(whole)), basename(whole));
}

/** Whether two paths lead to one file or directory. */
export const isSamePlace = (a: string, b: string): boolean => withoutLinks(a) === withoutLinks(b);

/** Whether a path leads to a directory, or to something inside it; neither has to exist. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(withoutLinks(directory), withoutLinks(path));
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
