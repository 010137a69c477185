/** The file of `--state`: the chain of a devnet with a project, which another devnet mines again. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../../base/errors.ts';
import { writeWhole } from '../../base/files.ts';
import { parsedJson } from '../../base/json.ts';
import { onFile } from '../../base/system-errors.ts';
import type { ClarinetProject } from './project.ts';

const Hex = Type.String({ pattern: '^0x([0-9a-f]{2})+$' });
const Count = Type.Integer({ minimum: 0 });

const Whole = Type.String({ pattern: '^[0-9]{1,39}$' });

const SavedTransaction = Type.Object({
  raw: Hex,
  /** Tokens that a command added. */
  mint: Type.Optional(Type.Object({ asset: Type.String(), recipient: Type.String(), amount: Whole })),
});

/** A transaction, in a form that a file can contain. */
export type SavedTransaction = Static<typeof SavedTransaction>;

const SavedChain = Type.Object({
  /** The canonical blocks from block 1 on. */
  blocks: Type.Array(
    Type.Object({
      /** Whether the block starts a tenure, after a Bitcoin block. */
      tenure: Type.Boolean(),
      /** Its transaction with the status; null if it is empty. */
      transaction: Type.Union([
        Type.Null(),
        Type.Composite([SavedTransaction, Type.Object({ status: Type.String() })]),
      ]),
    }),
  ),
  snapshots: Type.Array(Type.Object({ name: Type.String(), height: Count, skipped: Count })),
  pending: Type.Array(SavedTransaction),
  /** Seconds that commands added to the machine's time. */
  skipped: Count,
  /** Names of the accounts that commands have named. */
  names: Type.Array(Type.String()),
});

/** The canonical chain of a node above block 0, and the state of its commands. */
export type SavedChain = Static<typeof SavedChain>;

const FORMAT = 'stackside devnet 1';

const SavedNetwork = Type.Object({
  format: Type.Literal(FORMAT),
  seed: Type.Integer(),
  /** Unix seconds of block 0. */
  start: Count,
  /** Micro-STX of block 0, by address. */
  funds: Type.Record(Type.String(), Whole),
  /** The contracts that were deployed last, in their order, with the ids of their deployments. */
  contracts: Type.Array(
    Type.Object({
      name: Type.String(),
      deployer: Type.String(),
      clarity_version: Type.Union([Type.Null(), Type.Integer()]),
      source: Type.String(),
    }),
  ),
  deployments: Type.Array(Hex),
  chain: SavedChain,
});

/** The state of a project's network, which another devnet continues. */
export type SavedNetwork = Static<typeof SavedNetwork>;

/** Returns the error for a file that doesn't fit this devnet. */
export const unfitState = (path: string, problem: string): OperatorError =>
  new OperatorError(
    `The state in ${path} can't be used: ${problem}.`,
    'Delete the file, or name another with --state.',
  );

/**
 * Reads a state.
 * @param seed of the devnet
 * @returns null if the file doesn't exist yet
 * @throws OperatorError if it isn't a state, or has another seed or other accounts, or its directory doesn't exist
 */
export function readState(path: string, seed: number, { accounts }: ClarinetProject): SavedNetwork | null {
  if (!existsSync(path)) {
    const directory = dirname(path);
    if (existsSync(directory)) return null;
    throw new OperatorError(`The directory ${directory} of --state doesn't exist.`, 'Create it, or name another file.');
  }
  const state = parsedJson(onFile(path, () => readFileSync(path, 'utf8')));
  if (!Value.Check(SavedNetwork, state)) throw unfitState(path, 'no devnet of this version wrote it');
  if (state.seed !== seed)
    throw unfitState(path, `it has the seed ${state.seed}, and this devnet has the seed ${seed}`);
  const account = accounts.find(({ address, balance }) => state.funds[address] !== String(balance));
  if (account !== undefined) throw unfitState(path, `the account ${account.name} was added or changed since`);
  return state;
}

/** Writes a state. @throws OperatorError if it can't be written; then the file is unchanged */
export const writeState = (path: string, network: Omit<SavedNetwork, 'format'>): void =>
  writeWhole(path, `${JSON.stringify({ format: FORMAT, ...network } satisfies SavedNetwork)}\n`);
