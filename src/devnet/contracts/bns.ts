import type { AbiType } from '../../codec/abi.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import {
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  publicFunction,
  type Scene,
} from '../contract.ts';
import {
  buffer,
  type FullName,
  hash160,
  importName,
  isPreordered,
  lastPreorder,
  launch,
  type NamespaceTerms,
  nameAt,
  namesOf,
  namespaceOf,
  ownerOf,
  preorder,
  preorderHash,
  register,
  renew,
  reveal,
  revoke,
  saltOf,
  setPrices,
  splitName,
  transfer,
  update,
} from '../name-system.ts';
import type { Prng } from '../prng.ts';
import type { WorldView } from '../world-view.ts';

const hash: AbiType = { buffer: { length: 20 } };
const label: AbiType = { buffer: { length: 48 } };
const named = { namespace: hash, name: label };
const exponentTypes = Object.fromEntries(
  Array.from({ length: 16 }, (_, at) => [`p-func-b${at + 1}`, 'uint128' as const]),
);
const discounts = { 'p-func-non-alpha-discount': 'uint128', 'p-func-no-vowel-discount': 'uint128' } as const;
const prices = { 'p-func-base': 'uint128', 'p-func-coeff': 'uint128', ...exponentTypes, ...discounts } as const;

/** Namespaces in the order in which they are opened. */
const namespaces = ['btc', 'id', 'app'] as const;
/** Blocks; leases of 0 don't end. */
const lifetimes: Readonly<Record<string, number>> = { btc: 5_000, id: 52_595, app: 0 };
const labels = ['alice', 'bob', 'satoshi', 'a_b', 'x-1', 'muneeb', 'zk'] as const;
const subdomainLabels = ['joe', 'mail', 'shop', 'www'] as const;

/** Number of recent names to search for one that the account owns. */
const REMEMBERED = 24;

/** The name system of the chain, as far as the simulation uses it. */
export const bns: ContractTemplate = {
  name: 'bns',
  clarityVersion: undefined,
  source: ';; The boot contract of the name system; its source is not part of the simulation.\n',
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
      const step = openingStep(scene, opening);
      if (step !== undefined) return step;
    }
    if (open.length === 0) return preorderNamespace(sender, opening ?? namespaces[0], prng);
    const mine = open.find((namespace) => namespaceOf(world, contract, namespace)?.importer === sender);
    if (mine !== undefined && prng.chance(0.2)) return updatePrices(scene, mine);
    const ordered = someOrdered(scene, open);
    if (ordered !== undefined && prng.chance(0.8)) return registerName(scene, ordered);
    const own = ownName(scene);
    if (own !== undefined && prng.chance(0.8)) return withOwn(scene, own);
    const namespace = prng.pick(open);
    // Now and then somebody tries what only the owner may, and fails.
    const foreign = prng.chance(0.08) ? someName(world, contract, prng) : undefined;
    return foreign === undefined ? preorderName(scene, namespace) : revokeName(foreign);
  },
};

/**
 * The name that an account wants to preorder; derived from the account and a counter, so that nothing has to be stored.
 */
const wishOf = (sender: string, namespace: string, have: number): FullName => {
  const spread = hash160(utf8Bytes(`${sender} ${namespace} ${have}`));
  return `${labels[spread[0]! % labels.length]!}${spread[1]! % 100}.${namespace}`;
};

/** A counter that grows with the number of registered names, and changes the names that accounts want. */
const wishes = (world: WorldView, contract: string): number => Math.floor(namesOf(world, contract) / 8);

function someOrdered({ world, contract, sender }: Scene, open: readonly string[]): FullName | undefined {
  const now = wishes(world, contract);
  return open
    .flatMap((namespace) => [wishOf(sender, namespace, now), wishOf(sender, namespace, Math.max(0, now - 1))])
    .find((name) => isPreordered(world, contract, sender, name));
}

/** Picks one of the names that were registered last; undefined before the first. */
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

