/**
 * The simulated boot contract `bns` of the name system, which only simulated users call. Names have no price, and leases
 * never end.
 */
import { clarity } from '../../codec/clarity-encode.ts';
import { hash160 } from '../../codec/hash.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import {
  type ArgumentsOf,
  type CallContext,
  type ContractCall,
  type ContractTemplate,
  networkContract,
  type Outcome,
  ok,
  type Scene,
  tupleType,
  userCall,
  usersFunction,
} from '../contract.ts';
import type { Prng } from '../prng.ts';

/** Full name, as text: `alice.btc`. */
type FullName = string;

/** The contract in a state of the chain. */
type Names = Pick<CallContext, 'world' | 'contract'>;

/** Returns the salt of a simulated user's preorder. It is derived from the sender, so it isn't stored. */
const saltOf = (sender: string, name: string): Uint8Array => hash160(utf8Bytes(`${sender} salts ${name}`));

/** Returns the hash in a preorder: the hash of a name or namespace, and a salt. */
const preorderHash = (name: string, salt: Uint8Array): Uint8Array =>
  hash160(new Uint8Array([...utf8Bytes(name), ...salt]));

/** Returns the hash of a simulated user's preorder. */
const ownHash = (sender: string, name: string): Uint8Array => preorderHash(name, saltOf(sender, name));

const textBuffer = (text: string): Uint8Array => clarity.buffer(utf8Bytes(text));

function splitName(name: FullName): { label: string; namespace: string } {
  const [label = '', namespace = ''] = name.split('.');
  return { label, namespace };
}

/** Returns the token value of a name. */
function tokenOf(name: FullName): Uint8Array {
  const { label, namespace } = splitName(name);
  return clarity.tuple({ name: textBuffer(label), namespace: textBuffer(namespace) });
}

const assetOf = (contract: string): string => `${contract}::names`;

/** Keys in the contract's storage. */
const key = {
  preorder: (buyer: string, hash: Uint8Array) => `preorder ${buyer} ${hash.toHex()}`,
  namespace: (namespace: string) => `namespace ${namespace}`,
  owned: (owner: string) => `owned ${owner}`,
  name: (index: number) => `name ${index}`,
  revoked: (name: FullName) => `revoked ${name}`,
  names: 'names',
  attachments: 'attachments',
  lastPreorder: 'last preorder',
} as const;

type Write = readonly [key: string, value: string];

const countOf = ({ world, contract }: Names, list: 'names' | 'attachments'): number =>
  Number(world.stored(contract, key[list]) ?? '0');

/** Reports whether a preorder was made and not used yet. */
const isUnused = ({ world, contract }: Names, buyer: string, hash: Uint8Array): boolean =>
  world.stored(contract, key.preorder(buyer, hash)) === 'made';

/** Reports whether a simulated user preordered a name or namespace with the salt of {@link saltOf}. */
const isPreordered = (context: Names, sender: string, name: string): boolean =>
  isUnused(context, sender, ownHash(sender, name));

interface Namespace {
  state: 'revealed' | 'ready';
  importer: string;
}

function namespaceOf({ world, contract }: Names, namespace: string): Namespace | undefined {
  const [state, importer] = world.stored(contract, key.namespace(namespace))?.split(' ') ?? [];
  return (state === 'revealed' || state === 'ready') && importer !== undefined ? { state, importer } : undefined;
}

const storedNamespace = (namespace: string, { state, importer }: Namespace): Write => [
  key.namespace(namespace),
  `${state} ${importer}`,
];

const ownerOf = ({ world, contract }: Names, name: FullName): string | undefined =>
  world.stored(contract, key.revoked(name)) === 'yes' ? undefined : world.ownerOf(assetOf(contract), tokenOf(name));

/** Reports whether a name has an owner, even if the name was revoked. */
const hasToken = ({ world, contract }: Names, name: FullName): boolean =>
  world.ownerOf(assetOf(contract), tokenOf(name)) !== undefined;

/** Reports whether a name in a launched namespace has no owner (`can-name-be-registered`). */
const isFree = (context: Names, name: FullName): boolean =>
  namespaceOf(context, splitName(name).namespace)?.state === 'ready' && !hasToken(context, name);

