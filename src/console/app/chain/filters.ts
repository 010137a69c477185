/** Filters of lists of transactions: texts in the query of a page's URL, conditions of the API, and descriptions. */
import type { paths } from '../api/openapi.d.ts';
import { DAY, shortPrincipal, toMicroStx, visible } from './format.ts';
import { contractMistake, principalMistake } from './path-mistake.ts';
import { kindOf, STATUSES } from './transaction.ts';

/** The API's conditions on transactions. Pending transactions support a subset. */
type Conditions = Omit<
  NonNullable<paths['/stackside/v1/transactions']['get']['parameters']['query']>,
  'limit' | 'cursor' | 'principal'
>;

/** The conditions of a filter's text, or a text that describes its mistake. */
type Meaning = Conditions | string;

type Choices = readonly (readonly [value: string, text: string])[];

interface Filter {
  label: string;
  input: 'text' | 'day' | Choices;
  placeholder?: string;
  meaning(text: string): Meaning;
  /** Returns the text for people (default: the filter's text). */
  words?(text: string): string;
}

const TYPES = [
  'token_transfer',
  'contract_call',
  'smart_contract',
  'tenure_change',
  'coinbase',
  'poison_microblock',
] as const;

const STATUS_CHOICES: Readonly<Record<string, NonNullable<Conditions['status']>>> = {
  success: ['success'],
  failed: ['abort_by_response', 'abort_by_post_condition', 'problematic_skipped'],
  abort_by_response: ['abort_by_response'],
  abort_by_post_condition: ['abort_by_post_condition'],
  problematic_skipped: ['problematic_skipped'],
};

const STATUS_WORDS: Readonly<Record<string, string>> = {
  failed: 'Failed, for any reason',
  abort_by_response: 'Failed: the contract returned an error',
};

const statusWords = (choice: string): string => STATUS_WORDS[choice] ?? STATUSES[choice as keyof typeof STATUSES];

const choiceMistake = (choices: Choices, text: string): string =>
  `“${text}” is none of ${choices.map(([value]) => value).join(', ')}.`;

const typeChoices = TYPES.map((type) => [type, kindOf(type)] as const);
const statusChoices = Object.keys(STATUS_CHOICES).map((choice) => [choice, statusWords(choice)] as const);

const amountMeaning =
  (member: 'min_amount' | 'max_amount') =>
  (text: string): Meaning => {
    const amount = toMicroStx(text);
    return amount === null
      ? `“${text}” is not an amount of STX with up to 6 decimals, such as 1,234.5.`
      : { [member]: amount };
  };

/** Returns the start of a day in UTC, in Unix seconds; null if the day doesn't exist. */
function dayStart(text: string): number | null {
  const milliseconds = Date.parse(text);
  // Browsers read February 31 as March 3.
  const isDay = milliseconds >= 0 && new Date(milliseconds).toISOString().slice(0, 10) === text;
  return isDay ? milliseconds / 1000 : null;
}

const dayMeaning =
  (condition: (start: number) => Conditions) =>
  (text: string): Meaning => {
    const start = dayStart(text);
    return start === null ? `“${text}” is not a day such as 2026-01-31.` : condition(start);
  };

const MAX_NAME = 128;

const FILTERS = {
  type: {
    label: 'Type',
    input: typeChoices,
    meaning(text) {
      const type = TYPES.find((name) => name === text);
      return type === undefined ? choiceMistake(typeChoices, text) : { type: [type] };
    },
    words: (text) => kindOf(text as (typeof TYPES)[number]),
  },
  status: {
    label: 'Status',
    input: statusChoices,
    meaning(text) {
      const status = Object.hasOwn(STATUS_CHOICES, text) ? STATUS_CHOICES[text] : undefined;
      return status === undefined ? choiceMistake(statusChoices, text) : { status };
    },
    words: statusWords,
  },
  sender: {
    label: 'Sender',
    input: 'text',
    placeholder: 'SP…',
    meaning: (sender) => principalMistake(sender, false) ?? { sender },
    words: shortPrincipal,
  },
  recipient: {
    label: 'Recipient of STX',
    input: 'text',
    placeholder: 'SP… or SP….contract',
    meaning: (recipient) => principalMistake(recipient, true) ?? { recipient },
    words: shortPrincipal,
  },
  contract: {
    label: 'Called contract',
    input: 'text',
    placeholder: 'SP….contract',
    meaning: (contract) => contractMistake(contract) ?? { contract_id: contract },
    words: shortPrincipal,
  },
  function: {
    label: 'Function',
    input: 'text',
    placeholder: 'transfer',
    meaning: (name) => (name.length > MAX_NAME ? 'A function’s name can’t be that long.' : { function_name: name }),
    words: visible,
  },
  min: { label: 'STX sent, at least', input: 'text', placeholder: '1.5', meaning: amountMeaning('min_amount') },
  max: { label: 'STX sent, at most', input: 'text', placeholder: '1000', meaning: amountMeaning('max_amount') },
  from: { label: 'From day (UTC)', input: 'day', meaning: dayMeaning((start) => ({ from_time: start })) },
  to: { label: 'To day (UTC)', input: 'day', meaning: dayMeaning((start) => ({ to_time: start + DAY - 1 })) },
} as const satisfies Readonly<Record<string, Filter>>;

export type FilterName = keyof typeof FILTERS;

/** Filters of transactions of the chain. */
export const CHAIN_FILTERS = Object.keys(FILTERS) as FilterName[];
/** Filters of pending transactions, which have neither a status nor a block. */
export const PENDING_FILTERS = CHAIN_FILTERS.filter((name) => !['status', 'from', 'to'].includes(name));

/**
 * Returns the filters in the query of a page, each with its words and its mistake, and the conditions for the API.
 * @param names of the filters that the list has
 */
export function parseFilters(query: URLSearchParams, names: readonly FilterName[]) {
  const conditions: Conditions = {};
  const filters = names.map((name) => {
    const filter: Filter = FILTERS[name];
    const { label, input, placeholder, words = String } = filter;
    const text = query.get(name)?.trim() ?? '';
    const meaning = text === '' ? {} : filter.meaning(text);
    if (typeof meaning !== 'string') Object.assign(conditions, meaning);
    const mistake = typeof meaning === 'string' ? `${label}: ${meaning}` : null;
    const inWords = `${label}: ${mistake === null && text !== '' ? words(text) : visible(text)}`;
    return { name, label, input, placeholder, text, mistake, words: inWords };
  });
  const { from_time: from = 0, to_time: to = Number.POSITIVE_INFINITY } = conditions;
  const last = filters.find(({ name }) => name === 'to');
  if (from > to && last !== undefined) last.mistake = `${last.label}: The last day is before the first one.`;
  const isValid = filters.every(({ mistake }) => mistake === null);
  // With an invalid filter, no request is made.
  return { filters, isActive: filters.some(({ text }) => text !== ''), conditions: isValid ? conditions : null };
}

export type ChosenFilters = ReturnType<typeof parseFilters>;