/** What the caller can do for a namespace that is not open yet. */
function openingStep({ prng, world, contract, sender, recipient }: Scene, namespace: string): ContractCall | undefined {
  const known = namespaceOf(world, contract, namespace);
  if (known === undefined) {
    return isPreordered(world, contract, sender, namespace)
      ? revealNamespace(sender, namespace)
      : preorderNamespace(sender, namespace, prng);
  }
  if (known.importer !== sender) return undefined;
  if (prng.chance(0.3)) return launchNamespace(namespace);
  const name = `imported${namesOf(world, contract)}.${namespace}`;
  const [beneficiary, zonefile] = [recipient(), plainZonefile(name, prng)];
  return {
    functionName: 'name-import',
    args: [...nameArguments(name), clarity.principal(beneficiary), hashArgument(zonefile)],
    run: (at) => importName(at, name, beneficiary, zonefile),
  };
}

const nameArguments = (name: FullName): Uint8Array[] => {
  const parts = splitName(name);
  return [buffer(parts.namespace), buffer(parts.label)];
};

const hashArgument = (zonefile: string): Uint8Array => clarity.buffer(hash160(utf8Bytes(zonefile)));

const optionalHash = (zonefile: string | undefined): Uint8Array =>
  zonefile === undefined ? clarity.none() : clarity.some(hashArgument(zonefile));

const plainZonefile = (name: FullName, prng: Prng): string =>
  `$ORIGIN ${name}\n$TTL 3600\n_http._tcp\tIN\tURI\t10\t1\t"https://gaia.example.com/hub/${prng.bytes(6).toHex()}/profile.json"\n\n`;

/** A zonefile that declares subdomains, and mostly names who resolves others. */
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

/** What a namespace is offered for; the same on every branch. */
const termsOf = (namespace: string): NamespaceTerms => ({
  lifetime: lifetimes[namespace] ?? 0,
  base: 4,
  coefficient: 250,
  exponents: [7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  nonalphaDiscount: 4,
  noVowelDiscount: 4,
});

const priceArguments = (terms: NamespaceTerms): Uint8Array[] =>
  [terms.base, terms.coefficient, ...terms.exponents, terms.nonalphaDiscount, terms.noVowelDiscount].map((number) =>
    clarity.uint(number),
  );

function preorderNamespace(sender: string, namespace: string, prng: Prng): ContractCall {
  const ordered = preorderHash(sender, namespace);
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
    run: (at) => reveal(at, namespace, sender),
  };
}

const launchNamespace = (namespace: string): ContractCall => ({
  functionName: 'namespace-ready',
  args: [buffer(namespace)],
  run: (at) => launch(at, namespace, termsOf(namespace)),
});

function updatePrices({ prng }: Scene, namespace: string): ContractCall {
  const terms = { ...termsOf(namespace), coefficient: prng.between(1, 500) };
  return {
    functionName: 'namespace-update-function-price',
    args: [buffer(namespace), ...priceArguments(terms)],
    run: (at) => setPrices(at, namespace),
  };
}

function preorderName({ prng, world, contract, sender }: Scene, namespace: string): ContractCall {
  const ordered = preorderHash(sender, wishOf(sender, namespace, wishes(world, contract)));
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
    run: (at) => register(at, name, zonefile),
  };
}

const revokeName = (name: FullName): ContractCall => ({
  functionName: 'name-revoke',
  args: nameArguments(name),
  run: (at) => revoke(at, name),
});

/** What owners do with their names. */
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
        run: (at) => update(at, name, zonefile),
      };
    }
    case 'transfer': {
      const to = recipient();
      const zonefile = prng.chance(0.5) ? plainZonefile(name, prng) : undefined;
      return {
        functionName: 'name-transfer',
        args: [...nameArguments(name), clarity.principal(to), optionalHash(zonefile)],
        run: (at) => transfer(at, name, to, zonefile),
      };
    }
    case 'renewal': {
      const cost = BigInt(prng.between(1, 200)) * 1_000n;
      const zonefile = prng.chance(0.5) ? plainZonefile(name, prng) : undefined;
      return {
        functionName: 'name-renewal',
        args: [...nameArguments(name), clarity.uint(cost), clarity.none(), optionalHash(zonefile)],
        run: (at) => renew(at, name, cost, zonefile),
      };
    }
    default:
      return revokeName(name);
  }
}
