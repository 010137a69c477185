import { clarity } from '../../codec/clarity-encode.ts';
import { hash160 } from '../../codec/hash.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import {
  type ArgumentsOf,
  type CallContext,
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  interfaceOf,
  type Outcome,
  publicFunction,
  readOnlyFunction,
  type Scene,
  tupleType,
  userCall,
  type WorldView,
} from '../contract.ts';
import {
  errors,
  type FullName,
  hasInvalidCharacters,
  importName,
  isFree,
  isPreordered,
  lastPreorder,
  launch,
  type NamespaceTerms,
  nameAt,
  namePrice,
  namesOf,
  namespaceOf,
  namespacePrice,
  ownerOf,
  ownHash,
  preorder,
  refused,
  register,
  registerPaid,
  renew,
  renewPaid,
  reveal,
  revealPaid,
  revoke,
  saltOf,
  setPrices,
  splitName,
  transfer,
  transferToNameless,
  update,
} from '../name-system.ts';
import type { Prng } from '../prng.ts';

const hash = { buffer: { length: 20 } };
const label = { buffer: { length: 48 } };
const named = { namespace: hash, name: label };
const EXPONENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] as const;
type ExponentName = `p-func-b${(typeof EXPONENTS)[number]}`;
const exponentName = (place: (typeof EXPONENTS)[number]): ExponentName => `p-func-b${place}`;
const exponentTypes = Object.fromEntries(EXPONENTS.map((place) => [exponentName(place), 'uint128']));
const prices = {
  ...({ 'p-func-base': 'uint128', 'p-func-coeff': 'uint128' } as const),
  ...(exponentTypes as Record<ExponentName, 'uint128'>),
  ...({ 'p-func-non-alpha-discount': 'uint128', 'p-func-no-vowel-discount': 'uint128' } as const),
};
const preordered = { 'stx-to-burn': 'uint128' } as const;
const zonefileHash = { 'zonefile-hash': hash };
const optionalZonefile = { 'zonefile-hash': { optional: hash } };

/** Namespaces in the order in which they are launched. */
const namespaces = ['btc', 'id', 'app'] as const;
/** Lifetimes in blocks; 0 for no end. */
const lifetimes: Readonly<Record<string, bigint>> = { btc: 5_000n, id: 52_595n, app: 0n };
const labels = ['alice', 'bob', 'satoshi', 'a_b', 'x-1', 'muneeb', 'zk'] as const;
const subdomainLabels = ['joe', 'mail', 'shop', 'www'] as const;

/** Number of recent names to search for a name of the account. */
const REMEMBERED = 24;

const functions = {
  'name-import': publicFunction({ ...named, beneficiary: 'principal', ...zonefileHash }, (at, given) =>
    importName(at, nameIn(given), given.beneficiary, { hash: given['zonefile-hash'] }),
  ),
  'name-preorder': publicFunction(
    { 'hashed-salted-fqn': hash, ...preordered },
    (at, given) => preorderPaid(at, given['hashed-salted-fqn'], given['stx-to-burn']),
    'uint128',
  ),
  'name-register': publicFunction({ ...named, salt: hash, ...zonefileHash }, (at, given) =>
    registerPaid(at, nameIn(given), { hash: given['zonefile-hash'] }, given.salt),
  ),
  // As on the networks, the contract reads the new owner but doesn't transfer the name.
  'name-renewal': publicFunction(
    { ...named, ...preordered, 'new-owner': { optional: 'principal' as const }, ...optionalZonefile },
    (at, given) => renewPaid(at, nameIn(given), given['stx-to-burn'], hashIn(given)),
  ),
  'name-revoke': publicFunction(named, (at, given) => revoke(at, nameIn(given))),
  'name-transfer': publicFunction({ ...named, 'new-owner': 'principal', ...optionalZonefile }, (at, given) =>
    transferToNameless(at, nameIn(given), given['new-owner'], hashIn(given)),
  ),
  'name-update': publicFunction({ ...named, ...zonefileHash }, (at, given) =>
    update(at, nameIn(given), { hash: given['zonefile-hash'] }),
  ),
  'namespace-preorder': publicFunction(
    { 'hashed-salted-namespace': hash, ...preordered },
    (at, given) => preorderPaid(at, given['hashed-salted-namespace'], given['stx-to-burn']),
    'uint128',
  ),
  'namespace-ready': publicFunction({ namespace: hash }, (at, { namespace }) => launch(at, labelOf(namespace))),
  'namespace-reveal': publicFunction(
    { namespace: hash, 'namespace-salt': hash, ...prices, lifetime: 'uint128', 'namespace-import': 'principal' },
    (at, given) => {
      const terms = { ...pricesIn(given), lifetime: given.lifetime };
      return revealPaid(at, labelOf(given.namespace), given['namespace-import'], terms, given['namespace-salt']);
    },
  ),
  'namespace-update-function-price': publicFunction({ namespace: hash, ...prices }, (at, given) =>
    setPrices(at, labelOf(given.namespace), pricesIn(given)),
  ),
  'can-name-be-registered': readOnlyFunction(named, { response: { ok: 'bool', error: 'int128' } }, (at, given) =>
    namespaceOf(at.world, at.contract, labelOf(given.namespace)) !== undefined &&
    hasInvalidCharacters(labelOf(given.name))
      ? clarity.err(clarity.int(errors.invalidCharacters))
      : clarity.ok(clarity.bool(isFree(at, nameIn(given)))),
  ),
  'can-namespace-be-registered': readOnlyFunction(
    { namespace: hash },
    { response: { ok: 'bool', error: 'none' } },
    ({ world, contract }, { namespace }) =>
      clarity.ok(clarity.bool(namespaceOf(world, contract, labelOf(namespace)) === undefined)),
  ),
  'get-name-price': readOnlyFunction(
    named,
    { response: { ok: 'uint128', error: 'int128' } },
    ({ world, contract }, { namespace, name }) => {
      const price = namePrice(world, contract, { namespace: labelOf(namespace), label: labelOf(name) });
      return price === null ? clarity.err(clarity.int(errors.namespaceUnknown)) : clarity.ok(clarity.uint(price));
    },
  ),
  'get-namespace-price': readOnlyFunction(
    { namespace: hash },
    { response: { ok: 'uint128', error: 'int128' } },
    (_, { namespace }) => {
      const price = namespacePrice(labelOf(namespace));
      return price === null ? clarity.err(clarity.int(errors.namespaceBlank)) : clarity.ok(clarity.uint(price));
    },
  ),
};