/** Returns the number of names that were ever registered. Names are numbered from 1. */
export const namesOf = (context: Names): number => countOf(context, 'names');

const nameAt = ({ world, contract }: Names, index: number): FullName | undefined =>
  world.stored(contract, key.name(index));

/** Errors of the contract, which are signed integers. */
const errors = {
  namespaceNotPreordered: 1001,
  namespaceUnknown: 1005,
  namespaceExists: 1006,
  notImporter: 1011,
  launched: 1014,
  notPreordered: 2001,
  unavailable: 2004,
  notOwner: 2006,
  alreadyPreordered: 2016,
  insufficientFunds: 4001,
} as const;

const refusal = (code: number): Outcome => ({ ok: false, result: clarity.err(clarity.int(code)), events: [] });

/** The effects of a successful call, or of a part of the call. */
type Effects = Partial<Pick<Outcome, 'events' | 'writes' | 'attachments'>>;

const succeed = (...parts: Effects[]): Outcome => ({
  ...ok(clarity.bool(true), ...parts.flatMap(({ events = [] }) => events)),
  writes: parts.flatMap(({ writes = [] }) => writes),
  attachments: parts.flatMap(({ attachments = [] }) => attachments),
});

type Operation = 'name-import' | 'name-register' | 'name-update' | 'name-transfer' | 'name-renewal' | 'name-revoke';

/** Returns the effects of an operation's print. A zonefile with known content is an attachment. */
function printFor(context: CallContext, operation: Operation, name: FullName, zonefileHash?: Uint8Array): Effects {
  const { contract, user } = context;
  const { label, namespace } = splitName(name);
  const index = countOf(context, 'attachments') + 1;
  const hash = zonefileHash ?? new Uint8Array(0);
  const metadata = clarity.tuple({
    name: textBuffer(label),
    namespace: textBuffer(namespace),
    op: clarity.ascii(operation),
    'tx-sender': clarity.principal(context.sender),
  });
  const print = clarity.tuple({
    attachment: clarity.tuple({ 'attachment-index': clarity.uint(index), hash: clarity.buffer(hash), metadata }),
  });
  return {
    events: [{ type: 'contract_event', contract, value: print }],
    writes: [[key.attachments, String(index)]],
    attachments:
      user?.content === undefined ? [] : [{ contract, index, hash, metadata, content: utf8Bytes(user.content) }],
  };
}

function mint(context: CallContext, name: FullName, owner: string): Effects {
  const count = namesOf(context) + 1;
  return {
    events: [{ type: 'nft_mint_event', asset: assetOf(context.contract), recipient: owner, value: tokenOf(name) }],
    writes: [
      [key.names, String(count)],
      [key.name(count), name],
      [key.owned(owner), name],
    ],
  };
}

const labelOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

const nameIn = ({ namespace, name }: ArgumentsOf<typeof fqn>): FullName => `${labelOf(name)}.${labelOf(namespace)}`;

/** Preorders a name or namespace, and burns its price. */
function preorder({ world, contract, sender, burnHeight }: CallContext, hash: Uint8Array, amount: bigint): Outcome {
  if (world.stored(contract, key.preorder(sender, hash)) !== undefined) return refusal(errors.alreadyPreordered);
  if (world.spendable(sender, burnHeight) < amount) return refusal(errors.insufficientFunds);
  return {
    ...ok(clarity.uint(burnHeight + 144), { type: 'stx_burn_event', sender, amount }),
    writes: [
      [key.preorder(sender, hash), 'made'],
      [key.lastPreorder, sender],
    ],
  };
}

/** Returns the state of a namespace whose importer calls the contract, or the contract's error. */
function importedState(context: CallContext, namespace: string): Namespace['state'] | Outcome {
  const known = namespaceOf(context, namespace);
  if (known === undefined) return refusal(errors.namespaceUnknown);
  return known.importer === context.sender ? known.state : refusal(errors.notImporter);
}

