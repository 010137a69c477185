/** The questions for two servers: a table of the routes, and samples from rows of this server for their parameters. */
import { fieldOf } from './differences.ts';
import { type Answer, NoAnswer, type Server } from './server.ts';

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

/**
 * The routes that both servers have, by the samples that their paths need. The parameters of the query follow, with the words to
 * choose from. Those with `!` are always sent, with a text of the sample. The others vary from question to question.
 *
 * Missing are routes that only this server has, that another service answers elsewhere or that read a Bitcoin node, and
 * `/extended/v1/contract/by_trait`, which reads every contract: too much to ask from a foreign server.
 */
const ROUTES: Readonly<Record<string, string>> = {
  chains: `
    /extended
    /extended/v1/block?limit=1|10|30&offset
    /extended/v1/burnchain/reward_slot_holders?limit&offset
    /extended/v1/burnchain/rewards?limit&offset
    /extended/v1/info/network_block_times
    /extended/v1/microblock?limit&offset
    /extended/v1/microblock/unanchored/txs
    /extended/v1/stx_supply?height&unanchored=true
    /extended/v1/stx_supply/circulating/plain
    /extended/v1/stx_supply/legacy_format?height&unanchored=true
    /extended/v1/stx_supply/total/plain
    /extended/v1/tokens/ft/stx/holders?limit&offset
    /extended/v1/tx?limit&offset&from_address&to_address&start_time&end_time&contract_id&function_name&nonce=1|2|10
      &type=token_transfer|smart_contract|contract_call|poison_microblock|coinbase|tenure_change|unknown&order=asc|desc
      &sort_by=block_height|burn_block_time|fee&unanchored=true&exclude_function_args=true
    /extended/v1/tx/mempool?limit&offset&sender_address&recipient_address&address&order_by=age|size|fee&order=asc|desc
      &unanchored=true&exclude_function_args=true
    /extended/v1/tx/mempool/stats
    /extended/v2/blocks?limit=1|10|30&offset&cursor
    /extended/v2/blocks/average-times
    /extended/v2/burn-blocks?limit=1|10|30&offset
    /extended/v2/mempool/fees
    /extended/v2/pox/cycles?limit&offset
    /extended/v3/mempool/transactions?limit&cursor
    /extended/v3/staking/bonds?limit&cursor
    /extended/v3/staking/signers?limit&cursor
    /extended/v3/tokens/stx/holders?limit&cursor
    /extended/v3/tokens/stx/supply
    /extended/v3/transactions?limit&cursor
    /v1/names?page=0|1&unanchored=true
    /v1/namespaces?unanchored=true`,
  networks: '/extended/v1/info/network_block_time/{network}',
  blocks: `
    /extended/v1/block/by_height/{height}
    /extended/v1/block/{hash}
    /extended/v1/tx/block/{block_hash}?limit&offset&exclude_function_args=true
    /extended/v1/tx/block_height/{height}?limit&offset&exclude_function_args=true
    /extended/v2/blocks/by-block-time/{timestamp}
    /extended/v2/blocks/{height_or_hash}
    /extended/v2/blocks/{height_or_hash}/signer-signatures?limit&offset
    /extended/v2/blocks/{height_or_hash}/transactions?limit&offset
    /extended/v3/blocks/{height_or_hash}/transactions?limit&cursor`,
  tenures: '/extended/v2/block-tenures/{tenure_height}/blocks?limit=1|10|30&offset&cursor',
  'Bitcoin blocks': `
    /extended/v1/block/by_burn_block_hash/{burn_block_hash}
    /extended/v1/block/by_burn_block_height/{burn_block_height}
    /extended/v2/burn-blocks/{height_or_hash}
    /extended/v2/burn-blocks/{height_or_hash}/blocks?limit=1|10|30&offset
    /extended/v2/burn-blocks/{height_or_hash}/pox-transactions?limit=1|10|30&offset`,
  microblocks: '/extended/v1/microblock/{hash}',
  transactions: `
    /extended/v1/tx/multiple?tx_id!&event_limit&event_offset&unanchored=true&exclude_function_args=true
    /extended/v1/tx/{tx_id}?event_limit&event_offset&unanchored=true&exclude_function_args=true
    /extended/v1/tx/{tx_id}/raw
    /extended/v3/transactions/{tx_id}?include=function_args|source_code|post_conditions|result
    /extended/v3/transactions/{tx_id}/events?limit&cursor`,
  'sent transactions': `
    /extended/v1/address/{principal}/{tx_id}/with_transfers
    /extended/v2/addresses/{principal}/transactions/{tx_id}/events?limit&offset
    /extended/v3/principals/{principal}/balance-changes?tx_id!&limit&cursor
    /extended/v3/principals/{principal}/transactions/{tx_id}/balance-changes?limit&cursor`,
  'things to search': '/extended/v1/search/{id}?include_metadata=true',
  accounts: '/extended/v3/principals/{principal}/nonces',
  principals: `
    /extended/v1/address/{principal}/assets?limit&offset&unanchored=true&until_block
    /extended/v1/address/{principal}/balances?unanchored=true&until_block
    /extended/v1/address/{principal}/mempool?limit&offset&unanchored=true&exclude_function_args=true
    /extended/v1/address/{principal}/nonces?block_height&block_hash
    /extended/v1/address/{principal}/stx?unanchored=true&until_block
    /extended/v1/address/{principal}/stx_inbound?limit&offset&height&unanchored=true&until_block
    /extended/v1/address/{principal}/transactions?limit&offset&height&unanchored=true&until_block
      &exclude_function_args=true
    /extended/v1/address/{principal}/transactions_with_transfers?limit&offset&height&unanchored=true&until_block
    /extended/v1/tx/events?address!&tx_id&limit&offset&include_total=true
      &type=smart_contract_log|stx_lock|stx_asset|fungible_token_asset|non_fungible_token_asset
    /extended/v2/addresses/{principal}/balances/ft?limit&offset
    /extended/v2/addresses/{principal}/balances/stx?include_mempool=true
    /extended/v2/addresses/{principal}/transactions?limit&offset&cursor&exclude_function_args=true
    /extended/v3/principals/{principal}/balances/ft?limit&cursor
    /extended/v3/principals/{principal}/balances/stx
    /extended/v3/principals/{principal}/mempool/transactions?limit&cursor
    /extended/v3/principals/{principal}/staking
    /extended/v3/principals/{principal}/staking/bonds?limit&cursor
    /extended/v3/principals/{principal}/transactions?limit&cursor
    /extended/v3/principals/{principal}/transfers/stx/inbound?limit&cursor
    /extended/v3/principals/{principal}/transfers/stx/outbound?limit&cursor
    /v1/addresses/{blockchain}/{address}?unanchored=true`,
  contracts: `
    /extended/v1/contract/{contract_id}
    /extended/v1/contract/{contract_id}/events?limit&offset
    /extended/v2/smart-contracts/status?contract_id!
    /extended/v2/smart-contracts/{contract_id}/logs?limit&offset&cursor
    /extended/v3/smart-contracts/{contract_id}?include=source_code`,
  'balances of fungible tokens': `
    /extended/v1/tokens/ft/{token}/holders?limit&offset
    /extended/v2/addresses/{principal}/balances/ft/{token}
    /extended/v3/principals/{principal}/balances/ft/{asset_identifier}
    /extended/v3/principals/{principal}/transfers/ft/{asset_identifier}?limit&cursor
    /extended/v3/tokens/ft/{asset_identifier}/holders?limit&cursor
    /extended/v3/tokens/ft/{asset_identifier}/supply`,
  NFTs: `
    /extended/v1/tokens/nft/history?asset_identifier!&value!&limit&offset&tx_metadata=true&unanchored=true
    /extended/v1/tokens/nft/holdings?principal!&asset_identifiers&limit&offset&tx_metadata=true
    /extended/v1/tokens/nft/mints?asset_identifier!&limit&offset&tx_metadata=true&unanchored=true
    /extended/v3/principals/{principal}/balances/nft?asset_identifier&limit&cursor
    /extended/v3/tokens/nft/{asset_identifier}/{value}/history?limit&cursor`,
  names: `
    /v1/names/{name}?unanchored=true
    /v1/names/{name}/subdomains?unanchored=true
    /v1/names/{name}/zonefile?unanchored=true
    /v2/prices/names/{name}`,
  zonefiles: '/v1/names/{name}/zonefile/{zoneFileHash}?unanchored=true',
  namespaces: `
    /v1/namespaces/{tld}/names?page=0|1&unanchored=true
    /v2/prices/namespaces/{tld}`,
  'rewarded addresses': `
    /extended/v1/burnchain/rewards/{address}?limit&offset
    /extended/v1/burnchain/rewards/{address}/total`,
  'addresses with reward slots': '/extended/v1/burnchain/reward_slot_holders/{address}?limit&offset',
  'recipients of pox transactions': '/extended/v2/addresses/{burnchain_address}/pox-transactions?limit=1|10|30&offset',
  cycles: `
    /extended/v2/pox/cycles/{cycle_number}
    /extended/v2/pox/cycles/{cycle_number}/signers?limit&offset`,
  'cycles of staking': `
    /extended/v3/staking/cycles/{cycle_number}
    /extended/v3/staking/cycles/{cycle_number}/signers?limit&cursor`,
  'signers of cycles': `
    /extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}
    /extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}/stackers?limit&offset`,
  bonds: `
    /extended/v3/staking/bonds/{bond_index}
    /extended/v3/staking/bonds/{bond_index}/allowlist?limit&cursor
    /extended/v3/staking/bonds/{bond_index}/registrations?limit&cursor`,
  'principals on the lists of bonds': '/extended/v3/staking/bonds/{bond_index}/allowlist/{principal}',
  'registrations for bonds': '/extended/v3/staking/bonds/{bond_index}/registrations/{principal}',
  signers: `
    /extended/v3/staking/signers/{principal}
    /extended/v3/staking/signers/{principal}/stakers?limit&cursor`,
  'versions of pox': '/extended/v1/{pox}/events?limit&offset',
  'stacking transactions': '/extended/v1/{pox}/tx/{tx_id}',
  stackers: '/extended/v1/{pox}/stacker/{principal}',
  'delegations to pools':
    '/extended/v1/{pox}/{pool_principal}/delegations?limit&offset&after_block&height&unanchored=true',
};

