/**
 * A Clarinet project: its contracts in an order in which they can be deployed, its accounts, and the contracts of other
 * deployers that it needs. Clarinet keeps their sources in `.cache/requirements`: `ID.clar`, and `ID.json` with the Clarity
 * version.
 */
import { pbkdf2Sync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { HDKey } from '@scure/bip32';
import { validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { type Static, Type } from '@sinclair/typebox';
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value';
import { OperatorError } from '../../base/errors.ts';
import { isInside, writeWhole } from '../../base/files.ts';
import { parsedJson } from '../../base/json.ts';
import { onFile } from '../../base/system-errors.ts';
import { BOOT_ADDRESS, parseStacksAddress } from '../../codec/address.ts';
import { MAX_CLARITY_VERSION } from '../../codec/clarity.ts';
import { UnreachableError, wholeAnswer } from '../../http/direct-fetch.ts';
import { EPOCH_VERSION } from '../limits.ts';
import { networks } from '../network.ts';
import { type Account, accountOf, accounts } from '../wallet.ts';

interface Requirement {
  name: string;
  source: string;
  clarityVersion: number;
  deployer: string;
  path: string;
}

/** The version of a contract without metadata: most contracts of the public networks work with it. */
const DEFAULT_VERSION = 2;

/** Clarinet's names of the first epoch with each Clarity version. */
const FIRST_EPOCHS: Readonly<Record<string, string>> = {
  Clarity1: 'Epoch20',
  Clarity2: 'Epoch21',
  Clarity3: 'Epoch30',
  Clarity4: 'Epoch33',
  Clarity5: 'Epoch34',
};

/** Returns the metadata of a contract as Clarinet writes it. @param clarityVersion such as `Clarity3` */
export const metadataOf = (clarityVersion: string): string =>
  JSON.stringify({ epoch: FIRST_EPOCHS[clarityVersion] ?? FIRST_EPOCHS.Clarity5, clarity_version: clarityVersion });

const Metadata = Type.Object({ clarity_version: Type.String({ pattern: `^Clarity[1-${MAX_CLARITY_VERSION}]$` }) });

/** Thrown if a required contract isn't in the directory of requirements. */
export class MissingRequirementError extends OperatorError {
  constructor(
    readonly id: string,
    readonly directory: string,
  ) {
    super(
      `${join(directory, `${id}.clar`)} doesn't exist, but the project requires the contract ${id}.`,
      'Run clarinet check, which downloads requirements, or name a node or a Stackside that has the contract with --fork.',
    );
  }
}

/** Returns the texts that a pattern's group captures in a source, except in comments and strings. */
function findNames(source: string, pattern: RegExp): Set<string> {
  const code = source.replace(/"(?:[^"\\]|\\.)*"|;.*/g, ' ');
  return new Set([...code.matchAll(pattern)].map(([, name = '']) => name));
}

/** Contract identifiers with an address. */
const IDENTIFIER = /'(S[A-Z0-9]{27,40}\.[a-zA-Z][\w-]*)/g;
/** Names of contracts of the same deployer: `.name`. */
const SIBLING = /(?<![\w-])\.([a-zA-Z][\w-]*)/g;

/** Whether every chain has the contract. */
const isBoot = (id: string): boolean => Object.values(BOOT_ADDRESS).some((address) => id.startsWith(`${address}.`));

function readVersion(path: string): number {
  if (!existsSync(path)) return DEFAULT_VERSION;
  const text = onFile(path, () => readFileSync(path, 'utf8'));
  const value = parsedJson(text);
  if (!Value.Check(Metadata, value)) {
    throw new OperatorError(
      `${path} has no clarity_version, such as Clarity2.`,
      'Delete the file and its .clar file, and run clarinet check, which downloads both again.',
    );
  }
  return Number(value.clarity_version.slice(-1));
}

/**
 * Reads required contracts, and the contracts that they name, in an order in which they can be deployed.
 * @param directory `.cache/requirements` of the project
 * @param ids from the manifest
 * @param manifest path, for errors
 * @throws OperatorError, {@link MissingRequirementError}
 */
function readRequirements(directory: string, ids: readonly string[], manifest: string): Requirement[] {
  const requirements = new Map<string, Requirement | null>();
  const add = (id: string): void => {
    if (requirements.has(id) || isBoot(id)) return;
    const [deployer = '', name] = id.split('.');
    if (name === undefined || parseStacksAddress(deployer) === null) {
      throw new OperatorError(
        `${manifest} requires ${id}, which isn't a contract identifier.`,
        'Correct the manifest.',
      );
    }
    const path = join(directory, `${id}.clar`);
    if (!existsSync(path)) throw new MissingRequirementError(id, directory);
    const source = onFile(path, () => readFileSync(path, 'utf8'));
    requirements.set(id, null);
    for (const dependency of findNames(source, IDENTIFIER)) add(dependency);
    for (const sibling of findNames(source, SIBLING)) add(`${deployer}.${sibling}`);
    // A contract comes after those that it names.
    requirements.delete(id);
    const clarityVersion = readVersion(join(directory, `${id}.json`));
    requirements.set(id, { name, source, clarityVersion, deployer, path });
  };
  for (const id of ids) add(id);
  return [...requirements.values()].filter((requirement) => requirement !== null);
}

const Source = Type.Object({ source: Type.String() });
const Interface = Type.Object({ clarity_version: Type.String() });

/** Requests JSON from a node or a Stackside. @throws OperatorError if there is no answer, or one with another form */
async function fetchJson<T extends typeof Source | typeof Interface>(url: string, type: T): Promise<Static<T>> {
  let problem: string;
  try {
    const response = await wholeAnswer(url, {}, { server: 'the server', timeoutMs: ANSWER_MS });
    const value = response.ok ? parsedJson(await response.text()) : null;
    if (Value.Check(type, value)) return value;
    problem = response.ok ? "the answer isn't a contract" : `the status is ${response.status}`;
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    problem = error.message;
  }
  throw new OperatorError(
    `A required contract can't be read from ${url}: ${problem}`,
    'Name a node or a Stackside that has the contract with --fork.',
  );
}

const ANSWER_MS = 20_000;

/**
 * Downloads a required contract into the directory of requirements, in Clarinet's form.
 * @param url of a node or a Stackside
 * @throws OperatorError
 */
export async function fetchRequirement({ id, directory }: MissingRequirementError, url: string): Promise<void> {
  const path = id.replace('.', '/');
  const { source } = await fetchJson(`${url}/v2/contracts/source/${path}?proof=0`, Source);
  const { clarity_version } = await fetchJson(`${url}/v2/contracts/interface/${path}`, Interface);
  onFile(directory, () => mkdirSync(directory, { recursive: true }));
  writeWhole(join(directory, `${id}.json`), metadataOf(clarity_version));
  // Last, because the contract is complete once this file exists.
  writeWhole(join(directory, `${id}.clar`), source);
}

/** An account of a project, with its balance at the start. */
interface ProjectAccount extends Account {
  name: string;
  /** The secret for a wallet: the mnemonic, or the private key in hex. */
  secret: string;
  /** Micro-STX. */
  balance: bigint;
}

export interface ProjectContract {
  name: string;
  source: string;
  /** Null for the epoch's version. */
  clarityVersion: number | null;
  /** Address of the account that deploys the contract; for a requirement, an address without an account. */
  deployer: string;
  path: string;
}

export interface ClarinetProject {
  /** Directory of Clarinet.toml; without a project, the given directory. */
  directory: string;
  accounts: ProjectAccount[];
  /** Requirements and contracts, each after the contracts that it names. */
  contracts: ProjectContract[];
  /** Paths of the files that the project was read from, or would be read from. */
  files: string[];
}

/** File name of a project's manifest. */
export const MANIFEST = 'Clarinet.toml';
const ACCOUNTS = join('settings', 'Devnet.toml');
/** The first account of a wallet (SLIP-44: 5757 is Stacks). */
const DERIVATION = "m/44'/5757'/0'/0/0";
/** Default balance of an account: 100 million STX. */
const BALANCE = 100_000_000_000_000n;
/** Names of the accounts of a directory without a project. The first one deploys. */
const ACCOUNT_NAMES = ['deployer', 'wallet_1', 'wallet_2', 'wallet_3', 'wallet_4', 'wallet_5'];

const Manifest = Type.Object({
  project: Type.Object({
    cache_dir: Type.Optional(Type.String()),
    requirements: Type.Optional(Type.Array(Type.Object({ contract_id: Type.String() }))),
  }),
  contracts: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        path: Type.String(),
        clarity_version: Type.Optional(
          Type.Union([Type.Integer(), Type.Literal('latest')], { rule: 'a whole number such as 3, or "latest"' }),
        ),
        deployer: Type.Optional(Type.String()),
      }),
    ),
  ),
});