const hash = { buffer: { length: 20 } };
const label = { buffer: { length: 48 } };
const fqn = { namespace: hash, name: label };
const EXPONENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] as const;
type ExponentName = `p-func-b${(typeof EXPONENTS)[number]}`;
const exponentName = (index: (typeof EXPONENTS)[number]): ExponentName => `p-func-b${index}`;
/** Exponent of the price of a name by its length. */
const exponentOf = (length: number): bigint => (length < 7 ? BigInt(8 - length) : 1n);
/** Price of a revealed namespace: its coefficient; its base and discounts. */
const COEFFICIENT = 250n;
const DISCOUNT = 4n;
const exponentTypes = Object.fromEntries(EXPONENTS.map((index) => [exponentName(index), 'uint128']));
const prices = {
  ...({ 'p-func-base': 'uint128', 'p-func-coeff': 'uint128' } as const),
  ...(exponentTypes as Record<ExponentName, 'uint128'>),
  ...({ 'p-func-non-alpha-discount': 'uint128', 'p-func-no-vowel-discount': 'uint128' } as const),
};
const burnTypes = { 'stx-to-burn': 'uint128' } as const;
const zonefileHash = { 'zonefile-hash': hash };
const optionalZonefile = { 'zonefile-hash': { optional: hash } };

