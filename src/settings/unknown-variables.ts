/** Variables that look like settings and are none: a typing mistake that would go unnoticed. */
import { nearestName } from '../base/nearest-name.ts';
import { ownVariables } from './describe.ts';

const PREFIX = 'STACKSIDE_';

/** Variables of the tests, which the program inherits when a test runs it. The contributors' page names each. */
export const testVariables: readonly string[] = ['STACKSIDE_BINARY', 'STACKSIDE_RUNS', 'STACKSIDE_SEED'];

/** Variables of `stackside/test`, which a server that the same tests start inherits. */
export const testSupportVariables: readonly string[] = ['STACKSIDE_EXECUTABLE'];

/** The most similar of the variables, by what follows the prefix; null where none is similar. */
function nearest(name: string, names: readonly string[]): string | null {
  const words = names.map((known) => known.slice(PREFIX.length));
  const word = nearestName(name.slice(PREFIX.length), words);
  return word === null ? null : (names[words.indexOf(word)] ?? null);
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
