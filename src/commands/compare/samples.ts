/** Draws samples for questions: random rows of this server, well below the tips. */
import { Prng } from '../../devnet/prng.ts';
import { fieldOf } from './differences.ts';
import { NoAnswer, type Server } from './server.ts';

/** Texts that belong together, such as an account and a token that it has. */
type Pair = readonly [string, string];

export interface SampledBlock {
  height: number;
  hash: string;
  time: number;
  tenureHeight: number | null;
  burnHeight: number;
  burnHash: string;
}

export interface Samples {
  blocks: SampledBlock[];
  /** Senders and ids of transactions. */
  sent: Pair[];
  /** Contracts and their called functions. */
  calls: Pair[];
  principals: string[];
  contracts: string[];
  fts: string[];
  /** Accounts and fungible tokens. */
  ftHoldings: Pair[];
  /** Collections and the value of a token, as hex. */
  nfts: Pair[];
  names: string[];
  /** Names and hashes of their zonefiles. */
  zonefiles: Pair[];
  namespaces: string[];
  microblocks: string[];
  /** Bitcoin addresses that got rewards, that had reward slots, and that pox transactions paid. */
  rewarded: string[];
  slotHolders: string[];
  paid: string[];
  cycles: string[];
  /** Cycles and signer keys. */
  cycleSigners: Pair[];
  bonds: string[];
  /** Bonds and the principals that may register for them, and those that did. */
  allowed: Pair[];
  registered: Pair[];
  /** Contracts of signers. */
  signers: string[];
  /** Versions of pox, and ids, stackers and pools of their events. */
  poxTransactions: Pair[];
  poxStackers: Pair[];
  poxPools: Pair[];
}

/** Blocks of a round. */
const BLOCKS = 6;
/** Transactions of a block, and transactions of a round with events to read. */
const PER_BLOCK = 4;
const WITH_EVENTS = 10;
/** Accounts with tokens to read. */
const HOLDERS = 6;
/** Maximum number of rows to skip in a list, so that rounds see different parts of it. */
const MAX_OFFSET = 400;
/** Maximum number of samples of one kind in a round. */
const MAX_SAMPLES = 24;

const POX = ['pox2', 'pox3', 'pox4'];

const PRINCIPAL = /"(S[A-Z][0-9A-Z]{27,40})(\.[a-zA-Z][\w-]*)?"/g;

const textOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The texts of fields in a list of objects, without duplicates; skips objects without them. */
function columnOf(list: readonly unknown[], ...names: readonly string[]): string[] {
  return [...new Set(list.map((row) => textOf(fieldOf(row, ...names))).filter((text) => text !== null))];
}

const pairsOf = (first: string, second: readonly string[]): Pair[] => second.map((text) => [first, text]);

/** The texts of two fields of an object, as a list; empty without one of them. */
function pairIn(value: unknown, ...fields: readonly [readonly string[], readonly string[]]): Pair[] {
  const [first, second] = fields.map((names) => textOf(fieldOf(value, ...names)));
  return first == null || second == null ? [] : [[first, second]];
}

const fewPairs = (pairs: readonly Pair[]): Pair[] =>
  [...new Map(pairs.map((pair) => [pair.join(' '), pair])).values()].slice(0, MAX_SAMPLES);

