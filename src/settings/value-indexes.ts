/** Settings of the indexes by which logs and calls of contracts are found by their decoded values. */
import { Type } from '@sinclair/typebox';
import { canonicalPrincipal } from '../codec/address.ts';
import { isWithin } from '../codec/clarity-fields.ts';
import type { ValueIndexChoice } from '../store/model/value-index.ts';
import { group, servers, setting } from './setting.ts';

/** What is asked for in a text such as `SP….name:field`. Names in contracts hold no colon. */
function choiceOf(text: string): { contract: string; scope: string } | null {
  const [name = '', scope = '', ...rest] = text.split(':');
  const contract = canonicalPrincipal(name);
  const isWhole = rest.length === 0 && (scope !== '' || !text.includes(':'));
  if (contract === null || !contract.includes('.') || !isWhole) return null;
  return { contract, scope };
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

function valueIndex(declared: { flag: string; variable: `STACKSIDE_${string}`; help: string; accepts: string }) {
  const { flag, variable, help, accepts } = declared;
  return setting({
    commands: servers,
    flag,
    repeatable: true,
    variables: [variable],
    type: Type.String({ default: '' }),
    read: (text) => (wordsOf(text).every((word) => choiceOf(word) !== null) ? text : null),
    absent: 'none',
    help: `${help}; the flag may be repeated`,
    accepts,
  });
}

export const valueIndexSettings = group('Logs and calls by decoded values', {
  logIndex: valueIndex({
    flag: '--log-index <contract[:field]>',
    variable: 'STACKSIDE_LOG_INDEX',
    help: 'Contract whose logs can be asked for by decoded values: by all fields of what it prints, or by one field with what is inside it',
    accepts:
      'a contract identifier, or one with a field such as SP000000000000000000002Q6VF78.pox-4:data.amount; several are separated by blanks',
  }),
  callIndex: valueIndex({
    flag: '--call-index <contract[:function]>',
    variable: 'STACKSIDE_CALL_INDEX',
    help: 'Contract whose calls can be asked for by their arguments: those of all functions, or of one',
    accepts:
      'a contract identifier, or one with a function such as SP000000000000000000002Q6VF78.pox-4:stack-stx; several are separated by blanks',
  }),
});

/** The indexes of decoded values that the settings ask for; what another one holds is left out. */
export function valueIndexesIn(settings: { logIndex: string; callIndex: string }): ValueIndexChoice[] {
  const asked = (subject: ValueIndexChoice['subject'], text: string): ValueIndexChoice[] => {
    const choices = wordsOf(text)
      .map(choiceOf)
      .filter((choice) => choice !== null);
    const isHeld = (one: (typeof choices)[number], place: number): boolean =>
      choices.some(
        (other, at) =>
          at !== place &&
          other.contract === one.contract &&
          isWithin(one.scope, other.scope) &&
          (other.scope !== one.scope || at < place),
      );
    return choices.filter((one, place) => !isHeld(one, place)).map((one) => ({ subject, ...one }));
  };
  return [...asked('logs', settings.logIndex), ...asked('calls', settings.callIndex)];
}
