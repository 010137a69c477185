/** Makes the questions for two servers from the declarations of the routes, and from rows of this server. */
import { Prng } from '../../devnet/prng.ts';
import type { Route } from '../../http/route.ts';
import type { SampledBlock, Samples } from './samples.ts';

export interface Question {
  /** The path of the route, as it is declared. */
  route: string;
  /** Path and query. */
  target: string;
  /** Whether the question is about data well below both tips, so that no new block changes the answer. */
  isFixed: boolean;
  /** Whether to also request the second page, if there is one. */
  readsNextPage: boolean;
}

/** A question that can't be sent, with the reason. */
export class SkippedQuestion {
  constructor(readonly reason: string) {}
}

interface Schema {
  type?: string;
  anyOf?: readonly Schema[];
  const?: unknown;
  items?: Schema;
  minimum?: number;
  maximum?: number;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Schema;
}

/** Values for one parameter, or for several that belong together. */
interface Source {
  names: readonly string[];
  /** Routes that use the source; all by default. */
  routes?: RegExp;
  /** Reason for skipping a route if there are no values. */
  without: string;
  values: (samples: Samples) => readonly (readonly string[])[];
  /** Whether the values name something that later blocks don't change. */
  isFixed?: boolean;
}

const singles = (values: readonly (string | number | null)[]): string[][] =>
  values.filter((value) => value !== null).map((value) => [String(value)]);

/** A transaction id that no transaction has. */
const NO_TRANSACTION = '5'.repeat(64);
const withoutPrefix = (hex: string): string => hex.replace(/^0x/, '');

/** Transaction ids as clients write them: with 0x and, less often, without. One is unknown. */
const txIds = ({ sent }: Samples): string[][] => {
  const ids = sent.map(([, id]) => id);
  return singles([...ids, ...ids, ...ids.map(withoutPrefix), `0x${NO_TRANSACTION}`]);
};

const blockFields =
  (...fields: readonly (keyof SampledBlock)[]) =>
  ({ blocks }: Samples): string[][] =>
    singles(blocks.flatMap((block) => fields.map((field) => block[field])));

/** Reason for skipping a route if the sampled rows contain none of these things. */
const noneIn = (things: string): string => `no ${things} among the sampled rows`;
const NO_ACCOUNTS = noneIn('accounts');
const NO_TRANSACTIONS = noneIn('transactions');
const NO_FTS = noneIn('fungible tokens');
const NO_NFTS = noneIn('non-fungible tokens');
const NO_HOLDERS = noneIn('holders of fungible tokens');

const NO_BLOCKS = 'no blocks';

/**
 * Makes a source.
 * @param names of parameters, separated by blanks
 * @param values the name of samples, or a function that returns values
 */
const source = (
  names: string,
  without: string,
  values: Exclude<keyof Samples, 'blocks'> | Source['values'],
  rest: Pick<Source, 'routes' | 'isFixed'> = {},
): Source => ({
  names: names.split(' '),
  without,
  values:
    typeof values === 'function'
      ? values
      : (samples) => samples[values].map((value) => (typeof value === 'string' ? [value] : value)),
  ...rest,
});

const FIXED = { isFixed: true };
const addresses = ({ principals }: Samples) => singles(principals.filter((principal) => !principal.includes('.')));
const collections = ({ nfts }: Samples) => singles(nfts.map(([asset]) => asset));

