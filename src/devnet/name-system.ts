import { clarity } from '../codec/clarity-encode.ts';
import { MAX_UINT } from '../codec/clarity-integers.ts';
import { hash160 } from '../codec/hash.ts';
import { utf8Bytes } from '../codec/utf8.ts';
import type { CallContext, Outcome, WorldView } from './contract.ts';

/**
 * State and prints of the simulated boot contract `bns`. Leases never end, and the caller decides the price by the
 * amount that it burns.
 */

/** Full name, as text: `alice.btc`. */
export type FullName = string;

/** Returns the salt of a simulated user's preorder. It is derived from the sender, so it isn't stored. */
export const saltOf = (sender: string, name: string): Uint8Array => hash160(utf8Bytes(`${sender} salts ${name}`));

/** Returns the hash in a preorder: the hash of a name or namespace, and a salt. */
const preorderHash = (name: string, salt: Uint8Array): Uint8Array =>
  hash160(new Uint8Array([...utf8Bytes(name), ...salt]));

const buffer = (text: string): Uint8Array => clarity.buffer(utf8Bytes(text));

export function splitName(name: FullName): { label: string; namespace: string } {
  const [label = '', namespace = ''] = name.split('.');
  return { label, namespace };
}

/** Returns the token value of a name. */
function tokenOf(name: FullName): Uint8Array {
  const { label, namespace } = splitName(name);
  return clarity.tuple({ name: buffer(label), namespace: buffer(namespace) });
}

const assetOf = (contract: string): string => `${contract}::names`;

/** Returns an error outcome. Errors of this contract are signed integers. */
export const refused = (code: number): Outcome => ({ ok: false, result: clarity.err(clarity.int(code)), events: [] });

export const errors = {
  namespaceNotPreordered: 1001,
  namespaceUnknown: 1005,
  namespaceExists: 1006,
  notImporter: 1011,
  namespaceBurntTooLittle: 1012,
  namespaceBlank: 1013,
  launched: 1014,
  namespaceInvalidCharacters: 1016,
  notPreordered: 2001,
  unavailable: 2004,
  notOwner: 2006,
  burntTooLittle: 2007,
  alreadyPreordered: 2016,
  invalidCharacters: 2022,
  hasAnother: 3001,
  poor: 4001,
} as const;

/** Keys in the contract's storage. */
const key = {
  preorder: (buyer: string, hash: Uint8Array) => `preorder ${buyer} ${hash.toHex()}`,
  namespace: (namespace: string) => `namespace ${namespace}`,
  terms: (namespace: string) => `terms ${namespace}`,
  owned: (owner: string) => `owned ${owner}`,
  name: (index: number) => `name ${index}`,
  revoked: (name: FullName) => `revoked ${name}`,
  names: 'names',
  attachments: 'attachments',
  lastPreorder: 'last preorder',
} as const;

type Write = readonly [key: string, value: string];

const countOf = (world: WorldView, contract: string, which: string): number =>
  Number(world.stored(contract, which) ?? '0');

/** Returns the hash of a simulated user's preorder. */
export const ownHash = (sender: string, name: string): Uint8Array => preorderHash(name, saltOf(sender, name));

/** Returns the micro-STX burnt for an unused preorder. */
function burntFor(world: WorldView, contract: string, buyer: string, hash: Uint8Array): bigint | undefined {
  const [state, burnt = '0'] = world.stored(contract, key.preorder(buyer, hash))?.split(' ') ?? [];
  return state === 'made' ? BigInt(burnt) : undefined;
}

/** Reports whether a simulated user preordered a name or namespace with the salt of {@link saltOf}. */
export const isPreordered = (world: WorldView, contract: string, sender: string, name: string): boolean =>
  burntFor(world, contract, sender, ownHash(sender, name)) !== undefined;

interface Namespace {
  state: 'revealed' | 'ready';
  importer: string;
}

export function namespaceOf(world: WorldView, contract: string, namespace: string): Namespace | undefined {
  const [state, importer] = world.stored(contract, key.namespace(namespace))?.split(' ') ?? [];
  return (state === 'revealed' || state === 'ready') && importer !== undefined ? { state, importer } : undefined;
}

