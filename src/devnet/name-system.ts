import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { clarity } from '../codec/clarity-encode.ts';
import { utf8Bytes } from '../codec/utf8.ts';
import type { CallContext, Outcome } from './contract.ts';
import type { WorldView } from './world-view.ts';

/**
 * What the name system of the chain keeps and prints (the boot contract `bns`), as far as the simulation uses it: leases
 * don't end, and prices are what the caller burns.
 */

/** A name with its namespace, as text: `alice.btc`. */
export type FullName = string;

/** RIPEMD-160 of SHA-256: the hash of zonefiles and of what is preordered. */
export const hash160 = (bytes: Uint8Array): Uint8Array => ripemd160(sha256(bytes));

/** What makes a preorder unreadable. It follows from who makes it, so that nobody has to remember it. */
export const saltOf = (sender: string, name: string): Uint8Array => hash160(utf8Bytes(`${sender} salts ${name}`));

export const preorderHash = (sender: string, name: string): Uint8Array =>
  hash160(new Uint8Array([...utf8Bytes(name), ...saltOf(sender, name)]));

export const buffer = (text: string): Uint8Array => clarity.buffer(utf8Bytes(text));

export function splitName(name: FullName): { label: string; namespace: string } {
  const [label = '', namespace = ''] = name.split('.');
  return { label, namespace };
}

/** The value of the token that is the name. */
export function tokenOf(name: FullName): Uint8Array {
  const { label, namespace } = splitName(name);
  return clarity.tuple({ name: buffer(label), namespace: buffer(namespace) });
}

export const assetOf = (contract: string): string => `${contract}::names`;

/** Errors of this contract are signed integers. */
export const refused = (code: number): Outcome => ({ ok: false, result: clarity.err(clarity.int(code)), events: [] });

export const errors = {
  namespaceUnknown: 1005,
  namespaceExists: 1006,
  namespaceNotLaunched: 1007,
  notPreordered: 1001,
  notImporter: 1011,
  launched: 1010,
  alreadyPreordered: 2002,
  unavailable: 2003,
  notOwner: 2006,
  poor: 4001,
} as const;

/** Keys of what the contract keeps. */
const key = {
  preorder: (hash: Uint8Array) => `preorder ${hash.toHex()}`,
  namespace: (namespace: string) => `namespace ${namespace}`,
  name: (index: number) => `name ${index}`,
  revoked: (name: FullName) => `revoked ${name}`,
  names: 'names',
  attachments: 'attachments',
  lastPreorder: 'last preorder',
} as const;

type Write = readonly [key: string, value: string];

const countOf = (world: WorldView, contract: string, which: string): number =>
  Number(world.stored(contract, which) ?? '0');

export const isPreordered = (world: WorldView, contract: string, sender: string, name: string): boolean =>
  world.stored(contract, key.preorder(preorderHash(sender, name))) === 'made';

export interface Namespace {
  state: 'revealed' | 'ready';
  importer: string;
}

export function namespaceOf(world: WorldView, contract: string, namespace: string): Namespace | undefined {
  const [state, importer] = world.stored(contract, key.namespace(namespace))?.split(' ') ?? [];
  return (state === 'revealed' || state === 'ready') && importer !== undefined ? { state, importer } : undefined;
}

const keptNamespace = (namespace: string, { state, importer }: Namespace): Write => [
  key.namespace(namespace),
  `${state} ${importer}`,
];

export const ownerOf = ({ world, contract }: Pick<CallContext, 'world' | 'contract'>, name: FullName) =>
  world.stored(contract, key.revoked(name)) === 'yes' ? undefined : world.ownerOf(assetOf(contract), tokenOf(name));

/** The number of names that were ever registered, which are numbered from 1. */
export const namesOf = (world: WorldView, contract: string): number => countOf(world, contract, key.names);

export const nameAt = (world: WorldView, contract: string, index: number): FullName | undefined =>
  world.stored(contract, key.name(index));

/** Who preordered something last, and so has a next step to take. */
export const lastPreorder = (world: WorldView, contract: string): string | undefined =>
  world.stored(contract, key.lastPreorder);

/** A preorder burns what it costs. */
export function preorder(
  { world, contract, sender, burnHeight }: CallContext,
  hash: Uint8Array,
  cost: bigint,
): Outcome {
  if (world.stored(contract, key.preorder(hash)) !== undefined) return refused(errors.alreadyPreordered);
  if (world.spendable(sender, burnHeight) < cost) return refused(errors.poor);
  return {
    ok: true,
    result: clarity.ok(clarity.uint(burnHeight + 144)),
    events: [{ type: 'stx_burn_event', sender, amount: cost }],
    writes: [
      [key.preorder(hash), 'made'],
      [key.lastPreorder, sender],
    ],
  };
}

export function reveal({ world, contract, sender }: CallContext, namespace: string, importer: string): Outcome {
  if (!isPreordered(world, contract, sender, namespace)) return refused(errors.notPreordered);
  if (namespaceOf(world, contract, namespace) !== undefined) return refused(errors.namespaceExists);
  const used: Write = [key.preorder(preorderHash(sender, namespace)), 'used'];
  const writes = [used, keptNamespace(namespace, { state: 'revealed', importer })];
  return { ok: true, result: clarity.ok(clarity.bool(true)), events: [], writes };
}