/** The samples and texts for the other parameters, by the names of the parameters. */
const OPTIONAL: Readonly<Record<string, string>> = {
  'blocks height': 'height block_height until_block after_block',
  'blocks block_hash': 'block_hash',
  'blocks timestamp': 'start_time end_time',
  'transactions tx_id': 'tx_id',
  'accounts principal': 'from_address',
  'principals principal': 'address to_address sender_address recipient_address',
  'contracts contract_id': 'contract_id',
  'calls function_name': 'function_name',
  'NFTs asset_identifier': 'asset_identifier asset_identifiers',
};

/** Words of each parameter of a name with this end. */
const WORDS = { limit: '1|3|10|20|50', offset: '1|2|5|20' };

/** Parameters that name something that later blocks don't change. */
const FIXED = /[{?&](tx_id|\w*height|height_or_hash|\w*block_hash|hash|until_block|timestamp)\b/;

interface Parameter {
  name: string;
  isRequired: boolean;
  /** The values to choose from, or the samples and the name of their text. */
  words: readonly string[];
  source: readonly string[];
}

export interface Route {
  path: string;
  /** The samples for the path and the required parameters. */
  subject: string;
  query: readonly Parameter[];
}

function toParameter(text: string): Parameter {
  const [, name = '', mark, own] = /^(\w+)(!?)(?:=(.*))?$/.exec(text) ?? [];
  const words = own ?? Object.entries(WORDS).find(([end]) => name.endsWith(end))?.[1];
  const source = Object.entries(OPTIONAL).find(([, names]) => names.split(' ').includes(name))?.[0];
  return { name, isRequired: mark === '!', words: words?.split('|') ?? [], source: source?.split(' ') ?? [] };
}

export const routes: readonly Route[] = Object.entries(ROUTES).flatMap(([subject, lines]) =>
  lines
    .trim()
    .split(/\s+(?=\/)/)
    .map((line): Route => {
      const [path = '', query] = line.replaceAll(/\s+/g, '').split('?');
      return { path, subject, query: query?.split('&').map(toParameter) ?? [] };
    }),
);

/** Texts by the names of the parameters that they are for. */
type Sample = Readonly<Record<string, string | number>>;
export type Samples = Readonly<Record<string, readonly Sample[]>>;

/** Multiples of this number, modulo 1, are spread evenly, however many there are. */
const DISTANCE = (Math.sqrt(5) - 1) / 2;
const spread = (turn: number, length: number): number => Math.floor(((turn * DISTANCE) % 1) * length);
const pick = <T>(items: readonly T[], turn: number): T | undefined => items[spread(turn, items.length)];
const cycle = <T>(items: readonly T[], turn: number): T | undefined => items[turn % items.length];

/** Replaces the names in braces. */
const fill = (path: string, sample: Sample): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(sample[name] ?? ''));

