/** Settings that are gone. Who still gives one relies on what it did, and is told what there is instead. */
import { OperatorError } from '../base/errors.ts';
import { yesOrNo } from './values.ts';

/** The flag by which servers and imports kept no journal. */
export const NO_JOURNAL = '--no-journal';

const refusal = (given: string): OperatorError =>
  new OperatorError(
    `${given} is given, but the journal is always kept.`,
    'Omit it; to save disk space, give --journal-keep.',
  );

/**
 * Refuses that no journal is kept.
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