const storedNamespace = (namespace: string, { state, importer }: Namespace): Write => [
  key.namespace(namespace),
  `${state} ${importer}`,
];

export const ownerOf = ({ world, contract }: Pick<CallContext, 'world' | 'contract'>, name: FullName) =>
  world.stored(contract, key.revoked(name)) === 'yes' ? undefined : world.ownerOf(assetOf(contract), tokenOf(name));

/** Returns the number of names that were ever registered. Names are numbered from 1. */
export const namesOf = (world: WorldView, contract: string): number => countOf(world, contract, key.names);

export const nameAt = (world: WorldView, contract: string, index: number): FullName | undefined =>
  world.stored(contract, key.name(index));

/** Returns the sender of the latest preorder. */
export const lastPreorder = (world: WorldView, contract: string): string | undefined =>
  world.stored(contract, key.lastPreorder);

/** Preorders a name or namespace, and burns its price. */
export function preorder(
  { world, contract, sender, burnHeight }: CallContext,
  hash: Uint8Array,
  cost: bigint,
): Outcome {
  if (world.stored(contract, key.preorder(sender, hash)) !== undefined) return refused(errors.alreadyPreordered);
  if (world.spendable(sender, burnHeight) < cost) return refused(errors.poor);
  return {
    ok: true,
    result: clarity.ok(clarity.uint(burnHeight + 144)),
    events: [{ type: 'stx_burn_event', sender, amount: cost }],
    writes: [
      [key.preorder(sender, hash), `made ${cost}`],
      [key.lastPreorder, sender],
    ],
  };
}

/** The terms of a revealed namespace. */
export interface NamespaceTerms {
  lifetime: bigint;
  base: bigint;
  coefficient: bigint;
  exponents: readonly bigint[];
  nonalphaDiscount: bigint;
  noVowelDiscount: bigint;
}

const storedTerms = (namespace: string, terms: NamespaceTerms): Write => [
  key.terms(namespace),
  JSON.stringify(terms, (_, value) => (typeof value === 'bigint' ? `u${value}` : value)),
];

function termsOf(world: WorldView, contract: string, namespace: string): NamespaceTerms | undefined {
  const stored = world.stored(contract, key.terms(namespace));
  if (stored === undefined) return undefined;
  return JSON.parse(stored, (_, value) => (typeof value === 'string' ? BigInt(value.slice(1)) : value));
}

/** Namespace prices in micro-STX by length. The last price is for all longer namespaces. */
const NAMESPACE_PRICES = [640_000n, 64_000n, 64_000n, 6_400n, 6_400n, 6_400n, 6_400n, 640n].map(
  (stx) => stx * 1_000_000n,
);

/** Returns `get-namespace-price`, in micro-STX; null for an empty name. */
export const namespacePrice = (namespace: string): bigint | null =>
  namespace === '' ? null : NAMESPACE_PRICES[Math.min(namespace.length, NAMESPACE_PRICES.length) - 1]!;

/** Returns `get-name-price`, in micro-STX; null for an unknown namespace, and for a price above the maximum of uint. */
export function namePrice(world: WorldView, contract: string, { label, namespace }: ReturnType<typeof splitName>) {
  const terms = termsOf(world, contract, namespace);
  const exponent = terms?.exponents[Math.min(label.length, 16) - 1];
  // A power of a base above 1 with an exponent above 127 exceeds the maximum of uint.
  if (terms === undefined || exponent === undefined || (terms.base > 1n && exponent > 127n)) return null;
  const vowels = /[aeiouy]/.test(label) ? 1n : terms.noVowelDiscount;
  const letters = /[0-9_-]/.test(label) ? terms.nonalphaDiscount : 1n;
  const discount = vowels > letters ? vowels : letters;
  const power = terms.base > 1n ? terms.base ** exponent : exponent === 0n ? 1n : terms.base;
  const price = discount === 0n ? null : ((terms.coefficient * power) / discount) * 10n;
  return price === null || price > MAX_UINT ? null : price;
}