/** A call may burn any price, and a user may own several names. */
const functions = {
  'name-import': usersFunction({ ...fqn, beneficiary: 'principal', ...zonefileHash }, (context, values) => {
    const name = nameIn(values);
    const namespace = namespaceOf(context, splitName(name).namespace);
    if (namespace === undefined) return refusal(errors.namespaceUnknown);
    if (namespace.state === 'ready') return refusal(errors.launched);
    if (namespace.importer !== context.sender) return refusal(errors.notImporter);
    if (hasToken(context, name)) return refusal(errors.unavailable);
    const print = printFor(context, 'name-import', name, values['zonefile-hash']);
    return succeed(mint(context, name, values.beneficiary), print);
  }),
  'name-preorder': usersFunction(
    { 'hashed-salted-fqn': hash, ...burnTypes },
    (context, values) => preorder(context, values['hashed-salted-fqn'], values['stx-to-burn']),
    'uint128',
  ),
  'name-register': usersFunction({ ...fqn, salt: hash, ...zonefileHash }, (context, values) => {
    const name = nameIn(values);
    const orderHash = preorderHash(name, values.salt);
    if (namespaceOf(context, splitName(name).namespace) === undefined) return refusal(errors.namespaceUnknown);
    if (!isUnused(context, context.sender, orderHash)) return refusal(errors.notPreordered);
    if (!isFree(context, name)) return refusal(errors.unavailable);
    const used: Effects = { writes: [[key.preorder(context.sender, orderHash), 'used']] };
    const print = printFor(context, 'name-register', name, values['zonefile-hash']);
    return succeed(used, mint(context, name, context.sender), print);
  }),
  // As on the networks, the contract reads the new owner but doesn't transfer the name. Prints only a new zonefile.
  'name-renewal': usersFunction(
    { ...fqn, ...burnTypes, 'new-owner': { optional: 'principal' as const }, ...optionalZonefile },
    (context, { 'stx-to-burn': amount, 'zonefile-hash': zonefile, ...values }) => {
      const { world, sender, burnHeight } = context;
      const name = nameIn(values);
      if (ownerOf(context, name) !== sender) return refusal(errors.notOwner);
      if (world.spendable(sender, burnHeight) < amount) return refusal(errors.insufficientFunds);
      const renewal: Effects = { events: [{ type: 'stx_burn_event', sender, amount }] };
      const prints = zonefile === undefined ? [] : [printFor(context, 'name-renewal', name, zonefile)];
      return succeed(renewal, ...prints);
    },
  ),
  // The token of a revoked name stays with the owner.
  'name-revoke': usersFunction(fqn, (context, values) => {
    const name = nameIn(values);
    if (ownerOf(context, name) !== context.sender) return refusal(errors.notOwner);
    return succeed({ writes: [[key.revoked(name), 'yes']] }, printFor(context, 'name-revoke', name));
  }),
  'name-transfer': usersFunction({ ...fqn, 'new-owner': 'principal', ...optionalZonefile }, (context, values) => {
    const { contract, sender } = context;
    const [name, recipient] = [nameIn(values), values['new-owner']];
    if (ownerOf(context, name) !== sender) return refusal(errors.notOwner);
    if (recipient === sender) return refusal(errors.notOwner);
    const value = tokenOf(name);
    const token: Effects = {
      events: [{ type: 'nft_transfer_event', asset: assetOf(contract), sender, recipient, value }],
      writes: [[key.owned(recipient), name]],
    };
    return succeed(token, printFor(context, 'name-transfer', name, values['zonefile-hash']));
  }),
  'name-update': usersFunction({ ...fqn, ...zonefileHash }, (context, values) => {
    const name = nameIn(values);
    if (ownerOf(context, name) !== context.sender) return refusal(errors.notOwner);
    return succeed(printFor(context, 'name-update', name, values['zonefile-hash']));
  }),
  'namespace-preorder': usersFunction(
    { 'hashed-salted-namespace': hash, ...burnTypes },
    (context, values) => preorder(context, values['hashed-salted-namespace'], values['stx-to-burn']),
    'uint128',
  ),
  'namespace-ready': usersFunction({ namespace: hash }, (context, values) => {
    const namespace = labelOf(values.namespace);
    const state = importedState(context, namespace);
    if (typeof state !== 'string') return state;
    if (state === 'ready') return refusal(errors.launched);
    const print = clarity.tuple({
      namespace: textBuffer(namespace),
      properties: clarity.tuple({
        'can-update-price-function': clarity.bool(true),
        'launched-at': clarity.none(),
        lifetime: clarity.uint(lifetimes[namespace as SimulatedNamespace]),
        'namespace-import': clarity.principal(context.sender),
        'price-function': clarity.tuple({
          base: clarity.uint(DISCOUNT),
          buckets: clarity.list(EXPONENTS.map((index) => clarity.uint(exponentOf(index)))),
          coeff: clarity.uint(COEFFICIENT),
          'no-vowel-discount': clarity.uint(DISCOUNT),
          'nonalpha-discount': clarity.uint(DISCOUNT),
        }),
        'revealed-at': clarity.uint(1),
      }),
      status: clarity.ascii('ready'),
    });
    return succeed({
      events: [{ type: 'contract_event', contract: context.contract, value: print }],
      writes: [storedNamespace(namespace, { state: 'ready', importer: context.sender })],
    });
  }),
  'namespace-reveal': usersFunction(
    { namespace: hash, 'namespace-salt': hash, ...prices, lifetime: 'uint128', 'namespace-import': 'principal' },
    (context, { 'namespace-import': importer, ...values }) => {
      const namespace = labelOf(values.namespace);
      const orderHash = preorderHash(namespace, values['namespace-salt']);
      if (!isUnused(context, context.sender, orderHash)) return refusal(errors.namespaceNotPreordered);
      if (namespaceOf(context, namespace) !== undefined) return refusal(errors.namespaceExists);
      const used: Write = [key.preorder(context.sender, orderHash), 'used'];
      return succeed({ writes: [used, storedNamespace(namespace, { state: 'revealed', importer })] });
    },
  ),
  'namespace-update-function-price': usersFunction({ namespace: hash, ...prices }, (context, values) => {
    const state = importedState(context, labelOf(values.namespace));
    return typeof state === 'string' ? succeed() : state;
  }),
};

/** Namespaces in the order in which they are launched, with lifetimes in blocks; 0 for no end. */
const lifetimes = { btc: 5_000n, id: 52_595n, app: 0n } as const;
type SimulatedNamespace = keyof typeof lifetimes;
const namespaces: readonly SimulatedNamespace[] = ['btc', 'id', 'app'];
const labels = ['alice', 'bob', 'satoshi', 'a_b', 'x-1', 'muneeb', 'zk'] as const;
const subdomainLabels = ['joe', 'mail', 'shop', 'www'] as const;

/** Number of recent names to search for a name of the account. */
const REMEMBERED = 24;