/** The simulated functions of the boot contract `bns`. */
export const bns: ContractTemplate = {
  name: 'bns',
  clarityVersion: undefined,
  source: ';; The boot contract of the name system; its source is not part of the simulation.\n',
  isPartial: true,
  abi: contractInterface({
    clarity_version: 'Clarity1',
    epoch: 'Epoch2_05',
    functions: interfaceOf(functions),
    non_fungible_tokens: [{ name: 'names', type: tupleType({ name: label, namespace: hash }) }],
  }),
  functions,
  holder(world, contract, prng) {
    const opening = namespaces.map((namespace) => namespaceOf(world, contract, namespace));
    const importer = opening.find((namespace) => namespace?.state === 'revealed')?.importer;
    if (importer !== undefined && prng.chance(0.5)) return importer;
    if (prng.chance(0.5)) return lastPreorder(world, contract);
    const name = someName(world, contract, prng);
    return name === undefined ? importer : ownerOf({ world, contract }, name);
  },
  propose(scene) {
    const { prng, world, contract, sender } = scene;
    const opening = namespaces.find((namespace) => namespaceOf(world, contract, namespace)?.state !== 'ready');
    const open = namespaces.filter((namespace) => namespaceOf(world, contract, namespace)?.state === 'ready');
    if (opening !== undefined && (open.length === 0 || prng.chance(0.25))) {
      const call = openingCall(scene, opening);
      if (call !== undefined) return call;
    }
    if (open.length === 0) return preorderNamespace(sender, opening ?? namespaces[0], prng);
    const mine = open.find((namespace) => namespaceOf(world, contract, namespace)?.importer === sender);
    if (mine !== undefined && prng.chance(0.2)) return updatePrices(scene, mine);
    const ordered = someOrdered(scene, open);
    if (ordered !== undefined && prng.chance(0.8)) return registerName(scene, ordered);
    const own = ownName(scene);
    if (own !== undefined && prng.chance(0.8)) return withOwn(scene, own);
    const namespace = prng.pick(open);
    // Sometimes another account tries an operation that only the owner may do, and fails.
    const foreign = prng.chance(0.08) ? someName(world, contract, prng) : undefined;
    return foreign === undefined ? preorderName(scene, namespace) : revokeName(foreign);
  },
};

/** Returns the bytes of a name as text, one character each, so that invalid names stay distinct. */
const labelOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const nameIn = ({ namespace, name }: ArgumentsOf<typeof named>): FullName => `${labelOf(name)}.${labelOf(namespace)}`;

const hashIn = ({ 'zonefile-hash': zonefile }: ArgumentsOf<typeof optionalZonefile>) =>
  zonefile === undefined ? undefined : { hash: zonefile };