/**
 * Makes a question about samples; null if there are none for the route.
 * @param turn changes the choice of the sample and of the optional parameters
 */
export function makeQuestion({ path, subject, query }: Route, samples: Samples, turn: number): Question | null {
  const sample = pick(samples[subject] ?? [], turn);
  if (sample === undefined) return null;
  const sent = new URLSearchParams();
  const sendOption = ({ name, words, source: [from = '', field = ''] }: Parameter, choice: number): void => {
    const value = cycle(words, choice) ?? pick(samples[from] ?? [], choice)?.[field];
    if (value !== undefined) sent.set(name, String(value));
  };
  const named = (name: RegExp) => query.filter((parameter) => name.test(parameter.name));
  const others = query.filter(({ name, isRequired }) => !isRequired && !/^cursor$|limit$|offset$/.test(name));
  for (const { name } of query.filter(({ isRequired }) => isRequired)) sent.set(name, String(sample[name]));
  // All combinations of these occur.
  if (turn % 5 > 0) for (const parameter of named(/limit$/)) sendOption(parameter, Math.floor(turn / 5));
  if (turn % 7 < 2) for (const parameter of named(/offset$/)) sendOption(parameter, Math.floor(turn / 7));
  const other = turn % 2 > 0 ? cycle(others, Math.floor(turn / 2)) : undefined;
  if (other !== undefined) sendOption(other, Math.floor(turn / 2 / others.length));
  return {
    route: path,
    target: `${fill(path, sample)}${sent.size === 0 ? '' : `?${sent}`}`,
    isFixed: FIXED.test(`${path}?${sent}`),
    readsNextPage: named(/^cursor$/).length > 0 && turn % 4 < 2,
  };
}