/** What a namespace was revealed with. */
export interface NamespaceTerms {
  lifetime: number;
  base: number;
  coefficient: number;
  exponents: readonly number[];
  nonalphaDiscount: number;
  noVowelDiscount: number;
}

export function launch({ world, contract, sender }: CallContext, namespace: string, terms: NamespaceTerms): Outcome {
  const known = namespaceOf(world, contract, namespace);
  if (known === undefined) return refused(errors.namespaceUnknown);
  if (known.importer !== sender) return refused(errors.notImporter);
  if (known.state === 'ready') return refused(errors.launched);
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
    writes: [keptNamespace(namespace, { ...known, state: 'ready' })],
  };
}

/** Prices can be set by the importer; nothing is printed of it. */
export function setPrices({ world, contract, sender }: CallContext, namespace: string): Outcome {
  const known = namespaceOf(world, contract, namespace);
  if (known === undefined) return refused(errors.namespaceUnknown);
  if (known.importer !== sender) return refused(errors.notImporter);
  return { ok: true, result: clarity.ok(clarity.bool(true)), events: [] };
}

export type Operation =
  | 'name-import'
  | 'name-register'
  | 'name-update'
  | 'name-transfer'
  | 'name-renewal'
  | 'name-revoke';

/** What the contract prints of an operation, and the zonefile that peers will pass on. */
function attached(
  { world, contract, sender }: CallContext,
  operation: Operation,
  name: FullName,
  zonefile: string | undefined,
): Required<Pick<Outcome, 'events' | 'writes' | 'attachments'>> {
  const { label, namespace } = splitName(name);
  const index = countOf(world, contract, key.attachments) + 1;
  const content = zonefile === undefined ? undefined : utf8Bytes(zonefile);
  const hash = content === undefined ? new Uint8Array(0) : hash160(content);
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

/** Gives out a name that nobody has. */
function given(
  { world, contract }: CallContext,
  name: FullName,
  owner: string,
  more: readonly Write[] = [],
): Required<Pick<Outcome, 'events' | 'writes' | 'attachments'>> {
  const count = namesOf(world, contract) + 1;
  const mint = { type: 'nft_mint_event', asset: assetOf(contract), recipient: owner, value: tokenOf(name) } as const;
  return { events: [mint], writes: [...more, [key.names, String(count)], [key.name(count), name]], attachments: [] };
}

export function importName(context: CallContext, name: FullName, beneficiary: string, zonefile: string): Outcome {
  const { world, contract, sender } = context;
  const namespace = namespaceOf(world, contract, splitName(name).namespace);
  if (namespace === undefined) return refused(errors.namespaceUnknown);
  if (namespace.state === 'ready') return refused(errors.launched);
  if (namespace.importer !== sender) return refused(errors.notImporter);
  if (world.ownerOf(assetOf(contract), tokenOf(name)) !== undefined) return refused(errors.unavailable);
  return done(given(context, name, beneficiary), attached(context, 'name-import', name, zonefile));
}

export function register(context: CallContext, name: FullName, zonefile: string): Outcome {
  const { world, contract, sender } = context;
  if (namespaceOf(world, contract, splitName(name).namespace)?.state !== 'ready') {
    return refused(errors.namespaceNotLaunched);
  }
  if (!isPreordered(world, contract, sender, name)) return refused(errors.notPreordered);
  if (world.ownerOf(assetOf(contract), tokenOf(name)) !== undefined) return refused(errors.unavailable);
  const used: Write = [key.preorder(preorderHash(sender, name)), 'used'];
  return done(given(context, name, sender, [used]), attached(context, 'name-register', name, zonefile));
}

export function update(context: CallContext, name: FullName, zonefile: string): Outcome {
  if (ownerOf(context, name) !== context.sender) return refused(errors.notOwner);
  return done(attached(context, 'name-update', name, zonefile));
}

export function transfer(
  context: CallContext,
  name: FullName,
  recipient: string,
  zonefile: string | undefined,
): Outcome {
  const { contract, sender } = context;
  if (ownerOf(context, name) !== sender || recipient === sender) return refused(errors.notOwner);
  const value = tokenOf(name);
  const moved = { type: 'nft_transfer_event', asset: assetOf(contract), sender, recipient, value } as const;
  const token = { events: [moved], writes: [], attachments: [] };
  return done(token, attached(context, 'name-transfer', name, zonefile));
}

/** Prints only what there is of a new zonefile. */
export function renew(context: CallContext, name: FullName, cost: bigint, zonefile: string | undefined): Outcome {
  const { world, sender, burnHeight } = context;
  if (ownerOf(context, name) !== sender) return refused(errors.notOwner);
  if (world.spendable(sender, burnHeight) < cost) return refused(errors.poor);
  const burnt = { events: [{ type: 'stx_burn_event', sender, amount: cost } as const], writes: [], attachments: [] };
  return zonefile === undefined ? done(burnt) : done(burnt, attached(context, 'name-renewal', name, zonefile));
}

/** The token stays where it is. */
export function revoke(context: CallContext, name: FullName): Outcome {
  if (ownerOf(context, name) !== context.sender) return refused(errors.notOwner);
  const gone = { events: [], writes: [[key.revoked(name), 'yes'] as const], attachments: [] };
  return done(gone, attached(context, 'name-revoke', name, undefined));
}