const preorderPaid = (at: CallContext, ordered: Uint8Array, cost: bigint): Outcome =>
  cost === 0n ? refused(errors.namespaceBurntTooLittle) : preorder(at, ordered, cost);

const pricesIn = (given: ArgumentsOf<typeof prices>): Omit<NamespaceTerms, 'lifetime'> => ({
  base: given['p-func-base'],
  coefficient: given['p-func-coeff'],
  exponents: EXPONENTS.map((place) => given[exponentName(place)]),
  nonalphaDiscount: given['p-func-non-alpha-discount'],
  noVowelDiscount: given['p-func-no-vowel-discount'],
});

/**
 * Returns the name that an account wants to preorder. It is derived from the account and a counter, so it isn't stored.
 */
const wishOf = (sender: string, namespace: string, have: number): FullName => {
  const spread = hash160(utf8Bytes(`${sender} ${namespace} ${have}`));
  return `${labels[spread[0]! % labels.length]!}${spread[1]! % 100}.${namespace}`;
};

/** Returns a counter that grows with the number of registered names, so that accounts want other names. */
const wishes = (world: WorldView, contract: string): number => Math.floor(namesOf(world, contract) / 8);

function someOrdered({ world, contract, sender }: Scene, open: readonly string[]): FullName | undefined {
  const now = wishes(world, contract);
  return open
    .flatMap((namespace) => [wishOf(sender, namespace, now), wishOf(sender, namespace, Math.max(0, now - 1))])
    .find((name) => isPreordered(world, contract, sender, name));
}

/** Picks a recent name; returns undefined before the first. */
function someName(world: WorldView, contract: string, prng: Prng): FullName | undefined {
  const count = namesOf(world, contract);
  return count === 0 ? undefined : nameAt(world, contract, count - prng.below(Math.min(count, REMEMBERED)));
}

function ownName({ world, contract, sender }: Scene): FullName | undefined {
  const count = namesOf(world, contract);
  for (let index = count; index > Math.max(0, count - REMEMBERED); index--) {
    const name = nameAt(world, contract, index);
    if (name !== undefined && ownerOf({ world, contract }, name) === sender) return name;
  }
  return undefined;
}

/** Returns the caller's next call to launch a namespace. */
function openingCall({ prng, world, contract, sender, recipient }: Scene, namespace: string): ContractCall | undefined {
  const namespaceRow = namespaceOf(world, contract, namespace);
  if (namespaceRow === undefined) {
    return isPreordered(world, contract, sender, namespace)
      ? revealNamespace(sender, namespace)
      : preorderNamespace(sender, namespace, prng);
  }
  if (namespaceRow.importer !== sender) return undefined;
  if (prng.chance(0.3)) return launchNamespace(namespace);
  const name = `imported${namesOf(world, contract)}.${namespace}`;
  const [beneficiary, zonefile] = [recipient(), plainZonefile(name, prng)];
  return userCall(
    functions,
    'name-import',
    { ...nameArguments(name), beneficiary, 'zonefile-hash': hashOf(zonefile) },
    { run: (at) => importName(at, name, beneficiary, { content: zonefile }) },
  );
}

const nameArguments = (name: FullName) => {
  const parts = splitName(name);
  return { namespace: utf8Bytes(parts.namespace), name: utf8Bytes(parts.label) };
};

const hashOf = (zonefile: string): Uint8Array => hash160(utf8Bytes(zonefile));
const optionalHash = (zonefile: string | undefined) => (zonefile === undefined ? undefined : hashOf(zonefile));

const contentOf = (zonefile: string | undefined) => (zonefile === undefined ? undefined : { content: zonefile });

const plainZonefile = (name: FullName, prng: Prng): string =>
  `$ORIGIN ${name}\n$TTL 3600\n_http._tcp\tIN\tURI\t10\t1\t"https://gaia.example.com/hub/${prng.bytes(6).toHex()}/profile.json"\n\n`;

/** Returns a zonefile that declares subdomains, and usually their resolver. */
function zonefileWithSubdomains(name: FullName, { prng, recipient }: Scene): string {
  const records = subdomainLabels
    .filter(() => prng.chance(0.5))
    .map((subdomain) => {
      const zonefile = Buffer.from(plainZonefile(`${subdomain}.${name}`, prng)).toString('base64');
      return `${subdomain}\tTXT\t"owner=${recipient()}" "seqn=0" "parts=1" "zf0=${zonefile}"\n`;
    });
  const resolver = prng.chance(0.7) ? '_resolver\tIN\tURI\t10\t1\t"https://registrar.example.com"\n' : '';
  return `${plainZonefile(name, prng).slice(0, -1)}${records.join('')}${resolver}\n`;
}

