/**
 * Contracts of other deployers that a project needs. Clarinet keeps their sources in `.cache/requirements`: `ID.clar`, and
 * `ID.json` with the Clarity version.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../../base/errors.ts';
import { writeWhole } from '../../base/files.ts';
import { parsedJson } from '../../base/json.ts';
import { onFile } from '../../base/system-errors.ts';
import { BOOT_ADDRESS, parseStacksAddress } from '../../codec/address.ts';
import { UnreachableError, wholeAnswer } from '../../http/direct-fetch.ts';

interface Requirement {
  name: string;
  source: string;
  clarityVersion: number;
  deployer: string;
  path: string;
}

/** The version of a contract without metadata: most contracts of the public networks work with it. */
const DEFAULT_VERSION = 2;

/** The metadata that Clarinet writes. */
const Metadata = Type.Object({ clarity_version: Type.String({ pattern: '^Clarity[1-9]$' }) });

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
export function findNames(source: string, pattern: RegExp): Set<string> {
  const code = source.replace(/"(?:[^"\\]|\\.)*"|;.*/g, ' ');
  return new Set([...code.matchAll(pattern)].map(([, name = '']) => name));
}

/** Contract identifiers with an address. */
const IDENTIFIER = /'(S[A-Z0-9]{27,40}\.[a-zA-Z][\w-]*)/g;

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
  return Number((value as Static<typeof Metadata>).clarity_version.slice(-1));
}

/**
 * Reads required contracts, and the contracts that they name, in an order in which they can be deployed.
 * @param directory `.cache/requirements` of the project
 * @param ids from the manifest
 * @param manifest path, for errors
 * @throws OperatorError, {@link MissingRequirementError}
 */
export function readRequirements(directory: string, ids: readonly string[], manifest: string): Requirement[] {
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
  writeWhole(join(directory, `${id}.json`), JSON.stringify({ epoch: 'Epoch21', clarity_version }));
  // Last, because the contract is complete once this file exists.
  writeWhole(join(directory, `${id}.clar`), source);
}
