import type { AbiType } from '../../codec/abi.ts';
import type { ClarityValue } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { hash160 } from '../../codec/hash.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import {
  bufferOf,
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  principalOf,
  publicFunction,
  readOnlyFunction,
  type Scene,
  someOf,
  uintOf,
  type WorldView,
} from '../contract.ts';
import {
  buffer,
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

const hash: AbiType = { buffer: { length: 20 } };
const label: AbiType = { buffer: { length: 48 } };
const named = { namespace: hash, name: label };
const exponentTypes = Object.fromEntries(
  Array.from({ length: 16 }, (_, at) => [`p-func-b${at + 1}`, 'uint128' as const]),
);
const discounts = { 'p-func-non-alpha-discount': 'uint128', 'p-func-no-vowel-discount': 'uint128' } as const;
const prices = { 'p-func-base': 'uint128', 'p-func-coeff': 'uint128', ...exponentTypes, ...discounts } as const;

/** Namespaces in the order in which they are launched. */
const namespaces = ['btc', 'id', 'app'] as const;
/** Lifetimes in blocks; 0 for no end. */
const lifetimes: Readonly<Record<string, bigint>> = { btc: 5_000n, id: 52_595n, app: 0n };
const labels = ['alice', 'bob', 'satoshi', 'a_b', 'x-1', 'muneeb', 'zk'] as const;
const subdomainLabels = ['joe', 'mail', 'shop', 'www'] as const;

/** Number of recent names to search for a name of the account. */
const REMEMBERED = 24;

/** The simulated functions of the boot contract `bns`. */
export const bns: ContractTemplate = {
  name: 'bns',
  clarityVersion: undefined,
  source: ';; The boot contract of the name system; its source is not part of the simulation.\n',
  isPartial: true,
  abi: contractInterface({
    clarity_version: 'Clarity1',
    epoch: 'Epoch2_05',
    functions: [
      publicFunction('name-import', { ...named, beneficiary: 'principal', 'zonefile-hash': hash }),
      publicFunction('name-preorder', { 'hashed-salted-fqn': hash, 'stx-to-burn': 'uint128' }, 'uint128'),
      publicFunction('name-register', { ...named, salt: hash, 'zonefile-hash': hash }),
      publicFunction('name-renewal', {
        ...named,
        'stx-to-burn': 'uint128',
        'new-owner': { optional: 'principal' },
        'zonefile-hash': { optional: hash },
      }),
      publicFunction('name-revoke', named),
      publicFunction('name-transfer', { ...named, 'new-owner': 'principal', 'zonefile-hash': { optional: hash } }),
      publicFunction('name-update', { ...named, 'zonefile-hash': hash }),
      publicFunction('namespace-preorder', { 'hashed-salted-namespace': hash, 'stx-to-burn': 'uint128' }, 'uint128'),
      publicFunction('namespace-ready', { namespace: hash }),
      publicFunction('namespace-reveal', {
        namespace: hash,
        'namespace-salt': hash,
        ...prices,
        lifetime: 'uint128',
        'namespace-import': 'principal',
      }),
      publicFunction('namespace-update-function-price', { namespace: hash, ...prices }),
      readOnlyFunction('can-name-be-registered', named, { response: { ok: 'bool', error: 'int128' } }),
      readOnlyFunction('can-namespace-be-registered', { namespace: hash }, { response: { ok: 'bool', error: 'none' } }),
      readOnlyFunction('get-name-price', named, { response: { ok: 'uint128', error: 'int128' } }),
      readOnlyFunction('get-namespace-price', { namespace: hash }, { response: { ok: 'uint128', error: 'int128' } }),
    ],
    non_fungible_tokens: [
      {
        name: 'names',
        type: {
          tuple: [
            { name: 'name', type: label },
            { name: 'namespace', type: hash },
          ],
        },
      },
    ],
  }),
  calls: {
    'name-import': ([namespace, label, beneficiary, zonefile]) => ({
      run: (at) => importName(at, fullName(namespace, label), principalOf(beneficiary), { hash: bufferOf(zonefile) }),
    }),
    'name-preorder': ([ordered, cost]) => ({ run: preordered(ordered, cost) }),
    'name-register': ([namespace, label, salt, zonefile]) => ({
      run: (at) => registerPaid(at, fullName(namespace, label), { hash: bufferOf(zonefile) }, bufferOf(salt)),
    }),
    // As on the networks, the contract reads the new owner but doesn't transfer the name.
    'name-renewal': ([namespace, label, cost, , zonefile]) => ({
      run: (at) => renewPaid(at, fullName(namespace, label), uintOf(cost), hashOf(zonefile)),
    }),
    'name-revoke': ([namespace, label]) => ({ run: (at) => revoke(at, fullName(namespace, label)) }),
    'name-transfer': ([namespace, label, to, zonefile]) => ({
      run: (at) => transferToNameless(at, fullName(namespace, label), principalOf(to), hashOf(zonefile)),
    }),
    'name-update': ([namespace, label, zonefile]) => ({
      run: (at) => update(at, fullName(namespace, label), { hash: bufferOf(zonefile) }),
    }),
    'namespace-preorder': ([ordered, cost]) => ({ run: preordered(ordered, cost) }),
    'namespace-ready': ([namespace]) => ({ run: (at) => launch(at, labelOf(namespace)) }),
    'namespace-reveal': ([namespace, salt, ...rest]) => ({
      run: (at) => {
        const [lifetime, importer] = rest.slice(-2);
        const terms = { ...givenPrices(rest), lifetime: uintOf(lifetime) };
        return revealPaid(at, labelOf(namespace), principalOf(importer), terms, bufferOf(salt));
      },
    }),
    'namespace-update-function-price': ([namespace, ...rest]) => ({
      run: (at) => setPrices(at, labelOf(namespace), givenPrices(rest)),
    }),
  },
  reads: {
    'can-name-be-registered': (at, [namespace, label]) =>
      namespaceOf(at.world, at.contract, labelOf(namespace)) !== undefined && hasInvalidCharacters(labelOf(label))
        ? clarity.err(clarity.int(errors.invalidCharacters))
        : clarity.ok(clarity.bool(isFree(at, fullName(namespace, label)))),
    'can-namespace-be-registered': ({ world, contract }, [namespace]) =>
      clarity.ok(clarity.bool(namespaceOf(world, contract, labelOf(namespace)) === undefined)),
    'get-name-price': ({ world, contract }, [namespace, label]) => {
      const price = namePrice(world, contract, { namespace: labelOf(namespace), label: labelOf(label) });
      return price === null ? clarity.err(clarity.int(errors.namespaceUnknown)) : clarity.ok(clarity.uint(price));
    },
    'get-namespace-price': (_, [namespace]) => {
      const price = namespacePrice(labelOf(namespace));
      return price === null ? clarity.err(clarity.int(errors.namespaceBlank)) : clarity.ok(clarity.uint(price));
    },
  },
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
const labelOf = (value: ClarityValue | undefined): string => Buffer.from(bufferOf(value)).toString('latin1');

const fullName = (namespace: ClarityValue | undefined, label: ClarityValue | undefined): FullName =>
  `${labelOf(label)}.${labelOf(namespace)}`;

function hashOf(zonefile: ClarityValue | undefined): { hash: Uint8Array } | undefined {
  const hashValue = someOf(zonefile);
  return hashValue === undefined ? undefined : { hash: bufferOf(hashValue) };
}

const preordered =
  (ordered: ClarityValue | undefined, cost: ClarityValue | undefined): ContractCall['run'] =>
  (at) =>
    uintOf(cost) === 0n ? refused(errors.namespaceBurntTooLittle) : preorder(at, bufferOf(ordered), uintOf(cost));

/** Returns the prices among a call's arguments, from the base on. */
function givenPrices(values: readonly ClarityValue[]): Omit<NamespaceTerms, 'lifetime'> {
  const [base = 0n, coefficient = 0n, ...rest] = values.slice(0, 20).map(uintOf);
  const [nonalphaDiscount = 1n, noVowelDiscount = 1n] = rest.slice(16);
  return { base, coefficient, exponents: rest.slice(0, 16), nonalphaDiscount, noVowelDiscount };
}

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
  return {
    functionName: 'name-import',
    args: [...nameArguments(name), clarity.principal(beneficiary), hashArgument(zonefile)],
    run: (at) => importName(at, name, beneficiary, { content: zonefile }),
  };
}

const nameArguments = (name: FullName): Uint8Array[] => {
  const parts = splitName(name);
  return [buffer(parts.namespace), buffer(parts.label)];
};

const hashArgument = (zonefile: string): Uint8Array => clarity.buffer(hash160(utf8Bytes(zonefile)));

const optionalHash = (zonefile: string | undefined): Uint8Array =>
  zonefile === undefined ? clarity.none() : clarity.some(hashArgument(zonefile));

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

const pricesOf = ({ lifetime: _, ...prices }: NamespaceTerms) => prices;

const priceArguments = (terms: NamespaceTerms): Uint8Array[] =>
  [terms.base, terms.coefficient, ...terms.exponents, terms.nonalphaDiscount, terms.noVowelDiscount].map((number) =>
    clarity.uint(number),
  );

function preorderNamespace(sender: string, namespace: string, prng: Prng): ContractCall {
  const ordered = ownHash(sender, namespace);
  const cost = BigInt(prng.between(640, 6_400)) * 1_000n;
  return {
    functionName: 'namespace-preorder',
    args: [clarity.buffer(ordered), clarity.uint(cost)],
    run: (at) => preorder(at, ordered, cost),
  };
}

function revealNamespace(sender: string, namespace: string): ContractCall {
  const terms = termsOf(namespace);
  const salt = clarity.buffer(saltOf(sender, namespace));
  const end = [clarity.uint(terms.lifetime), clarity.principal(sender)];
  return {
    functionName: 'namespace-reveal',
    args: [buffer(namespace), salt, ...priceArguments(terms), ...end],
    run: (at) => reveal(at, namespace, sender, terms),
  };
}

const launchNamespace = (namespace: string): ContractCall => ({
  functionName: 'namespace-ready',
  args: [buffer(namespace)],
  run: (at) => launch(at, namespace),
});

function updatePrices({ prng }: Scene, namespace: string): ContractCall {
  const terms = { ...termsOf(namespace), coefficient: BigInt(prng.between(1, 500)) };
  return {
    functionName: 'namespace-update-function-price',
    args: [buffer(namespace), ...priceArguments(terms)],
    run: (at) => setPrices(at, namespace, pricesOf(terms)),
  };
}

function preorderName({ prng, world, contract, sender }: Scene, namespace: string): ContractCall {
  const ordered = ownHash(sender, wishOf(sender, namespace, wishes(world, contract)));
  const cost = BigInt(prng.between(1, 200)) * 1_000n;
  return {
    functionName: 'name-preorder',
    args: [clarity.buffer(ordered), clarity.uint(cost)],
    run: (at) => preorder(at, ordered, cost),
  };
}

function registerName({ prng, sender }: Scene, name: FullName): ContractCall {
  const zonefile = plainZonefile(name, prng);
  return {
    functionName: 'name-register',
    args: [...nameArguments(name), clarity.buffer(saltOf(sender, name)), hashArgument(zonefile)],
    run: (at) => register(at, name, { content: zonefile }),
  };
}

const revokeName = (name: FullName): ContractCall => ({
  functionName: 'name-revoke',
  args: nameArguments(name),
  run: (at) => revoke(at, name),
});

/** Returns a random call by an owner of a name. */
function withOwn(scene: Scene, name: FullName): ContractCall {
  const { prng, recipient } = scene;
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
      return {
        functionName: 'name-update',
        args: [...nameArguments(name), hashArgument(zonefile)],
        run: (at) => update(at, name, { content: zonefile }),
      };
    }
    case 'transfer': {
      const to = recipient();
      const zonefile = prng.chance(0.5) ? plainZonefile(name, prng) : undefined;
      return {
        functionName: 'name-transfer',
        args: [...nameArguments(name), clarity.principal(to), optionalHash(zonefile)],
        run: (at) => transfer(at, name, to, contentOf(zonefile)),
      };
    }
    case 'renewal': {
      const cost = BigInt(prng.between(1, 200)) * 1_000n;
      const zonefile = prng.chance(0.5) ? plainZonefile(name, prng) : undefined;
      return {
        functionName: 'name-renewal',
        args: [...nameArguments(name), clarity.uint(cost), clarity.none(), optionalHash(zonefile)],
        run: (at) => renew(at, name, cost, contentOf(zonefile)),
      };
    }
    default:
      return revokeName(name);
  }
}