const Devnet = Type.Object({
  accounts: Type.Record(
    Type.String(),
    Type.Object({
      mnemonic: Type.String(),
      balance: Type.Optional(Type.Integer({ minimum: 0 })),
      derivation: Type.Optional(Type.String()),
    }),
  ),
});

/** Returns the line on which the faulty statement begins: the one after the longest valid beginning of the text. */
function faultyLine(text: string): number {
  const lines = text.split('\n');
  for (let count = lines.length - 1; count > 0; count--) {
    try {
      Bun.TOML.parse(lines.slice(0, count).join('\n'));
      return count + 1;
    } catch {
      // The fault is in these lines.
    }
  }
  return 1;
}

const TYPE_RULES: Readonly<Record<string, string>> = {
  string: 'a text in quotes',
  integer: 'a whole number',
  object: 'a table',
  array: 'a list of tables',
};

/** Returns what is wrong with a value of a file. */
function ruleOf({ type, schema }: ValueError): string {
  if (type === ValueErrorType.ObjectRequiredProperty) return 'is missing';
  if (type === ValueErrorType.IntegerMinimum) return `must be at least ${schema.minimum}`;
  return `must be ${schema.rule ?? TYPE_RULES[schema.type]}`;
}

/** @throws OperatorError if the file can't be read, or has another form */
function readToml<T extends typeof Manifest | typeof Devnet>(path: string, type: T): Static<T> {
  const text = onFile(path, () => readFileSync(path, 'utf8'));
  let value: unknown;
  try {
    value = Bun.TOML.parse(text);
  } catch (cause) {
    const reason = (cause as Error).message.replace('TOML Parse error: ', '');
    const problem = `${path}:${faultyLine(text)} isn't valid TOML: ${reason}`;
    throw new OperatorError(problem, 'Correct the file.', { cause });
  }
  if (Value.Check(type, value)) return value;
  const error = Value.Errors(type, value).First()!;
  throw new OperatorError(
    `${path}: ${error.path.slice(1).replaceAll('/', '.')} ${ruleOf(error)}.`,
    'Correct the file. clarinet check shows details.',
  );
}

