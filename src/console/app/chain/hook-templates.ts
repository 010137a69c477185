/** Filters for starting a chainhook: about the shown object, or general ones. */
import { BOOT_ADDRESS } from '../../../codec/address.ts';
import { toHex } from '../../../codec/hex.ts';
import { utf8Bytes } from '../../../codec/utf8.ts';
import type { FilterType } from '../../../hooks/definition/filter-schemas.ts';
import type { Draft, FilterValues } from './hook-definition.ts';

interface Template {
  title: string;
  /** The kind of the watched object; missing if the template has none. */
  about?: 'account' | 'contract' | 'token' | 'collection' | 'name';
  /**
   * Returns the filters.
   * @param subject the identifier of the watched object; empty if the user enters it in the form
   * @param network `mainnet` or `testnet`
   */
  filters: (subject: string, network: string) => readonly FilterValues[];
}

/** Returns a filter without its empty fields. */
const filter = (type: FilterType, fields: Readonly<Record<string, string | readonly string[]>> = {}): FilterValues => ({
  type,
  ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')),
});

const FAILURES = ['abort_by_response', 'abort_by_post_condition', 'problematic_skipped'];

/** 1,000 STX, in micro-STX. */
const LARGE = '1000000000';

/** Returns a part of a name in hex, as the name system prints it. */
const printedHex = (part: string): string => toHex(utf8Bytes(part));

/** Returns the text in the name system's prints for operations on a name. @param name as `alice.btc` */
function nameInPrints(name: string): string {
  const point = name.lastIndexOf('.');
  if (point === -1) return '';
  return `(name ${printedHex(name.slice(0, point))}) (namespace ${printedHex(name.slice(point + 1))})`;
}

export const templates = {
  transfers: { title: 'Large transfers of STX', filters: () => [filter('stx_transfer', { min_amount: LARGE })] },
  account: {
    title: 'Balance of an account',
    about: 'account',
    filters: (principal) => [filter('balance_change', { principal })],
  },
  received: { title: 'STX received', about: 'account', filters: (receiver) => [filter('stx_transfer', { receiver })] },
  contract: {
    title: 'Calls and logs of a contract',
    about: 'contract',
    filters: (contract) => [
      filter('contract_call', { contract_identifier: contract }),
      filter('contract_log', { contract_identifier: contract }),
    ],
  },
  failures: {
    title: 'Failed calls of a contract',
    about: 'contract',
    filters: (contract) => [filter('contract_call', { contract_identifier: contract, status: FAILURES })],
  },
  token: {
    title: 'Moves of a token',
    about: 'token',
    filters: (asset) => [filter('ft_event', { asset_identifier: asset })],
  },
  collection: {
    title: 'Moves in a collection',
    about: 'collection',
    filters: (asset) => [filter('nft_event', { asset_identifier: asset })],
  },
  name: {
    title: 'A name',
    about: 'name',
    filters: (name, network) => [
      filter('contract_log', {
        contract_identifier: `${BOOT_ADDRESS[network === 'mainnet' ? 'mainnet' : 'testnet']}.bns`,
        contains: nameInPrints(name),
      }),
    ],
  },
  deployments: { title: 'New contracts', filters: () => [filter('contract_deploy', { status: ['success'] })] },
} as const satisfies Readonly<Record<string, Template>>;

const EMPTY: Template = { title: '', filters: () => [filter('stx_transfer')] };

export type TemplateName = keyof typeof templates;

/** Returns the name of a template in the URL of the editor; null for other texts. */
export const templateOf = (name: string | null): TemplateName | null =>
  name !== null && Object.hasOwn(templates, name) ? (name as TemplateName) : null;

/** Reports whether two templates watch the same kind of object, so that the object stays when the user changes the template. */
export function isAboutSame(one: TemplateName | null, other: TemplateName): boolean {
  const kindOf = (name: TemplateName): Template['about'] => (templates[name] as Template).about;
  return one !== null && kindOf(one) !== undefined && kindOf(one) === kindOf(other);
}

/**
 * Returns a draft from a template.
 * @param name null for an empty draft
 * @param subject the identifier of the watched object; empty if the user enters it in the form
 * @param url of the receiver, as an example
 */
export function makeDraft(name: TemplateName | null, subject: string, network: string, url: string): Draft {
  const { title, filters }: Template = name === null ? EMPTY : templates[name];
  return {
    name: name === null || subject === '' ? title : `${title}: ${subject}`,
    version: '1',
    chain: 'stacks',
    network,
    filters: { events: [...filters(subject, network)] },
    options: { enable_on_registration: true, decode_clarity_values: true },
    action: { type: 'http_post', url },
  };
}
