/**
 * The name system: the boot contract `bns` of each chain, its prints, and its calls without prints. Names and namespaces are
 * texts; the contract allows only `a` to `z`, digits, `-` and `_`.
 */
import { type ClarityValue, clarityValueOf, decodeArguments, MAX_UINT } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { strictText, utf8Bytes } from '../codec/utf8.ts';
import type { ChainEvent, ChainTransaction } from './block.ts';
import { type Tuple, tupleOf, uintOf } from './pox/print.ts';

/** The name contracts of mainnet and of all other chains. */
const NAME_CONTRACTS = ['SP000000000000000000002Q6VF78.bns', 'ST000000000000000000002AMW42H.bns'] as const;

/** Reports whether a contract identifier names the boot contract `bns` of any network. */
export const isNameContract = (contractId: string): boolean =>
  contractId === NAME_CONTRACTS[0] || contractId === NAME_CONTRACTS[1];

/** Asset identifiers of the names' non-fungible tokens. */
export const NAME_ASSETS = NAME_CONTRACTS.map((contract) => `${contract}::names`);

export const nameOperations = [
  'name-import',
  'name-register',
  'name-update',
  'name-transfer',
  'name-renewal',
  'name-revoke',
] as const;
export type NameOperationWord = (typeof nameOperations)[number];

export interface NameOperation {
  /** Full name: `alice.btc`. */
  name: string;
  namespace: string;
  operation: NameOperationWord;
  /** The caller: the owner, or the importer of the namespace. */
  sender: string;
  /** RIPEMD-160 of SHA-256 of the zonefile; null if there is none. */
  zonefileHash: Uint8Array | null;
}

/** The price function of a namespace's names; the amounts are u128. */
export interface PriceFunction {
  base: bigint;
  coefficient: bigint;
  /** Sixteen exponents, by the length of the name. */
  exponents: readonly bigint[];
  nonalphaDiscount: bigint;
  noVowelDiscount: bigint;
}

/** A change of the name system by an event or a call. */
export type NameChange = { kind: 'name'; operation: NameOperation } | NamespaceChange;

/** A launch of a namespace, or a change of its price function. */
export interface NamespaceChange {
  kind: 'namespace';
  namespace: string;
  /** Lease of a name in blocks; null if only the price function changed. */
  lifetime: number | null;
  price: PriceFunction;
}

/** The name operation of an attachment, which the attachment's metadata repeats. */
export type AttachmentMetadata = Pick<NameOperation, 'name' | 'namespace' | 'operation' | 'sender'>;

/** Maximum of served heights and lifetimes, which have 32 bits. Some namespaces have longer leases. */
export const MAX_LIFETIME = 2_147_483_647;

const textOf = (value: ClarityValue | undefined): string | null =>
  value?.type === 'buffer' ? strictText(value.value) : null;

function uintsOf(value: ClarityValue | undefined): bigint[] | null {
  if (value?.type !== 'list') return null;
  const numbers: bigint[] = [];
  for (const item of value.value) {
    if (item.type !== 'uint') return null;
    numbers.push(item.value);
  }
  return numbers;
}

function parseMetadata(fields: Tuple | null): AttachmentMetadata | null {
  const [label, namespace] = [textOf(fields?.get('name')), textOf(fields?.get('namespace'))];
  const [op, sender] = [fields?.get('op'), fields?.get('tx-sender')];
  if (label === null || namespace === null || op?.type !== 'string-ascii' || sender?.type !== 'principal') return null;
  const operation = nameOperations.find((word) => word === op.value);
  return operation === undefined ? null : { name: `${label}.${namespace}`, namespace, operation, sender: sender.value };
}

/**
 * Returns the metadata of an attachment; null if it doesn't belong to the name system. @param bytes a serialized
 * Clarity value
 */
export const attachmentMetadata = (bytes: Uint8Array): AttachmentMetadata | null =>
  parseMetadata(tupleOf(clarityValueOf(bytes)));

const ascii = (value: ClarityValue | undefined): string | null => (value?.type === 'string-ascii' ? value.value : null);

function priceFunction(numbers: readonly (bigint | null)[], exponents: readonly bigint[] | null): PriceFunction | null {
  const [base, coefficient, nonalphaDiscount, noVowelDiscount] = numbers;
  if (base == null || coefficient == null || nonalphaDiscount == null || noVowelDiscount == null) return null;
  return exponents === null ? null : { base, coefficient, exponents, nonalphaDiscount, noVowelDiscount };
}

function parseNamespace(print: Tuple): NameChange | null {
  const namespace = textOf(print.get('namespace'));
  const properties = tupleOf(print.get('properties'));
  const lifetime = uintOf(properties?.get('lifetime'));
  const fields = tupleOf(properties?.get('price-function'));
  const numbers = ['base', 'coeff', 'nonalpha-discount', 'no-vowel-discount'].map((key) => uintOf(fields?.get(key)));
  const price = priceFunction(numbers, uintsOf(fields?.get('buckets')));
  if (namespace === null || lifetime === null || price === null) return null;
  return { kind: 'namespace', namespace, lifetime: lifetime > MAX_LIFETIME ? MAX_LIFETIME : Number(lifetime), price };
}