/** The simulated functions of the boot contract `bns`. */
export const bns: ContractTemplate = {
  ...networkContract('bns', 'The boot contract of the name system', functions, {
    clarity_version: 'Clarity1',
    epoch: 'Epoch2_05',
    non_fungible_tokens: [{ name: 'names', type: tupleType({ name: label, namespace: hash }) }],
  }),
  holder(world, contract, prng) {
    const context = { world, contract };
    const opening = namespaces.map((namespace) => namespaceOf(context, namespace));
    const importer = opening.find((namespace) => namespace?.state === 'revealed')?.importer;
    if (importer !== undefined && prng.chance(0.5)) return importer;
    if (prng.chance(0.5)) return world.stored(contract, key.lastPreorder);
    const name = pickName(context, prng);
    return name === undefined ? importer : ownerOf(context, name);
  },
  propose(scene) {
    const { prng, sender } = scene;
    const opening = namespaces.find((namespace) => namespaceOf(scene, namespace)?.state !== 'ready');
    const open = namespaces.filter((namespace) => namespaceOf(scene, namespace)?.state === 'ready');
    if (opening !== undefined && (open.length === 0 || prng.chance(0.25))) {
      const call = openingCall(scene, opening);
      if (call !== undefined) return call;
    }
    if (open.length === 0) return preorderNamespace(scene, opening ?? 'btc');
    const ownNamespace = open.find((namespace) => namespaceOf(scene, namespace)?.importer === sender);
    if (ownNamespace !== undefined && prng.chance(0.2)) return updatePrices(scene, ownNamespace);
    const preordered = findPreordered(scene, open);
    if (preordered !== undefined && prng.chance(0.8)) return registerName(scene, preordered);
    const ownedName = findOwnName(scene);
    if (ownedName !== undefined && prng.chance(0.8)) return ownerCall(scene, ownedName);
    const namespace = prng.pick(open);
    // Sometimes another account tries an operation that only the owner may do, and fails.
    const foreignName = prng.chance(0.08) ? pickName(scene, prng) : undefined;
    return foreignName === undefined ? preorderName(scene, namespace) : revokeName(foreignName);
  },
};

/**
 * Returns the name that an account wants to preorder. It is derived from the account and a counter, so it isn't stored.
 */
const wishOf = (sender: string, namespace: string, counter: number): FullName => {
  const digest = hash160(utf8Bytes(`${sender} ${namespace} ${counter}`));
  return `${labels[digest[0]! % labels.length]!}${digest[1]! % 100}.${namespace}`;
};

/** Returns a counter that grows with the number of registered names, so that accounts want other names. */
const wishCounter = (context: Names): number => Math.floor(namesOf(context) / 8);

function findPreordered(scene: Scene, open: readonly string[]): FullName | undefined {
  const { sender } = scene;
  const counter = wishCounter(scene);
  return open
    .flatMap((namespace) => [wishOf(sender, namespace, counter), wishOf(sender, namespace, Math.max(0, counter - 1))])
    .find((name) => isPreordered(scene, sender, name));
}

/** Picks a recent name; returns undefined before the first. */
function pickName(context: Names, prng: Prng): FullName | undefined {
  const count = namesOf(context);
  return count === 0 ? undefined : nameAt(context, count - prng.below(Math.min(count, REMEMBERED)));
}

function findOwnName(scene: Scene): FullName | undefined {
  const count = namesOf(scene);
  for (let index = count; index > Math.max(0, count - REMEMBERED); index--) {
    const name = nameAt(scene, index);
    if (name !== undefined && ownerOf(scene, name) === scene.sender) return name;
  }
  return undefined;
}

/** Returns the caller's next call to launch a namespace. */
function openingCall(scene: Scene, namespace: SimulatedNamespace): ContractCall | undefined {
  const { prng, sender, recipient } = scene;
  const state = namespaceOf(scene, namespace);
  if (state === undefined) {
    return isPreordered(scene, sender, namespace)
      ? revealNamespace(sender, namespace)
      : preorderNamespace(scene, namespace);
  }
  if (state.importer !== sender) return undefined;
  if (prng.chance(0.3)) return userCall(functions, 'namespace-ready', { namespace: utf8Bytes(namespace) });
  const name = `imported${namesOf(scene)}.${namespace}`;
  const [beneficiary, content] = [recipient(), plainZonefile(name, prng)];
  const args = { ...nameArguments(name), beneficiary, 'zonefile-hash': hashOf(content) };
  return userCall(functions, 'name-import', args, { content });
}