/**
 * Returns the seed of a valid mnemonic without a passphrase (BIP 39), 64 bytes. `@scure/bip39` computes the same seed in
 * JavaScript, which takes up to a hundred times as long.
 */
const toSeed = (mnemonic: string): Uint8Array =>
  pbkdf2Sync(mnemonic.normalize('NFKD'), 'mnemonic', 2_048, 64, 'sha512');

function readAccounts(path: string): ProjectAccount[] {
  return Object.entries(readToml(path, Devnet).accounts).map(([name, { mnemonic, balance, derivation }]) => {
    const words = mnemonic.trim().split(/\s+/).join(' ');
    if (!validateMnemonic(words, wordlist)) {
      throw new OperatorError(
        `${path}: accounts.${name}.mnemonic isn't a valid mnemonic (BIP 39).`,
        'Correct the words and their order.',
      );
    }
    const { privateKey } = HDKey.fromMasterSeed(toSeed(words)).derive(derivation ?? DERIVATION);
    if (privateKey === null) throw new Error('a derived key has no private key');
    const account = accountOf(privateKey, networks.testnet);
    return { ...account, name, secret: words, balance: balance === undefined ? BALANCE : BigInt(balance) };
  });
}

const generateAccounts = (seed: number): ProjectAccount[] =>
  accounts(`stackside-devnet-${seed}`, 'project', ACCOUNT_NAMES.length, networks.testnet).map((account, index) => ({
    ...account,
    name: ACCOUNT_NAMES[index]!,
    secret: `${account.privateKey.toHex()}01`,
    balance: BALANCE,
  }));

