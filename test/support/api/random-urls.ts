/** Random URLs of the API's GET routes, about the blocks, transactions and accounts in a stream of events. */
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import type { Prng } from '../../../src/devnet/prng.ts';

/** Routes that only a process which accepts events answers: of the server itself. */
export const isOfOperator = ({ path }: GetRoute): boolean =>
  /^\/stackside\/v1\/(alerts|history|hosts|inspections|log|sql|status|system)\b/.test(path);

/** The part of a JSON schema that tests use. */
export interface Schema {
  type?: string;
  anyOf?: Schema[];
  enum?: string[];
  const?: string;
  items?: Schema;
  minimum?: number;
  maximum?: number;
  pattern?: string;
}
export interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema: Schema;
}
export interface GetRoute {
  path: string;
  parameters: Parameter[];
}

export interface Route extends GetRoute {
  /** `GET`. */
  method: string;
}

interface Document {
  paths: Record<string, Record<string, { parameters?: (Omit<Parameter, 'in'> & { in: string })[] }>>;
}

/** The routes that an OpenAPI document describes, with their parameters but for headers. */
export function routesOf(described: unknown): Route[] {
  const document = described as Document;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [] }]) => ({
      method: method.toUpperCase(),
      path,
      parameters: parameters
        .filter((item): item is Parameter => item.in !== 'header')
        .map((item) => ({ ...item, required: item.required === true })),
    })),
  );
}

/** Returns only the GET routes. */
export const getRoutes = (document: unknown): GetRoute[] => routesOf(document).filter(({ method }) => method === 'GET');

const HASH = /\b0x[0-9a-f]{64}\b/g;
const BITCOIN_RECIPIENT = /"recipient":\s*"([^"]+)"/g;
const NAMED = /\bS[TPMN][0-9A-Z]{28,41}(\.[a-zA-Z][\w-]*(::[a-zA-Z][\w-]*)?)?/g;

/** Values for the parameters of routes: identifiers in the stream, grouped by their format. */
export class Subjects {
  readonly hashes = new Set<string>();
  readonly principals = new Set<string>();
  readonly contracts = new Set<string>();
  readonly assets = new Set<string>();
  readonly bitcoinAddresses = new Set<string>();
  /** Names and namespaces. Events don't contain them as text, so tests add them. */
  readonly names = new Set<string>();
  readonly namespaces = new Set<string>();
  readonly heights = new Set(['1']);
  readonly burnHeights = new Set(['1']);
  /** When blocks were mined, in Unix seconds. */
  readonly times = new Set(['1']);

  /** Learns the identifiers that an event speaks of. */
  add({ path, body }: NodeEvent): void {
    for (const [hash] of body.matchAll(HASH)) this.hashes.add(hash);
    for (const [text, contract, asset] of body.matchAll(NAMED)) {
      if (asset !== undefined) this.assets.add(text);
      else if (contract !== undefined) this.contracts.add(text);
      else this.principals.add(text);
    }
    if (path === '/new_burn_block') {
      for (const [, address] of body.matchAll(BITCOIN_RECIPIENT)) this.bitcoinAddresses.add(address ?? '');
    }
    if (path !== '/new_block') return;
    const block = JSON.parse(body) as { block_height: number; burn_block_height: number; burn_block_time: number };
    this.heights.add(String(block.block_height));
    this.burnHeights.add(String(block.burn_block_height));
    this.times.add(String(block.burn_block_time));
  }
}

const BITCOIN_ADDRESS = 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss';
const FALLBACK_HASH = `0x${'ab'.repeat(32)}`;
/** A trait that every contract has, and a trait that hardly any contract has. Function names are ignored. */
const TRAITS = ['{"functions":[]}', '{"functions":[{"args":[{"type":"bool"},{"type":"int128"}]}]}'];
const FALLBACK_PRINCIPAL = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';