/** Maximum number of samples of one kind in a round, and of parents whose lists a round reads. */
const MAX_SAMPLES = 24;
const FEW = 8;
/** Number of places in a list where a round may begin. */
const PLACES = 40;
const STACKS = { blockchain: 'stacks' };
const NO_TRANSACTION = `0x${'5'.repeat(64)}`;
const PRINCIPAL = /"(S[A-Z][0-9A-Z]{27,40}(?:\.[a-zA-Z][\w-]*)?)"/g;

const TRANSACTIONS = '/extended/v3/blocks/{height}/transactions?limit=50';
const EVENTS = '/extended/v3/transactions/{tx_id}/events?limit=50';
const POX_EVENTS = '/extended/v1/{pox}/events?limit=24&offset={place}0';
const BALANCES = '/extended/v3/principals/{principal}/balances';
const BURN_TEXTS = 'burn_block_height burn_block_hash';

type List = readonly [subject: string, path: string, texts: string, parents?: string];

/**
 * Lists of samples. Each text is the name of a field, or a name and the place of the field; the row itself without a place.
 * A list with parents is read for some of these samples, and its samples repeat their texts.
 */
// biome-ignore format: a table
const LISTS: readonly List[] = [[
    'chosen blocks', '/extended/v2/blocks/{height}', `hash block_hash=hash timestamp=block_time ${BURN_TEXTS}`, 'heights'],
  ['tenures', '/extended/v2/blocks/{height}', 'tenure_height', 'heights'],
  ['sent transactions', TRANSACTIONS, 'tx_id principal=sender.address', 'chosen blocks'],
  ['calls', TRANSACTIONS, 'function_name=contract_call.function_name', 'chosen blocks'],
  ['NFTs', EVENTS, 'asset_identifier=nft_asset.asset_identifier value=nft_asset.value.hex', 'sent transactions'],
  ['microblocks', '/extended/v1/microblock?limit=24&offset={place}0', 'hash=microblock_hash'],
  ['names', '/v1/names?page={place}', 'name='],
  ['zonefiles', '/v1/names/{name}', 'zoneFileHash=zonefile_hash', 'names'],
  ['namespaces', '/v1/namespaces', 'tld='],
  ['rewarded addresses', '/extended/v1/burnchain/rewards?limit=24&offset={place}0', 'address=reward_recipient'],
  ['addresses with reward slots', '/extended/v1/burnchain/reward_slot_holders?limit=24&offset={place}0', 'address'],
  ['recipients of pox transactions', '/extended/v2/burn-blocks/{burn_block_height}/pox-transactions?limit=24', 'burnchain_address=recipient', 'chosen blocks'],
  ['cycles', '/extended/v2/pox/cycles?limit=20', 'cycle_number'],
  ['signers of cycles', '/extended/v2/pox/cycles/{cycle_number}/signers?limit=24', 'signer_key=signing_key', 'cycles'],
  ['bonds', '/extended/v3/staking/bonds?limit=20', 'bond_index=index'],
  ['principals on the lists of bonds', '/extended/v3/staking/bonds/{bond_index}/allowlist?limit=20', 'principal=staker', 'bonds'],
  ['registrations for bonds', '/extended/v3/staking/bonds/{bond_index}/registrations?limit=20', 'principal=staker', 'bonds'],
  ['signers', '/extended/v3/staking/signers?limit=20', 'principal=signer'],
  ['stacking transactions', POX_EVENTS, 'tx_id', 'versions of pox'],
  ['stackers', POX_EVENTS, 'principal=stacker', 'versions of pox'],
  ['delegations to pools', POX_EVENTS, 'pool_principal=data.delegate_to', 'versions of pox'],
];