/** Returns the terms of a namespace, which are the same on every branch. */
const termsOf = (namespace: string): NamespaceTerms => ({
  lifetime: lifetimes[namespace] ?? 0n,
  base: 4n,
  coefficient: 250n,
  exponents: [7n, 6n, 5n, 4n, 3n, 2n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n],
  nonalphaDiscount: 4n,
  noVowelDiscount: 4n,
});

const priceArguments = (terms: NamespaceTerms): ArgumentsOf<typeof prices> => ({
  'p-func-base': terms.base,
  'p-func-coeff': terms.coefficient,
  ...(Object.fromEntries(EXPONENTS.map((place, at) => [exponentName(place), terms.exponents[at]])) as Record<
    ExponentName,
    bigint
  >),
  'p-func-non-alpha-discount': terms.nonalphaDiscount,
  'p-func-no-vowel-discount': terms.noVowelDiscount,
});

const preorderNamespace = (sender: string, namespace: string, prng: Prng): ContractCall =>
  userCall(functions, 'namespace-preorder', {
    'hashed-salted-namespace': ownHash(sender, namespace),
    'stx-to-burn': BigInt(prng.between(640, 6_400)) * 1_000n,
  });

function revealNamespace(sender: string, namespace: string): ContractCall {
  const terms = termsOf(namespace);
  const names = { namespace: utf8Bytes(namespace), 'namespace-salt': saltOf(sender, namespace) };
  return userCall(
    functions,
    'namespace-reveal',
    { ...names, ...priceArguments(terms), lifetime: terms.lifetime, 'namespace-import': sender },
    { run: (at) => reveal(at, namespace, sender, terms) },
  );
}

const launchNamespace = (namespace: string): ContractCall =>
  userCall(functions, 'namespace-ready', { namespace: utf8Bytes(namespace) });

function updatePrices({ prng }: Scene, namespace: string): ContractCall {
  const terms = { ...termsOf(namespace), coefficient: BigInt(prng.between(1, 500)) };
  const args = { namespace: utf8Bytes(namespace), ...priceArguments(terms) };
  return userCall(functions, 'namespace-update-function-price', args);
}

const preorderName = ({ prng, world, contract, sender }: Scene, namespace: string): ContractCall =>
  userCall(functions, 'name-preorder', {
    'hashed-salted-fqn': ownHash(sender, wishOf(sender, namespace, wishes(world, contract))),
    'stx-to-burn': BigInt(prng.between(1, 200)) * 1_000n,
  });

function registerName({ prng, sender }: Scene, name: FullName): ContractCall {
  const zonefile = plainZonefile(name, prng);
  return userCall(
    functions,
    'name-register',
    { ...nameArguments(name), salt: saltOf(sender, name), 'zonefile-hash': hashOf(zonefile) },
    { run: (at) => register(at, name, { content: zonefile }) },
  );
}

const revokeName = (name: FullName): ContractCall => userCall(functions, 'name-revoke', nameArguments(name));

/** Returns a random call by an owner of a name. */
function withOwn(scene: Scene, name: FullName): ContractCall {
  const { prng, recipient } = scene;
  const named = nameArguments(name);
  switch (
    prng.weighted([
      [10, 'update'],
      [4, 'transfer'],
      [4, 'renewal'],
      [1, 'revoke'],
    ] as const)
  ) {
    case 'update': {
      const zonefile = prng.chance(0.6) ? zonefileWithSubdomains(name, scene) : plainZonefile(name, prng);
      const run: ContractCall['run'] = (at) => update(at, name, { content: zonefile });
      return userCall(functions, 'name-update', { ...named, 'zonefile-hash': hashOf(zonefile) }, { run });
    }
    case 'transfer': {
      const to = recipient();
      const zonefile = prng.chance(0.5) ? plainZonefile(name, prng) : undefined;
      const args = { ...named, 'new-owner': to, 'zonefile-hash': optionalHash(zonefile) };
      return userCall(functions, 'name-transfer', args, { run: (at) => transfer(at, name, to, contentOf(zonefile)) });
    }
    case 'renewal': {
      const cost = BigInt(prng.between(1, 200)) * 1_000n;
      const zonefile = prng.chance(0.5) ? plainZonefile(name, prng) : undefined;
      const args = { 'stx-to-burn': cost, 'new-owner': undefined, 'zonefile-hash': optionalHash(zonefile) };
      const run: ContractCall['run'] = (at) => renew(at, name, cost, contentOf(zonefile));
      return userCall(functions, 'name-renewal', { ...named, ...args }, { run });
    }
    default:
      return revokeName(name);
  }
}