function valueFor({ name, schema }: Pick<Parameter, 'name' | 'schema'>, values: Subjects, prng: Prng): string {
  const draw = (set: ReadonlySet<string>, otherwise: string): string =>
    set.size === 0 ? otherwise : prng.pick([...set]);
  const hash = () => draw(values.hashes, FALLBACK_HASH);
  const principal = () => draw(values.principals, FALLBACK_PRINCIPAL);
  const contract = () => draw(values.contracts, `${FALLBACK_PRINCIPAL}.token`);
  const anyPrincipal = () => (prng.chance(0.3) ? contract() : principal());
  const height = () => draw(values.heights, '1');
  const burnHeight = () => draw(values.burnHeights, '1');
  switch (name) {
    case 'tx_id':
    case 'hash':
    case 'block_hash':
    case 'burn_block_hash':
    case 'id':
      return hash();
    case 'height_or_hash':
      return prng.pick([height(), burnHeight(), hash(), 'latest']);
    case 'height':
    case 'block_height':
    case 'tenure_height':
    case 'until_block':
      return height();
    case 'burn_block_height':
      return burnHeight();
    case 'start_time':
    case 'end_time':
      return draw(values.times, '1');
    case 'principal':
    case 'address':
    case 'sender_address':
    case 'recipient_address':
    case 'from_address':
    case 'to_address':
    case 'pool_principal':
    case 'recipient':
      return anyPrincipal();
    case 'sender':
      return principal();
    case 'deployer':
      return contract().split('.')[0] ?? '';
    case 'topic':
      return prng.pick(['print', 'x']);
    case 'contract_id':
      return contract();
    case 'asset_identifier':
    case 'asset_identifiers':
    case 'token':
      return draw(values.assets, `${FALLBACK_PRINCIPAL}.token::coin`);
    case 'value':
      return String(prng.between(1, 4));
    case 'network':
      return prng.pick(['mainnet', 'testnet']);
    case 'trait_abi':
      return prng.pick(TRAITS);
    case 'name':
      return draw(values.names, 'nobody.btc');
    case 'day':
      return new Date(Number(draw(values.times, '1')) * 1000).toISOString().slice(0, 10);
    case 'tld':
    case 'namespace':
      return draw(values.namespaces, 'btc');
    case 'zoneFileHash':
      return 'ab'.repeat(20);
    case 'blockchain':
      return 'stacks';
    case 'pox':
      return prng.pick(['pox2', 'pox3', 'pox4']);
    case 'signer_key':
      return `0x02${'02'.repeat(32)}`;
    case 'cycle_number':
      return String(prng.between(1, 8));
    case 'burnchain_address':
      return draw(values.bitcoinAddresses, BITCOIN_ADDRESS);
    case 'q': {
      // Part of an identifier, as somebody typed it, from any of its characters.
      const text = prng.pick([hash(), anyPrincipal(), contract(), height(), draw(values.names, 'nobody.btc'), 'token']);
      const start = prng.chance(0.5) ? 0 : prng.below(text.length);
      return text.slice(start, start + 1 + prng.below(text.length));
    }
    case 'bond_index':
      return String(prng.between(0, 3));
  }
  const choices = schema.enum ?? schema.anyOf?.flatMap((part) => (part.const === undefined ? [] : [part.const])) ?? [];
  if (choices.length > 0) return prng.pick(choices);
  if (schema.type === 'array') return valueFor({ name, schema: schema.items ?? {} }, values, prng);
  if (schema.type === 'integer') return String(prng.between(schema.minimum ?? 0, (schema.minimum ?? 0) + 5));
  if (schema.type === 'boolean') return prng.pick(['true', 'false']);
  return 'x';
}

/** Optional parameters of routes that require at least one of them. */
export const oneOf: Readonly<Record<string, readonly string[]>> = {
  '/extended/v1/tx/events': ['address', 'tx_id'],
  '/stackside/v1/logs': ['contract_id', 'deployer'],
};

/** How often a URL has exactly one of these parameters. */
const SUBJECT_CHANCE = 0.9;

/** Share of the optional parameters in a URL. URLs never contain cursors, because each cursor belongs to one list. */
const OPTIONAL = 0.2;

/** A path of the route with its query, every parameter with a value of its form. */
export function randomUrl({ path, parameters }: GetRoute, values: Subjects, prng: Prng): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const parameter of parameters) {
    if (parameter.in === 'path') {
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(valueFor(parameter, values, prng)));
    } else if (parameter.required || (parameter.name !== 'cursor' && prng.chance(OPTIONAL))) {
      query.set(parameter.name, valueFor(parameter, values, prng));
    }
  }
  const subjects = parameters.filter(({ name }) => oneOf[path]?.includes(name));
  if (subjects.length > 0 && prng.chance(SUBJECT_CHANCE)) {
    for (const { name } of subjects) query.delete(name);
    const subject = prng.pick(subjects);
    query.set(subject.name, valueFor(subject, values, prng));
  }
  return `${filled}${query.size === 0 ? '' : `?${query}`}`;
}