/** Sorts contracts so that each follows the contracts that it names. @throws OperatorError if they name each other */
function sortContracts(contracts: readonly ProjectContract[], path: string): ProjectContract[] {
  const byName = new Map(contracts.map((contract) => [contract.name, contract]));
  const sorted = new Set<ProjectContract>();
  const ancestors = new Set<string>();
  const add = (contract: ProjectContract): void => {
    if (sorted.has(contract)) return;
    if (ancestors.has(contract.name)) {
      throw new OperatorError(
        `${path}: the contracts ${[...ancestors].join(', ')} refer to each other, so none can be deployed first.`,
        'Let one of them take the other as a trait.',
      );
    }
    ancestors.add(contract.name);
    for (const name of findNames(contract.source, SIBLING)) {
      const dependency = byName.get(name);
      if (dependency !== undefined && dependency !== contract) add(dependency);
    }
    ancestors.delete(contract.name);
    sorted.add(contract);
  };
  for (const contract of contracts) add(contract);
  return [...sorted];
}

/**
 * Reads the source of a contract. A project may come from somebody else, so it can't name a file outside its directory, not
 * even by a symbolic link.
 * @throws OperatorError if the file is outside the project, or can't be read
 */
function readContractSource(directory: string, name: string, file: string): string {
  const path = resolve(directory, file);
  return onFile(path, () => {
    if (!isInside(path, directory)) {
      throw new OperatorError(
        `${join(directory, MANIFEST)}: contracts.${name}.path is outside the project: ${file}`,
        'Copy the contract into the directory of the project.',
      );
    }
    return readFileSync(path, 'utf8');
  });
}

/** Reads the contracts. @param files receives the paths of the contracts, before they are read */
function readContracts(directory: string, deployers: readonly ProjectAccount[], files: string[]): ProjectContract[] {
  const path = join(directory, MANIFEST);
  const { project, contracts = {} } = readToml(path, Manifest);
  const paths = Object.values(contracts).map(({ path: file }) => resolve(directory, file));
  files.push(...paths.filter((file) => isInside(file, directory)));
  const sources = Object.entries(contracts).map(([name, { path: file, clarity_version: version, deployer }]) => {
    const source = readContractSource(directory, name, file);
    const account = deployers.find((candidate) => candidate.name === (deployer ?? 'deployer'));
    if (account === undefined) {
      throw new OperatorError(
        `${path}: contracts.${name} is deployed by ${deployer ?? 'deployer'}, which isn't an account in ${ACCOUNTS}.`,
        'Add the account, or name another deployer.',
      );
    }
    const clarityVersion = typeof version === 'number' ? version : null;
    if (clarityVersion !== null && !(clarityVersion >= 1 && clarityVersion <= EPOCH_VERSION)) {
      throw new OperatorError(
        `${path}: contracts.${name}.clarity_version is ${clarityVersion}, but the versions are 1 to ${EPOCH_VERSION}.`,
        'Correct the version, or remove it for the newest one.',
      );
    }
    return { name, source, clarityVersion, deployer: account.address, path: resolve(directory, file) };
  });
  const ids = (project.requirements ?? []).map(({ contract_id: id }) => id);
  const required = readRequirements(resolve(directory, project.cache_dir ?? '.cache', 'requirements'), ids, path);
  return [...required, ...sortContracts(sources, path)];
}

/**
 * Finds the project of a directory or of a parent directory. A directory without a project gets generated accounts and
 * no contracts.
 * @param seed of these accounts
 * @param files receives the paths of the project's files, including unreadable ones
 * @throws OperatorError if its files can't be read, or have another form
 */
export function clarinetProject(from: string, seed: number, files: string[] = []): ClarinetProject {
  const start = resolve(from);
  onFile(start, () => {
    if (!existsSync(start))
      throw new OperatorError(`The directory ${start} doesn't exist.`, 'Give the directory of a project.');
  });
  for (let directory = start; ; directory = dirname(directory)) {
    if (existsSync(join(directory, MANIFEST))) {
      const devnet = join(directory, ACCOUNTS);
      files.push(join(directory, MANIFEST), devnet);
      const projectAccounts = existsSync(devnet) ? readAccounts(devnet) : generateAccounts(seed);
      const contracts = readContracts(directory, projectAccounts, files);
      return { directory, accounts: projectAccounts, contracts, files };
    }
    if (dirname(directory) === directory) {
      files.push(join(start, MANIFEST));
      return { directory: start, accounts: generateAccounts(seed), contracts: [], files };
    }
  }
}
