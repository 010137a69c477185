/**
 * Marks a data directory whose files are being made, by a restore or by a fill from an earlier block: in a staging directory
 * inside it, whose marker exists from before the first byte until the files are moved.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';

/** The commands that make a data directory, with the names of their markers and what an operator calls their work. */
const makers = {
  restore: {
    marker: 'manifest.json',
    work: 'A restore',
    another: 'A restore of another archive, or to another entry,',
    command: 'stackside restore',
  },
  fill: {
    marker: 'fill.json',
    work: 'A fill from an earlier block',
    another: 'A fill from another block, or of other data,',
    command: 'stackside fill --from',
  },
} as const;

export type Maker = keyof typeof makers;

/** The staging directory, inside the data directory. */
export const stagingOf = (directory: string, maker: Maker): string => join(directory, maker);
/** Path of the marker, which says what is being made: the archive with the
 * last entry, or the beginning of a fill. */
export const markerPath = (directory: string, maker: Maker): string =>
  join(stagingOf(directory, maker), makers[maker].marker);

/** The error for a directory in which the same command makes something else. */
export const anotherIsMade = (directory: string, maker: Maker): OperatorError =>
  new OperatorError(
    `${makers[maker].another} into ${directory} is not finished.`,
    'Go on with what was begun, or remove the directory to begin anew.',
  );

export const isUnfinished = (directory: string, maker: Maker): boolean => existsSync(markerPath(directory, maker));

/** @throws OperatorError where a restore or a fill into the directory is not finished */
export function requireFinished(directory: string): void {
  for (const [maker, { work, command }] of Object.entries(makers)) {
    if (!isUnfinished(directory, maker as Maker)) continue;
    throw new OperatorError(
      `${work} into ${directory} was begun and is not finished.`,
      `Run ${command} again, which goes on where it broke off; or remove the directory to begin anew.`,
    );
  }
}
