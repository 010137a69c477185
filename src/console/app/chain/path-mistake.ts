/** Descriptions of invalid values in the path of a page. */

import { MAINNET_CHAIN_ID } from '../../../chain/network.ts';
import { ADDRESS_PATTERN, CONTRACT_NAME_PATTERN, parseStacksAddress } from '../../../codec/address.ts';
import type { PageName } from '../../page-paths.ts';

const HASH = '(0x)?[0-9a-fA-F]{64}';

interface Kind {
  param: string;
  name: string;
  looks: string;
  form: RegExp;
  /** Whether a value starts with an address, up to its first dot. */
  hasAddress?: boolean;
}

const block: Kind = {
  param: 'id',
  name: 'block',
  looks: 'A block is named by its height, by a hash of 64 hexadecimal digits, or by the word latest.',
  form: new RegExp(`^([0-9]{1,10}|latest|${HASH})$`),
};
const fork: Kind = {
  param: 'hash',
  name: 'block hash',
  looks: 'The hash of a block has 64 hexadecimal digits.',
  form: new RegExp(`^${HASH}$`),
};
const asset: Kind = {
  param: 'asset',
  name: 'token',
  looks: 'A token is named by its contract, two colons and its name: SP….contract::token.',
  form: new RegExp(`^${ADDRESS_PATTERN}\\.${CONTRACT_NAME_PATTERN}::[^:]+$`),
  hasAddress: true,
};

const address: Kind = {
  param: 'id',
  name: 'Stacks address',
  looks: 'An address begins with SP, SM, ST or SN, and has 28 to 41 digits and capital letters without I, L, O and U.',
  form: new RegExp(`^${ADDRESS_PATTERN}$`),
  hasAddress: true,
};
const contract: Kind = {
  param: 'id',
  name: 'contract',
  looks: 'A contract is named by the address that deployed it, a dot and its name: SP….contract.',
  form: new RegExp(`^${ADDRESS_PATTERN}\\.${CONTRACT_NAME_PATTERN}$`),
  hasAddress: true,
};

const hook: Kind = {
  param: 'id',
  name: 'chainhook id',
  looks: 'The id of a chainhook has 32 hexadecimal digits in five groups with hyphens.',
  form: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
};

/** The kinds of values by page. Other pages accept any text. */
const KINDS: Partial<Record<PageName, Kind>> = {
  block,
  fork,
  bitcoinBlock: { ...block, name: 'Bitcoin block' },
  bitcoinAddress: {
    param: 'address',
    name: 'Bitcoin address',
    looks: 'A Bitcoin address begins with 1, 3, m, n, 2, bc1, tb1 or bcrt1.',
    form: /^([13mn2][1-9A-HJ-NP-Za-km-z]{25,34}|(bc|tb|bcrt)1[02-9ac-hj-np-z]{6,87})$/,
  },
  transaction: {
    param: 'id',
    name: 'transaction id',
    looks: 'The id of a transaction has 64 hexadecimal digits.',
    form: new RegExp(`^${HASH}$`),
  },
  principal: address,
  contract,
  token: asset,
  nft: asset,
  hook,
  editHook: hook,
  delivery: hook,
};

function mistakeOf({ name, looks, form, hasAddress = false }: Kind, value: string): string | null {
  if (!form.test(value)) return `This is not a valid ${name}: ${value}. ${looks}`;
  const [ownAddress = ''] = value.split('.');
  return hasAddress && parseStacksAddress(ownAddress) === null
    ? `This is not a valid Stacks address: ${ownAddress}. Its checksum is wrong, so a character may be mistyped.`
    : null;
}

/** Describes an invalid value in a page's path, such as an address with a wrong checksum; null if all are valid. */
export function pathMistake(page: PageName, params: Readonly<Record<string, string>>): string | null {
  const kind = KINDS[page];
  return kind === undefined ? null : mistakeOf(kind, params[kind.param] ?? '');
}

/** Describes an invalid contract identifier; returns null if it is valid. */
export const contractMistake = (text: string): string | null => mistakeOf(contract, text);

/** Describes an invalid address; null if it is valid. @param orContract whether a contract is also valid */
export const principalMistake = (text: string, orContract: boolean): string | null =>
  orContract && text.includes('.') ? contractMistake(text) : mistakeOf(address, text);

/** Describes a principal of another network than the chain; returns null if it fits, or the chain isn't known yet. */
export function networkMistake(principal: string, chainId: number | null): string | null {
  const isMainnet = chainId === MAINNET_CHAIN_ID;
  if (chainId === null || /^S[PM]/.test(principal) === isMainnet) return null;
  const [addressNetwork, ownNetwork] = isMainnet ? ['testnet', 'mainnet'] : ['mainnet', 'a testnet'];
  return `This is an address of ${addressNetwork}, and this server has the chain of ${ownNetwork}.`;
}