const nameArguments = (name: FullName) => {
  const parts = splitName(name);
  return { namespace: utf8Bytes(parts.namespace), name: utf8Bytes(parts.label) };
};

const hashOf = (zonefile: string): Uint8Array => hash160(utf8Bytes(zonefile));
const optionalHash = (zonefile: string | undefined) => (zonefile === undefined ? undefined : hashOf(zonefile));

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

/** Returns the prices of simulated users' namespaces, which are the same on every branch apart from the coefficient. */
const priceArguments = (coefficient: bigint): ArgumentsOf<typeof prices> => ({
  'p-func-base': DISCOUNT,
  'p-func-coeff': coefficient,
  ...(Object.fromEntries(EXPONENTS.map((index) => [exponentName(index), exponentOf(index)])) as Record<
    ExponentName,
    bigint
  >),
  'p-func-non-alpha-discount': DISCOUNT,
  'p-func-no-vowel-discount': DISCOUNT,
});

const preorderNamespace = ({ sender, prng }: Scene, namespace: string): ContractCall =>
  userCall(functions, 'namespace-preorder', {
    'hashed-salted-namespace': ownHash(sender, namespace),
    'stx-to-burn': BigInt(prng.between(640, 6_400)) * 1_000n,
  });

const revealNamespace = (sender: string, namespace: SimulatedNamespace): ContractCall =>
  userCall(functions, 'namespace-reveal', {
    namespace: utf8Bytes(namespace),
    'namespace-salt': saltOf(sender, namespace),
    ...priceArguments(COEFFICIENT),
    lifetime: lifetimes[namespace],
    'namespace-import': sender,
  });

const updatePrices = ({ prng }: Scene, namespace: string): ContractCall =>
  userCall(functions, 'namespace-update-function-price', {
    namespace: utf8Bytes(namespace),
    ...priceArguments(BigInt(prng.between(1, 500))),
  });

const preorderName = (scene: Scene, namespace: string): ContractCall =>
  userCall(functions, 'name-preorder', {
    'hashed-salted-fqn': ownHash(scene.sender, wishOf(scene.sender, namespace, wishCounter(scene))),
    'stx-to-burn': BigInt(scene.prng.between(1, 200)) * 1_000n,
  });

function registerName({ prng, sender }: Scene, name: FullName): ContractCall {
  const content = plainZonefile(name, prng);
  const args = { ...nameArguments(name), salt: saltOf(sender, name), 'zonefile-hash': hashOf(content) };
  return userCall(functions, 'name-register', args, { content });
}

const revokeName = (name: FullName): ContractCall => userCall(functions, 'name-revoke', nameArguments(name));

/** Returns a random call by an owner of a name. */
function ownerCall(scene: Scene, name: FullName): ContractCall {
  const { prng, recipient } = scene;
  const kind = prng.weighted([
    [10, 'update'],
    [4, 'transfer'],
    [4, 'renewal'],
    [1, 'revoke'],
  ] as const);
  if (kind === 'revoke') return revokeName(name);
  const nameArgs = nameArguments(name);
  if (kind === 'update') {
    const content = prng.chance(0.6) ? zonefileWithSubdomains(name, scene) : plainZonefile(name, prng);
    return userCall(functions, 'name-update', { ...nameArgs, 'zonefile-hash': hashOf(content) }, { content });
  }
  const zonefile = () => (prng.chance(0.5) ? plainZonefile(name, prng) : undefined);
  if (kind === 'transfer') {
    const [to, content] = [recipient(), zonefile()];
    const args = { ...nameArgs, 'new-owner': to, 'zonefile-hash': optionalHash(content) };
    return userCall(functions, 'name-transfer', args, { content });
  }
  const [cost, content] = [BigInt(prng.between(1, 200)) * 1_000n, zonefile()];
  const args = { ...nameArgs, 'stx-to-burn': cost, 'new-owner': undefined, 'zonefile-hash': optionalHash(content) };
  return userCall(functions, 'name-renewal', args, { content });
}