/** Reveals a preordered namespace. @param salt of the preorder */
export function reveal(
  { world, contract, sender }: CallContext,
  namespace: string,
  importer: string,
  terms: NamespaceTerms,
  salt = saltOf(sender, namespace),
): Outcome {
  const hash = preorderHash(namespace, salt);
  if (burntFor(world, contract, sender, hash) === undefined) return refused(errors.namespaceNotPreordered);
  if (namespaceOf(world, contract, namespace) !== undefined) return refused(errors.namespaceExists);
  const used: Write = [key.preorder(sender, hash), 'used'];
  const writes = [used, storedTerms(namespace, terms), storedNamespace(namespace, { state: 'revealed', importer })];
  return { ok: true, result: clarity.ok(clarity.bool(true)), events: [], writes };
}

/** Runs `namespace-reveal` for external transactions, which must burn the price. */
export function revealPaid(
  at: CallContext,
  namespace: string,
  importer: string,
  terms: NamespaceTerms,
  salt: Uint8Array,
): Outcome {
  const burnt = burntFor(at.world, at.contract, at.sender, preorderHash(namespace, salt));
  if (burnt === undefined) return refused(errors.namespaceNotPreordered);
  const price = namespacePrice(namespace);
  if (price === null) return refused(errors.namespaceBlank);
  if (hasInvalidCharacters(namespace)) return refused(errors.namespaceInvalidCharacters);
  if (burnt < price) return refused(errors.namespaceBurntTooLittle);
  return reveal(at, namespace, importer, terms, salt);
}

export function launch({ world, contract, sender }: CallContext, namespace: string): Outcome {
  const namespaceRow = namespaceOf(world, contract, namespace);
  const terms = termsOf(world, contract, namespace);
  if (namespaceRow === undefined || terms === undefined) return refused(errors.namespaceUnknown);
  if (namespaceRow.importer !== sender) return refused(errors.notImporter);
  if (namespaceRow.state === 'ready') return refused(errors.launched);
  const print = clarity.tuple({
    namespace: buffer(namespace),
    properties: clarity.tuple({
      'can-update-price-function': clarity.bool(true),
      'launched-at': clarity.none(),
      lifetime: clarity.uint(terms.lifetime),
      'namespace-import': clarity.principal(sender),
      'price-function': clarity.tuple({
        base: clarity.uint(terms.base),
        buckets: clarity.list(terms.exponents.map((exponent) => clarity.uint(exponent))),
        coeff: clarity.uint(terms.coefficient),
        'no-vowel-discount': clarity.uint(terms.noVowelDiscount),
        'nonalpha-discount': clarity.uint(terms.nonalphaDiscount),
      }),
      'revealed-at': clarity.uint(1),
    }),
    status: clarity.ascii('ready'),
  });
  return {
    ok: true,
    result: clarity.ok(clarity.bool(true)),
    events: [{ type: 'contract_event', contract, value: print }],
    writes: [storedNamespace(namespace, { ...namespaceRow, state: 'ready' })],
  };
}

/** Sets the prices as the importer may. Prints nothing. */
export function setPrices(
  { world, contract, sender }: CallContext,
  namespace: string,
  prices: Omit<NamespaceTerms, 'lifetime'>,
): Outcome {
  const namespaceRow = namespaceOf(world, contract, namespace);
  const terms = termsOf(world, contract, namespace);
  if (namespaceRow === undefined || terms === undefined) return refused(errors.namespaceUnknown);
  if (namespaceRow.importer !== sender) return refused(errors.notImporter);
  const writes = [storedTerms(namespace, { ...terms, ...prices })];
  return { ok: true, result: clarity.ok(clarity.bool(true)), events: [], writes };
}

type Operation = 'name-import' | 'name-register' | 'name-update' | 'name-transfer' | 'name-renewal' | 'name-revoke';

/** A zonefile, or only its hash. Peers exchange zonefiles with known content. */
type Zonefile = { readonly content: string } | { readonly hash: Uint8Array };