const TOKEN_LISTS: readonly List[] = [
  ['balances of fungible tokens', `${BALANCES}/ft?limit=5`, 'asset_identifier token=asset_identifier', 'accounts'],
  ['NFTs', `${BALANCES}/nft?limit=5`, 'asset_identifier value=value.hex', 'accounts'],
];

const samplesOf = (name: string, ...values: readonly (string | number)[]): Sample[] =>
  values.map((value) => ({ [name]: value }));

/** Reads samples from this server: other ones in each round, and for each height. */
export async function readSamples(
  server: Pick<Server, 'ask'>,
  { lowest, highest }: { lowest: number; highest: number },
  round: number,
): Promise<Samples> {
  const turn = highest + round;
  const principals = new Set<string>();
  const answers = new Map<string, Answer | NoAnswer>();

  /** Items at equal distances. */
  const few = <T>(items: readonly T[], limit: number): T[] =>
    items.length <= limit
      ? [...items]
      : Array.from({ length: limit }, (_, i) => cycle(items, turn + Math.floor((i * items.length) / limit))!);

  /** The rows of a list, or the object at a path; none for anything but a 200. */
  async function rowsAt(target: string): Promise<readonly unknown[]> {
    // Several subjects have the same list.
    const answer = answers.get(target) ?? (await server.ask(target));
    answers.set(target, answer);
    if (answer instanceof NoAnswer || answer.status !== 200) return [];
    const { results, namespaces = results } = Object(answer.body);
    return [namespaces ?? answer.body].flat();
  }

  async function read([, path, texts]: List, parent: Sample): Promise<Sample[]> {
    let rows = await rowsAt(fill(path, { place: turn % PLACES, ...parent }));
    if (rows.length === 0 && path.includes('{place}')) rows = await rowsAt(fill(path, { place: 0, ...parent }));
    const old = rows.filter((row) => Number(fieldOf(row, 'block_height') ?? 0) <= highest);
    for (const [, principal] of JSON.stringify(old).matchAll(PRINCIPAL)) principals.add(principal!);
    const toSample = (row: unknown): Sample => {
      const values = texts.split(' ').map((text) => {
        const [name = '', place = name] = text.split('=');
        return [name, place === '' ? row : fieldOf(row, ...place.split('.'))];
      });
      return { ...parent, ...Object.fromEntries(values) };
    };
    const isText = (value: unknown): boolean =>
      typeof value === 'number' || (typeof value === 'string' && value !== '');
    return old.map(toSample).filter((sample) => Object.values(sample).every(isText));
  }

  const heights = Array.from({ length: FEW }, (_, i) => lowest + spread(turn * FEW + i, highest - lowest + 1));
  const samples: Record<string, readonly Sample[]> = {
    chains: [{}],
    networks: samplesOf('network', 'mainnet', 'testnet'),
    heights: samplesOf('height', ...heights),
    'versions of pox': samplesOf('pox', 'pox2', 'pox3', 'pox4'),
  };
  async function readAll(lists: readonly List[]): Promise<void> {
    for (const list of lists) {
      const [subject, , , parents] = list;
      const found = new Map((samples[subject] ?? []).map((sample) => [JSON.stringify(sample), sample]));
      for (const parent of parents === undefined ? [{}] : few(samples[parents] ?? [], FEW)) {
        for (const sample of await read(list, parent)) found.set(JSON.stringify(sample), sample);
      }
      samples[subject] = few([...found.values()], MAX_SAMPLES);
    }
  }

  await readAll(LISTS);
  const { 'chosen blocks': blocks = [], 'sent transactions': sent = [], cycles = [] } = samples;
  const byEither = (height: string, hash: string): Sample[] =>
    blocks.flatMap((block) => [height, hash].map((name) => ({ ...block, height_or_hash: block[name]! })));
  samples.blocks = byEither('height', 'hash');
  samples['Bitcoin blocks'] = byEither('burn_block_height', 'burn_block_hash');
  const ids = sent.map(({ tx_id }) => String(tx_id));
  const txIds = [...ids, ...few(ids, ids.length / 2).map((id) => id.replace('0x', '')), NO_TRANSACTION];
  samples.transactions = samplesOf('tx_id', ...txIds);
  samples['cycles of staking'] = [...samplesOf('cycle_number', 'current'), ...cycles];
  for (const kind of ['accounts', 'contracts']) {
    const some = [...principals].filter((principal) => principal.includes('.') === (kind === 'contracts'));
    samples[kind] = few(some, MAX_SAMPLES).map((name) => ({
      principal: name,
      address: name,
      contract_id: name,
      ...STACKS,
    }));
  }
  samples.principals = [...samples.accounts!, ...samples.contracts!];
  samples['things to search'] = samplesOf(
    'id',
    ...txIds,
    ...blocks.map(({ hash }) => hash!),
    ...few([...principals], FEW),
  );
  await readAll(TOKEN_LISTS);
  return samples;
}
