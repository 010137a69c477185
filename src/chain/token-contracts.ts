/**
 * Token contracts, recognised by their interfaces: fungible (SIP-010), non-fungible (SIP-009) and semi-fungible tokens
 * (SIP-013); their mints, and the notifications that metadata changed (SIP-019).
 */
import { parsedJson } from '../base/json.ts';
import { type AbiFunction, contractFunctions } from '../codec/abi.ts';
import { assetContractOf, splitPrincipal } from '../codec/address.ts';
import { type ClarityValue, clarityValueOf, MAX_UINT } from '../codec/clarity.ts';
import { strictText } from '../codec/utf8.ts';
import type { ChainEvent } from './block.ts';
import { type Tuple, tupleOf } from './pox/print.ts';

const tokenFamilies = ['ft', 'nft', 'sft'] as const;
export type TokenFamily = (typeof tokenFamilies)[number];

/** The id of a fungible token, which is the contract's only token. */
export const FT_TOKEN = 1n;

export interface TokenContract {
  family: TokenFamily;
  /** Fungible tokens: name of the first asset that the contract declares; null for other families. */
  asset: string | null;
}

/** Types of arguments, in order: a plain type by its name, a compound type by its kind. */
type Arguments = readonly string[];

const uint = 'uint128';

/** The functions that each standard requires. If several standards fit, the first one wins. */
const standards: readonly { family: TokenFamily; functions: Readonly<Record<string, Arguments>> }[] = [
  {
    family: 'sft',
    functions: {
      'get-balance': [uint, 'principal'],
      'get-overall-balance': ['principal'],
      'get-total-supply': [uint],
      'get-overall-supply': [],
      'get-decimals': [uint],
      'get-token-uri': [uint],
      transfer: [uint, uint, 'principal', 'principal'],
      'transfer-memo': [uint, uint, 'principal', 'principal', 'buffer'],
    },
  },
  {
    family: 'nft',
    functions: {
      'get-last-token-id': [],
      'get-token-uri': [uint],
      'get-owner': [uint],
      transfer: [uint, 'principal', 'principal'],
    },
  },
  {
    family: 'ft',
    functions: {
      transfer: [uint, 'principal', 'principal', 'optional'],
      'get-name': [],
      'get-symbol': [],
      'get-decimals': [],
      'get-balance': ['principal'],
      'get-total-supply': [],
      'get-token-uri': [],
    },
  },
];

/** Returns the name of a plain type, or the kind of a compound type. */
function typeName(type: unknown): string {
  if (typeof type === 'string') return type;
  return typeof type === 'object' && type !== null ? (Object.keys(type)[0] ?? '') : '';
}

/** Reports whether a function takes these types. Access, results and names of arguments don't count. */
const takes = (declared: AbiFunction | undefined, types: Arguments): boolean =>
  declared !== undefined &&
  declared.args.length === types.length &&
  declared.args.every(({ type }, index) => typeName(type) === types[index]);

/** Returns the name of the first item of a list in an interface; null if there is none. */
function firstName(list: unknown): string | null {
  const [first]: unknown[] = Array.isArray(list) ? list : [];
  return typeof first === 'object' && first !== null && 'name' in first && typeof first.name === 'string'
    ? first.name
    : null;
}

/**
 * Returns the token family and the asset of a contract; null if it isn't a token contract.
 * @param json the node's `contract_interface`
 */
export function tokenContract(json: string): TokenContract | null {
  const functions = contractFunctions(json);
  const match = standards.find((standard) =>
    Object.entries(standard.functions).every(([name, types]) => takes(functions.get(name), types)),
  );
  if (match === undefined) return null;
  const { family } = match;
  if (family === 'sft') return { family, asset: null };
  const abi = parsedJson(json) as Record<string, unknown>;
  if (family === 'nft') return firstName(abi.non_fungible_tokens) === null ? null : { family, asset: null };
  const asset = firstName(abi.fungible_tokens);
  return asset === null ? null : { family, asset };
}

/** Announced ways of future metadata changes (SIP-019). */
const updateModes = ['standard', 'frozen', 'dynamic'] as const;
export type UpdateMode = (typeof updateModes)[number];