/** The first source that fits the route and the missing parameters is used. */
const SOURCES: readonly Source[] = [
  source('asset_identifier value', NO_NFTS, 'nfts'),
  source('principal asset_identifier', NO_HOLDERS, 'ftHoldings', { routes: /\/ft\// }),
  source('principal token', NO_HOLDERS, 'ftHoldings'),
  source('principal tx_id', NO_TRANSACTIONS, 'sent', FIXED),
  source('name zoneFileHash', 'no names with a zonefile', 'zonefiles'),
  source('blockchain address', NO_ACCOUNTS, ({ principals }) => principals.map((principal) => ['stacks', principal])),
  source('bond_index principal', 'no principals on the list of a bond', 'allowed', { routes: /allowlist/ }),
  source('bond_index principal', 'no registrations for a bond', 'registered'),
  source('cycle_number signer_key', 'no signers of a cycle', 'cycleSigners'),
  source('pox tx_id', 'no stacking transactions', 'poxTransactions', FIXED),
  source('pox principal', 'no stackers', 'poxStackers'),
  source('pox pool_principal', 'no delegations to a pool', 'poxPools'),
  source('pox', 'no versions of pox', () => singles(['pox2', 'pox3', 'pox4'])),
  source('principal', 'no signers', 'signers', { routes: /staking\/signers/ }),
  source('principal', NO_ACCOUNTS, addresses, { routes: /^\/extended\/v3\/.*\/nonces$/ }),
  source('principal', NO_ACCOUNTS, 'principals'),
  source('tx_id', NO_TRANSACTIONS, txIds, FIXED),
  source('height_or_hash', NO_BLOCKS, blockFields('burnHeight', 'burnHash'), { routes: /burn-blocks/, ...FIXED }),
  source('height_or_hash', NO_BLOCKS, blockFields('height', 'hash'), FIXED),
  source('hash', 'no microblocks', 'microblocks', { routes: /microblock/ }),
  ...['hash', 'block_hash'].map((name) => source(name, NO_BLOCKS, blockFields('hash'), FIXED)),
  ...['height', 'until_block', 'block_height'].map((name) => source(name, NO_BLOCKS, blockFields('height'), FIXED)),
  source('after_block', NO_BLOCKS, blockFields('height')),
  ...['start_time', 'end_time'].map((name) => source(name, NO_BLOCKS, blockFields('time'))),
  source('burn_block_height', NO_BLOCKS, blockFields('burnHeight'), FIXED),
  source('burn_block_hash', NO_BLOCKS, blockFields('burnHash'), FIXED),
  source('tenure_height', 'no tenures', blockFields('tenureHeight'), FIXED),
  source('timestamp', NO_BLOCKS, blockFields('time'), FIXED),
  source('id', noneIn('transactions, blocks and accounts'), (samples) => [
    ...txIds(samples),
    ...blockFields('hash')(samples),
    ...singles(samples.principals),
  ]),
  source('asset_identifier', NO_NFTS, collections, { routes: /nft/ }),
  source('asset_identifiers', NO_NFTS, collections),
  source('asset_identifier', NO_FTS, 'fts'),
  source('token', NO_FTS, 'fts'),
  source('contract_id', noneIn('contracts'), 'contracts'),
  source('function_name', noneIn('calls'), ({ calls }) => singles(calls.map(([, name]) => name))),
  source('nonce', 'no nonces', () => singles([1, 2, 10])),
  source('name', 'no names', 'names'),
  source('tld', 'no namespaces', 'namespaces'),
  source('page', 'no pages', () => singles([0, 1])),
  source('bond_index', 'no bonds', 'bonds'),
  source('cycle_number', 'no cycles', ({ cycles }) => singles(['current', ...cycles]), { routes: /staking/ }),
  source('cycle_number', 'no cycles', 'cycles'),
  source('network', 'no networks', () => singles(['mainnet', 'testnet'])),
  source('address', 'no rewards of Bitcoin addresses', 'rewarded', { routes: /rewards/ }),
  source('address', 'no reward slots', 'slotHolders', { routes: /slot_holders/ }),
  source('burnchain_address', 'no pox transactions in the sampled blocks', 'paid'),
  source('from_address', NO_ACCOUNTS, addresses),
  ...['address', 'to_address', 'sender_address', 'recipient_address'].map((name) =>
    source(name, NO_ACCOUNTS, 'principals'),
  ),
  source('trait_abi', 'the request reads every contract, which is too expensive for a foreign server', () => []),
];

/** For routes that require one of several optional parameters: the parameter to send. */
const REQUIRED: Readonly<Record<string, string>> = { '/extended/v1/tx/events': 'address' };

/** Each server has its own cursors, so a cursor comes from the previous page of the same server. */
const CURSOR = 'cursor';
const SIZES: ReadonlySet<string> = new Set(['limit', 'event_limit']);
const OFFSETS: ReadonlySet<string> = new Set(['offset', 'event_offset']);

/** Returns the words that a parameter accepts; none if it accepts other values. */
function wordsOf({ type, anyOf, items, ...schema }: Schema): string[] {
  if (type === 'boolean') return ['true'];
  if (items !== undefined) return wordsOf(items);
  const words = anyOf?.map((variant) => variant.const) ?? [schema.const];
  return words.every((word) => typeof word === 'string') ? words : [];
}

const sizes = ({ minimum = 0, maximum = 50 }: Schema): string[][] =>
  singles([1, 3, 10, 20, 50].filter((size) => size >= minimum && size <= maximum));

/** Whether a source fits a route and provides only missing parameters. */
const fits = (source: Source, path: string, missingParameters: ReadonlySet<string>): boolean =>
  (source.routes?.test(path) ?? true) && source.names.every((name) => missingParameters.has(name));

/** @throws Error for a parameter without a source, which a new route may have */
function sourceFor(path: string, missingParameters: ReadonlySet<string>): Source {
  const match = SOURCES.find((source) => fits(source, path, missingParameters));
  if (match !== undefined) return match;
  throw new Error(
    `${path}: no values for ${[...missingParameters].join(', ')}; a new parameter needs a source in questions.ts`,
  );
}

/** The parts of a route's questions. */
export interface Plan {
  path: string;
  required: readonly Source[];
  optional: readonly Source[];
  size: Source | null;
  offset: Source | null;
  hasPages: boolean;
  /** Names of the parameters in the path. */
  pathNames: ReadonlySet<string>;
}

function toPlan({ path, detail }: Route): Plan {
  const parameters = detail.parameters as readonly Parameter[];
  const isRequired = (field: Parameter): boolean =>
    field.in === 'path' || field.required || REQUIRED[path] === field.name;
  const missingParameters = new Set(parameters.filter(isRequired).map(({ name }) => name));
  const required: Source[] = [];
  while (missingParameters.size > 0) {
    const source = sourceFor(path, missingParameters);
    required.push(source);
    for (const name of source.names) missingParameters.delete(name);
  }
  const others = parameters.filter((other) => other.in === 'query' && !isRequired(other) && other.name !== CURSOR);
  const numberSource = (names: ReadonlySet<string>, values: (schema: Schema) => string[][]): Source | null => {
    const parameter = others.find(({ name }) => names.has(name));
    return parameter === undefined
      ? null
      : { names: [parameter.name], without: 'no numbers', values: () => values(parameter.schema) };
  };
  const optional = others
    .filter(({ name }) => !SIZES.has(name) && !OFFSETS.has(name))
    .map(({ name, schema }): Source => {
      const words = wordsOf(schema);
      if (words.length === 0) return sourceFor(path, new Set([name]));
      return { names: [name], without: 'no words', values: () => singles(words) };
    });
  return {
    path,
    required,
    optional,
    size: numberSource(SIZES, sizes),
    offset: numberSource(OFFSETS, () => singles([1, 2, 5, 20])),
    hasPages: parameters.some(({ name }) => name === CURSOR),
    pathNames: new Set(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)),
  };
}

/** Routes that only this server has, that another service answers elsewhere, or that read a Bitcoin node. */
const NOT_COMPARED = /^\/(stackside|metadata|chainhooks)\b|\/faucets\//;

/** Returns the plans of the routes that both servers have. @throws Error for a parameter without a source */
export const plansOf = (routes: readonly Route[]): Plan[] =>
  routes.filter(({ method, path, hidden }) => method === 'GET' && !hidden && !NOT_COMPARED.test(path)).map(toPlan);

/** Makes a question about samples. @param seed determines the random choices */
export function makeQuestion(
  { path, required, optional, size, offset, hasPages, pathNames }: Plan,
  samples: Samples,
  seed: string,
): Question | SkippedQuestion {
  const prng = new Prng(seed);
  const query = new URLSearchParams();
  let target = path;
  let isFixed = false;

  /** Uses a source. @returns whether it has values */
  function use({ names, values, isFixed: fixes = false }: Source): boolean {
    const choices = values(samples);
    if (choices.length === 0) return false;
    const choice = prng.pick(choices);
    isFixed ||= fixes;
    for (const [index, name] of names.entries()) {
      const value = choice[index] ?? '';
      if (pathNames.has(name)) target = target.replace(`{${name}}`, encodeURIComponent(value));
      else query.set(name, value);
    }
    return true;
  }

  for (const source of required) {
    if (!use(source)) return new SkippedQuestion(source.without);
  }
  if (size !== null && prng.chance(3 / 4)) use(size);
  if (offset !== null && prng.chance(1 / 4)) use(offset);
  if (optional.length > 0 && prng.chance(1 / 2)) use(prng.pick(optional));
  const readsNextPage = hasPages && prng.chance(1 / 2);
  return { route: path, target: query.size === 0 ? target : `${target}?${query}`, isFixed, readsNextPage };
}
