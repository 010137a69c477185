/** Unknown variables and flags: typing mistakes, which would otherwise go unnoticed, and a removed setting. */

import { OperatorError } from '../base/errors.ts';
import { nearestName } from '../base/nearest-name.ts';
import { ownVariables } from './describe.ts';
import { yesOrNo } from './setting.ts';

const PREFIX = 'STACKSIDE_';

/** Variables of the tests, which the program inherits when a test runs it. The contributors' page names each. */
export const testVariables: readonly string[] = [
  'STACKSIDE_BINARY',
  'STACKSIDE_RUNS',
  'STACKSIDE_SEED',
  'STACKSIDE_TEST_CLARITY',
];

/** Variables of `stackside/test`, which a server that the same tests start inherits. */
export const testSupportVariables: readonly string[] = ['STACKSIDE_EXECUTABLE'];

/** The most similar variable, compared without the prefix; null if none is similar. */
function nearest(name: string, names: readonly string[]): string | null {
  const words = names.map((known) => known.slice(PREFIX.length));
  const word = nearestName(name.slice(PREFIX.length), words);
  return word === null ? null : (names[words.indexOf(word)] ?? null);
}

export interface UnknownVariable {
  variable: string;
  /** The variable that was probably meant; null if none is similar. */
  nearest: string | null;
}

/** The variables with Stackside's prefix that nothing reads. */
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

/** The removed flag by which servers and imports kept no journal. */
export const NO_JOURNAL = '--no-journal';

const refusal = (given: string): OperatorError =>
  new OperatorError(
    `${given} is given, but the journal is always kept.`,
    'Omit it; to save disk space, give --journal-keep.',
  );

/**
 * Refuses the removed flag.
 * @param flag whether the flag was given
 * @throws OperatorError
 */
export function requireJournal(flag: boolean, environment: NodeJS.ProcessEnv): void {
  if (flag) throw refusal(NO_JOURNAL);
  for (const name of ['STACKSIDE_JOURNAL', 'STACKS_API_STORE_RAW_EVENTS']) {
    const text = environment[name] ?? '';
    if (yesOrNo(text) === false) throw refusal(`${name}=${text}`);
  }
}