/** Returns the change by an event; null if the event doesn't belong to the name system, or can't be read. */
export function nameChangeOf(event: ChainEvent): NameChange | null {
  if (event.kind !== 'contract_log' || event.topic !== 'print' || !isNameContract(event.contractId)) return null;
  const print = tupleOf(clarityValueOf(event.value));
  if (print === null) return null;
  if (ascii(print.get('status')) === 'ready') return parseNamespace(print);
  const attachment = tupleOf(print.get('attachment'));
  const metadata = parseMetadata(tupleOf(attachment?.get('metadata')));
  const hash = attachment?.get('hash');
  if (metadata === null || hash?.type !== 'buffer') return null;
  const zonefileHash = hash.value.length === 0 ? null : hash.value;
  return { kind: 'name', operation: { ...metadata, zonefileHash } };
}

/** Functions that never print, or print only in some cases. */
const UNPRINTED = { renewal: 'name-renewal', price: 'namespace-update-function-price' } as const;

/**
 * Returns the change by a call without a print: a renewal without a new zonefile, or new prices; null for other calls.
 */
export function unprintedChange({ status, payload, sender }: ChainTransaction): NameChange | null {
  if (status !== 'success' || payload.type !== 'contract_call' || !isNameContract(payload.contractId)) return null;
  return changeOfCall(payload.functionName, payload.functionArgs, sender.address);
}

/** Returns the change by a successful call; null if there is none. @param functionArgs count and serialized values */
export function changeOfCall(functionName: string, functionArgs: Uint8Array, sender: string): NameChange | null {
  if (functionName !== UNPRINTED.renewal && functionName !== UNPRINTED.price) return null;
  const spans = decodeArguments(functionArgs);
  if (!spans.ok) return null;
  const values = spans.value.map((span) => clarityValueOf(span) ?? undefined);
  const namespace = textOf(values[0]);
  if (namespace === null) return null;
  if (functionName === UNPRINTED.renewal) {
    // namespace, name, STX to burn, new owner (which the contract ignores), zonefile
    const label = textOf(values[1]);
    if (label === null || values.length !== 5 || values[4]?.type !== 'none') return null;
    const name = `${label}.${namespace}`;
    return { kind: 'name', operation: { name, namespace, operation: 'name-renewal', sender, zonefileHash: null } };
  }
  // namespace, base, coefficient, 16 exponents, the discounts
  const numbers = values.slice(1).map(uintOf);
  const exponents = numbers.slice(2, 18).filter((exponent) => exponent !== null);
  const price = priceFunction([numbers[0]!, numbers[1]!, numbers[18]!, numbers[19]!], exponents);
  return price === null || exponents.length !== 16 ? null : { kind: 'namespace', namespace, lifetime: null, price };
}

/** Returns the serialized token value of a name; null if the text isn't a name in a namespace. */
export function nameToken(name: string): Uint8Array | null {
  const [label, namespace, ...more] = name.split('.');
  if (!label || !namespace || more.length > 0) return null;
  const buffer = (text: string) => clarity.buffer(utf8Bytes(text));
  return clarity.tuple({ name: buffer(label), namespace: buffer(namespace) });
}

/** Returns the name of a token value. */
export function nameOfToken(value: Uint8Array): string | null {
  const fields = tupleOf(clarityValueOf(value));
  const [label, namespace] = [textOf(fields?.get('name')), textOf(fields?.get('namespace'))];
  return label === null || namespace === null ? null : `${label}.${namespace}`;
}

/** Prices in micro-STX by length in bytes, from 1 on; all longer namespaces have the last price. */
const NAMESPACE_PRICES = [
  640_000_000_000n,
  64_000_000_000n,
  64_000_000_000n,
  6_400_000_000n,
  6_400_000_000n,
  6_400_000_000n,
  6_400_000_000n,
  640_000_000n,
] as const;
/** Maximum bytes of a namespace, and of a name without its namespace. */
const MAX_NAMESPACE = 20;
const MAX_NAME = 48;
/** A name costs this many micro-STX for each unit of its price function. */
const PER_UNIT = 10n;

/** Returns the price of a namespace in micro-STX; undefined if the text can't be a namespace's name. */
export function namespacePrice(namespace: string): bigint | undefined {
  const length = Buffer.byteLength(namespace);
  if (length === 0 || length > MAX_NAMESPACE) return undefined;
  return NAMESPACE_PRICES[Math.min(length, NAMESPACE_PRICES.length) - 1];
}

/**
 * Returns the price of a name in micro-STX; undefined if the contract's call would fail.
 * @param label the name without its namespace
 */
export function namePrice(label: string, price: PriceFunction): bigint | undefined {
  const length = Buffer.byteLength(label);
  if (length === 0 || length > MAX_NAME) return undefined;
  const exponent = price.exponents[Math.min(length, price.exponents.length) - 1];
  // An exponent above 128 overflows with any base above 1; with 0 and 1 all exponents above 0 have the same result.
  if (exponent === undefined || (exponent > 128n && price.base > 1n)) return undefined;
  const power = price.base ** (exponent > 128n ? 1n : exponent);
  const noVowel = /[aeiouy]/.test(label) ? 1n : price.noVowelDiscount;
  const nonalpha = /[0-9_-]/.test(label) ? price.nonalphaDiscount : 1n;
  const discount = noVowel > nonalpha ? noVowel : nonalpha;
  // A call of the contract fails above the largest uint.
  if (discount === 0n || power > MAX_UINT || power * price.coefficient > MAX_UINT) return undefined;
  const total = ((price.coefficient * power) / discount) * PER_UNIT;
  return total > MAX_UINT ? undefined : total;
}