/** Returns the contract's print for an operation, with its zonefile as an attachment. */
function attached(
  { world, contract, sender }: CallContext,
  operation: Operation,
  name: FullName,
  zonefile: Zonefile | undefined,
): Required<Pick<Outcome, 'events' | 'writes' | 'attachments'>> {
  const { label, namespace } = splitName(name);
  const index = countOf(world, contract, key.attachments) + 1;
  const content = zonefile === undefined || 'hash' in zonefile ? undefined : utf8Bytes(zonefile.content);
  const named = zonefile !== undefined && 'hash' in zonefile ? zonefile.hash : new Uint8Array(0);
  const hash = content === undefined ? named : hash160(content);
  const metadata = clarity.tuple({
    name: buffer(label),
    namespace: buffer(namespace),
    op: clarity.ascii(operation),
    'tx-sender': clarity.principal(sender),
  });
  const print = clarity.tuple({
    attachment: clarity.tuple({ 'attachment-index': clarity.uint(index), hash: clarity.buffer(hash), metadata }),
  });
  return {
    events: [{ type: 'contract_event', contract, value: print }],
    writes: [[key.attachments, String(index)]],
    attachments: content === undefined ? [] : [{ contract, index, hash, metadata, content }],
  };
}

const done = (...parts: Required<Pick<Outcome, 'events' | 'writes' | 'attachments'>>[]): Outcome => ({
  ok: true,
  result: clarity.ok(clarity.bool(true)),
  events: parts.flatMap(({ events }) => events),
  writes: parts.flatMap(({ writes }) => writes),
  attachments: parts.flatMap(({ attachments }) => attachments),
});

/** Assigns a free name. */
function given(
  { world, contract }: CallContext,
  name: FullName,
  owner: string,
  more: readonly Write[] = [],
): Required<Pick<Outcome, 'events' | 'writes' | 'attachments'>> {
  const count = namesOf(world, contract) + 1;
  const mint = { type: 'nft_mint_event', asset: assetOf(contract), recipient: owner, value: tokenOf(name) } as const;
  const writes = [...more, [key.names, String(count)], [key.name(count), name], [key.owned(owner), name]] as const;
  return { events: [mint], writes, attachments: [] };
}

export function importName(context: CallContext, name: FullName, beneficiary: string, zonefile: Zonefile): Outcome {
  const { world, contract, sender } = context;
  const parts = splitName(name);
  const namespace = namespaceOf(world, contract, parts.namespace);
  if (hasInvalidCharacters(parts.label)) return refused(errors.invalidCharacters);
  if (namespace === undefined) return refused(errors.namespaceUnknown);
  if (namespace.state === 'ready') return refused(errors.launched);
  if (namespace.importer !== sender) return refused(errors.notImporter);
  if (world.ownerOf(assetOf(contract), tokenOf(name)) !== undefined) return refused(errors.unavailable);
  return done(given(context, name, beneficiary), attached(context, 'name-import', name, zonefile));
}

/** Reports whether a name in a launched namespace has no owner (`can-name-be-registered`). */
export const isFree = (at: Pick<CallContext, 'world' | 'contract'>, name: FullName): boolean =>
  namespaceOf(at.world, at.contract, splitName(name).namespace)?.state === 'ready' &&
  at.world.ownerOf(assetOf(at.contract), tokenOf(name)) === undefined;

export const hasInvalidCharacters = (label: string): boolean => !/^[a-z0-9_-]*$/.test(label);

/** Returns the name of an owner, unless it was revoked. */
function nameOf({ world, contract }: Pick<CallContext, 'world' | 'contract'>, owner: string): FullName | undefined {
  const name = world.stored(contract, key.owned(owner));
  return name !== undefined && ownerOf({ world, contract }, name) === owner ? name : undefined;
}

/** Registers a preordered name. @param salt of the preorder */
export function register(
  context: CallContext,
  name: FullName,
  zonefile: Zonefile,
  salt = saltOf(context.sender, name),
): Outcome {
  const { world, contract, sender } = context;
  if (namespaceOf(world, contract, splitName(name).namespace) === undefined) return refused(errors.namespaceUnknown);
  const hash = preorderHash(name, salt);
  if (burntFor(world, contract, sender, hash) === undefined) return refused(errors.notPreordered);
  if (!isFree(context, name)) return refused(errors.unavailable);
  const used: Write = [key.preorder(sender, hash), 'used'];
  return done(given(context, name, sender, [used]), attached(context, 'name-register', name, zonefile));
}