export interface MetadataUpdate {
  contract: string;
  /** Token ids; null for all tokens of the contract. */
  tokens: readonly bigint[] | null;
  mode: UpdateMode;
  /** Seconds until a dynamic token is read again. */
  ttl: bigint | null;
}

/** Returns the text of a value, which contracts print as ASCII, UTF-8 or a buffer. */
function textOf(value: ClarityValue | undefined): string | null {
  switch (value?.type) {
    case 'string-ascii':
    case 'string-utf8':
      return value.value;
    case 'buffer':
      return strictText(value.value);
    default:
      return null;
  }
}

const NOTIFICATION = 'token-metadata-update';
const SFT_MINT = 'sft_mint';

/** Reports whether the bytes contain a text. Decoding each print would take much longer. */
const hasText = ({ buffer, byteOffset, byteLength }: Uint8Array, text: string): boolean =>
  Buffer.from(buffer, byteOffset, byteLength).includes(text);

function decodePrint(event: ChainEvent, text: string): Tuple | null {
  if (event.kind !== 'contract_log' || event.topic !== 'print' || !hasText(event.value, text)) return null;
  return tupleOf(clarityValueOf(event.value));
}

/** Returns the numbers of a list, each once; null for an empty list, and for anything else. */
function numbersOf(value: ClarityValue | undefined): bigint[] | null {
  if (value?.type !== 'list' || value.value.length === 0) return null;
  const numbers = new Set<bigint>();
  for (const item of value.value) {
    if (item.type !== 'uint' && item.type !== 'int') return null;
    if (item.value >= 0n && item.value <= MAX_UINT) numbers.add(item.value);
  }
  return [...numbers];
}

function parseMode(value: ClarityValue | undefined): UpdateMode | undefined {
  if (value === undefined) return 'standard';
  const text = textOf(value);
  return updateModes.find((mode) => mode === text);
}

/** Reads a notification. @param sender of the transaction, which may notify of its own contracts through any other */
function parseUpdate(event: ChainEvent, sender: string): MetadataUpdate | null {
  const print = decodePrint(event, NOTIFICATION);
  if (print === null || textOf(print.get('notification')) !== NOTIFICATION) return null;
  const payload = tupleOf(print.get('payload'));
  const contractId = payload?.get('contract-id');
  const contract = contractId?.type === 'principal' ? contractId.value : textOf(contractId);
  const kind = textOf(payload?.get('token-class'));
  const mode = parseMode(payload?.get('update-mode'));
  if (!payload || contract === null || mode === undefined || (kind !== 'ft' && kind !== 'nft')) return null;
  const isOwn = event.kind === 'contract_log' && event.contractId === contract;
  if (!isOwn && splitPrincipal(contract).address !== sender) return null;
  const ttl = payload.get('ttl');
  return {
    contract,
    tokens: kind === 'nft' ? numbersOf(payload.get('token-ids')) : null,
    mode,
    ttl: mode === 'dynamic' && ttl?.type === 'uint' ? ttl.value : null,
  };
}

export interface TokenMint {
  contract: string;
  family: 'nft' | 'sft';
  token: bigint;
}

function parseMint(event: ChainEvent): TokenMint | null {
  if (event.kind === 'nft') {
    if (event.action !== 'mint') return null;
    const token = clarityValueOf(event.value);
    return token?.type === 'uint'
      ? { contract: assetContractOf(event.asset), family: 'nft', token: token.value }
      : null;
  }
  const print = decodePrint(event, SFT_MINT);
  if (event.kind !== 'contract_log' || print === null || textOf(print.get('type')) !== SFT_MINT) return null;
  const [token, amount, recipient] = [print.get('token-id'), print.get('amount'), print.get('recipient')];
  if (token?.type !== 'uint' || amount?.type !== 'uint') return null;
  if (recipient?.type !== 'principal' && textOf(recipient) === null) return null;
  return { contract: event.contractId, family: 'sft', token: token.value };
}

/** Returns the mint or the notification in an event of a successful transaction. @param sender of the transaction */
export function tokenNews(event: ChainEvent, sender: string): TokenMint | MetadataUpdate | null {
  return parseMint(event) ?? parseUpdate(event, sender);
}
