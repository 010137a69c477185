/** Variables that look like settings and are none: a typing mistake that would go unnoticed. */
import { ownVariables } from './describe.ts';

const PREFIX = 'STACKSIDE_';

/** Variables of the tests, which the program inherits when a test runs it. The contributors' page names each. */
export const testVariables: readonly string[] = ['STACKSIDE_BINARY', 'STACKSIDE_RUNS', 'STACKSIDE_SEED'];

/** Variables of `stackside/test`, which a server that the same tests start inherits. */
export const testSupportVariables: readonly string[] = ['STACKSIDE_EXECUTABLE'];

/** The edit distance: how many letters must be added, removed or replaced to turn one word into the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The share of a name that may differ for it to count as a misspelling. */
const LARGEST_SHARE = 0.4;

/** The most similar of the names; null where none is similar. */
function nearest(name: string, names: readonly string[]): string | null {
  const word = name.slice(PREFIX.length);
  const ranked = names
    .map((known) => ({ known, far: distance(word, known.slice(PREFIX.length)) }))
    .toSorted((a, b) => a.far - b.far);
  const [best] = ranked;
  return best === undefined || best.far > word.length * LARGEST_SHARE ? null : best.known;
}

export interface UnknownVariable {
  variable: string;
  /** The variable that was probably meant; null where none is similar. */
  nearest: string | null;
}

/** The variables that begin as Stackside's do, and that nothing reads. */
export function unknownVariables(environment: NodeJS.ProcessEnv): UnknownVariable[] {
  const own = ownVariables();
  const known = new Set([...own, ...testVariables, ...testSupportVariables]);
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name))
    .toSorted()
    .map((variable) => ({ variable, nearest: nearest(variable, own) }));
}

/** The warning about such a variable. */
export const unknownVariableText = ({ variable, nearest: meant }: UnknownVariable): string =>
  `${variable} is not a setting and has no effect.${meant === null ? '' : ` Did you mean ${meant}?`}`;