/** Draws samples. @param lowest height of this server's lowest block @param highest height of the highest block to draw */
export async function drawSamples(
  server: Pick<Server, 'ask'>,
  seed: string,
  { lowest, highest }: { lowest: number; highest: number },
): Promise<Samples> {
  const prng = new Prng(seed);

  /** The body of an answer; null for anything but a 200. */
  async function get(target: string): Promise<unknown> {
    const answer = await server.ask(target);
    return answer instanceof NoAnswer || answer.status !== 200 ? null : answer.body;
  }

  const results = async (target: string) => listOf(fieldOf(await get(target), 'results'));

  /** Pairs of texts, each with the texts of a field in the list at its path. */
  async function pairs(firsts: readonly string[], target: (first: string) => string, name: string): Promise<Pair[]> {
    const result: Pair[] = [];
    for (const first of firsts) result.push(...pairsOf(first, columnOf(await results(target(first)), name)));
    return result;
  }

  const pick = <T>(items: readonly T[], limit = MAX_SAMPLES): T[] => prng.shuffle([...items]).slice(0, limit);

  /** Returns rows of a list, from a random offset on. */
  async function rows(path: string): Promise<readonly unknown[]> {
    const list = async (offset: number) => {
      const body = await get(`${path}?limit=${MAX_SAMPLES}&offset=${offset}`);
      return listOf(Array.isArray(body) ? body : fieldOf(body, 'results'));
    };
    const deep = await list(prng.below(MAX_OFFSET));
    return deep.length > 0 ? deep : list(0);
  }

  async function block(height: number): Promise<SampledBlock | null> {
    const body = await get(`/extended/v2/blocks/${height}`);
    const [[hash, burnHash] = []] = pairIn(body, ['hash'], ['burn_block_hash']);
    if (hash === undefined || burnHash === undefined) return null;
    const tenure = fieldOf(body, 'tenure_height');
    return {
      height,
      hash,
      burnHash,
      time: Number(fieldOf(body, 'block_time')),
      tenureHeight: typeof tenure === 'number' ? tenure : null,
      burnHeight: Number(fieldOf(body, 'burn_block_height')),
    };
  }

  const heights = new Set(Array.from({ length: BLOCKS }, () => prng.between(lowest, highest)));
  const blocks: SampledBlock[] = [];
  const transactions: unknown[] = [];
  for (const height of heights) {
    const sampledBlock = await block(height);
    if (sampledBlock === null) continue;
    blocks.push(sampledBlock);
    transactions.push(...pick(await results(`/extended/v3/blocks/${height}/transactions?limit=50`), PER_BLOCK));
  }
  const events: unknown[] = [];
  for (const id of pick(columnOf(transactions, 'tx_id'), WITH_EVENTS)) {
    events.push(...(await results(`/extended/v3/transactions/${id}/events?limit=50`)));
  }
  const matches = [...JSON.stringify([transactions, events]).matchAll(PRINCIPAL)];
  const accounts = pick([
    ...new Set(matches.filter(([, , name]) => name === undefined).map(([, address]) => address!)),
  ]);
  const contracts = pick([
    ...new Set(matches.filter(([, , name]) => name !== undefined).map(([, address, name]) => address! + name!)),
  ]);

  const holders = pick(accounts, HOLDERS);
  const balancesOf = (kind: 'ft' | 'nft') => (account: string) =>
    `/extended/v3/principals/${account}/balances/${kind}?limit=5`;
  const ftHoldings = await pairs(holders, balancesOf('ft'), 'asset_identifier');
  const nfts = events.flatMap((event) => pairIn(fieldOf(event, 'nft_asset'), ['asset_identifier'], ['value', 'hex']));
  for (const path of holders.map(balancesOf('nft'))) {
    nfts.push(...(await results(path)).flatMap((row) => pairIn(row, ['asset_identifier'], ['value', 'hex'])));
  }

  const namesOfPage = listOf(await get(`/v1/names?page=${prng.below(20)}`));
  const names = pick((namesOfPage.length > 0 ? namesOfPage : listOf(await get('/v1/names'))).map(String), 6);
  const zonefiles: Pair[] = [];
  for (const name of names) {
    const hash = textOf(fieldOf(await get(`/v1/names/${name}`), 'zonefile_hash'));
    if (hash !== null && hash !== '') zonefiles.push([name, hash]);
  }

  const rewarded = columnOf(await rows('/extended/v1/burnchain/rewards'), 'reward_recipient');
  const slotHolders = columnOf(await rows('/extended/v1/burnchain/reward_slot_holders'), 'address');
  const paid: string[] = [];
  for (const { burnHeight } of blocks.slice(0, 3)) {
    const path = `/extended/v2/burn-blocks/${burnHeight}/pox-transactions?limit=${MAX_SAMPLES}`;
    paid.push(...columnOf(await results(path), 'recipient'));
  }

  const cyclesPath = '/extended/v2/pox/cycles';
  const cycles = pick(columnOf(await results(`${cyclesPath}?limit=20`), 'cycle_number'));
  const signersOf = (cycle: string) => `${cyclesPath}/${cycle}/signers?limit=${MAX_SAMPLES}`;
  const cycleSigners = await pairs(cycles.slice(0, 2), signersOf, 'signing_key');

  const staking = '/extended/v3/staking';
  const bonds = columnOf(await results(`${staking}/bonds?limit=20`), 'index');
  const bondPairs = (list: string) =>
    pairs(pick(bonds, 2), (bond) => `${staking}/bonds/${bond}/${list}?limit=20`, 'staker');
  const allowed = await bondPairs('allowlist');
  const registered = await bondPairs('registrations');
  const signers = columnOf(await results(`${staking}/signers?limit=20`), 'signer');

  const poxTransactions: Pair[] = [];
  const poxStackers: Pair[] = [];
  const poxPools: Pair[] = [];
  for (const pox of POX) {
    const prints = (await rows(`/extended/v1/${pox}/events`)).filter(
      (print) => Number(fieldOf(print, 'block_height')) <= highest,
    );
    poxTransactions.push(...pairsOf(pox, columnOf(prints, 'tx_id')));
    poxStackers.push(...pairsOf(pox, columnOf(prints, 'stacker')));
    poxPools.push(...pairsOf(pox, columnOf(prints, 'data', 'delegate_to')));
  }

  return {
    blocks,
    sent: transactions.flatMap((row) => pairsOf(String(fieldOf(row, 'sender', 'address')), columnOf([row], 'tx_id'))),
    calls: fewPairs(
      transactions.flatMap((row) => pairIn(fieldOf(row, 'contract_call'), ['contract_id'], ['function_name'])),
    ),
    principals: [...accounts, ...contracts],
    contracts,
    fts: [...new Set(ftHoldings.map(([, asset]) => asset))],
    ftHoldings: fewPairs(ftHoldings),
    nfts: fewPairs(nfts),
    names,
    zonefiles,
    namespaces: pick(listOf(fieldOf(await get('/v1/namespaces'), 'namespaces')).map(String), 6),
    microblocks: columnOf(await rows('/extended/v1/microblock'), 'microblock_hash'),
    rewarded,
    slotHolders,
    paid: [...new Set(paid)],
    cycles,
    cycleSigners: fewPairs(cycleSigners),
    bonds,
    allowed: fewPairs(allowed),
    registered: fewPairs(registered),
    signers,
    poxTransactions: fewPairs(poxTransactions),
    poxStackers: fewPairs(poxStackers),
    poxPools: fewPairs(poxPools),
  };
}