/** Runs `name-register` for external transactions, which must burn the price. A sender may own only one name. */
export function registerPaid(context: CallContext, name: FullName, zonefile: Zonefile, salt: Uint8Array): Outcome {
  const { world, contract, sender } = context;
  const parts = splitName(name);
  if (hasInvalidCharacters(parts.label) || parts.label === '') return refused(errors.invalidCharacters);
  const burnt = burntFor(world, contract, sender, preorderHash(name, salt));
  // Without a preorder, or in an unknown namespace, the registration is refused below.
  const isKnown = burnt !== undefined && namespaceOf(world, contract, parts.namespace) !== undefined;
  if (isKnown && burnt < (namePrice(world, contract, parts) ?? MAX_UINT)) return refused(errors.burntTooLittle);
  if (nameOf(context, sender) !== undefined) return refused(errors.hasAnother);
  return register(context, name, zonefile, salt);
}

export function update(context: CallContext, name: FullName, zonefile: Zonefile): Outcome {
  if (ownerOf(context, name) !== context.sender) return refused(errors.notOwner);
  return done(attached(context, 'name-update', name, zonefile));
}

export function transfer(
  context: CallContext,
  name: FullName,
  recipient: string,
  zonefile: Zonefile | undefined,
): Outcome {
  const { contract, sender } = context;
  if (ownerOf(context, name) !== sender || recipient === sender) return refused(errors.notOwner);
  const value = tokenOf(name);
  const moved = { type: 'nft_transfer_event', asset: assetOf(contract), sender, recipient, value } as const;
  const token = { events: [moved], writes: [[key.owned(recipient), name] as const], attachments: [] };
  return done(token, attached(context, 'name-transfer', name, zonefile));
}

/** Runs `name-transfer` for external transactions: an owner of a name can't receive another name. */
export const transferToNameless = (
  context: CallContext,
  name: FullName,
  recipient: string,
  zonefile: Zonefile | undefined,
): Outcome =>
  ownerOf(context, name) === context.sender && nameOf(context, recipient) !== undefined
    ? refused(errors.hasAnother)
    : transfer(context, name, recipient, zonefile);

/** Runs `name-renewal` for external transactions, which must burn the price. */
export function renewPaid(context: CallContext, name: FullName, cost: bigint, zonefile: Zonefile | undefined): Outcome {
  const { world, contract } = context;
  const parts = splitName(name);
  const terms = termsOf(world, contract, parts.namespace);
  if (terms === undefined) return refused(errors.namespaceUnknown);
  if (terms.lifetime === 0n || ownerOf(context, name) !== context.sender) return refused(errors.notOwner);
  if (cost < (namePrice(world, contract, parts) ?? MAX_UINT)) return refused(errors.burntTooLittle);
  return renew(context, name, cost, zonefile);
}

/** Renews a name. Prints only if there is a new zonefile. */
export function renew(context: CallContext, name: FullName, cost: bigint, zonefile: Zonefile | undefined): Outcome {
  const { world, sender, burnHeight } = context;
  if (ownerOf(context, name) !== sender) return refused(errors.notOwner);
  if (world.spendable(sender, burnHeight) < cost) return refused(errors.poor);
  const burnt = { events: [{ type: 'stx_burn_event', sender, amount: cost } as const], writes: [], attachments: [] };
  return zonefile === undefined ? done(burnt) : done(burnt, attached(context, 'name-renewal', name, zonefile));
}

/** Revokes a name. Its token stays with the owner. */
export function revoke(context: CallContext, name: FullName): Outcome {
  if (ownerOf(context, name) !== context.sender) return refused(errors.notOwner);
  const revocation = { events: [], writes: [[key.revoked(name), 'yes'] as const], attachments: [] };
  return done(revocation, attached(context, 'name-revoke', name, undefined));
}
