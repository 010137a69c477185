/** The pages of the console with data on each, for the browser tests and for screenshots. */

/** Server whose API the helpers call. */
interface Asked {
  get(path: string, init?: RequestInit): Promise<Response>;
}

export interface Listed {
  tx_id: string;
  type: string;
  status: string;
  sender: { address: string };
  sponsor?: { address: string } | null;
  contract_call?: { contract_id: string; function_name: string };
}

/** @template T the type that the caller expects */
export const answerOf = async <T>(server: Asked, path: string): Promise<T> =>
  (await (await server.get(path)).json()) as T;

/** The first page of a list of transactions. */
export const listed = async (server: Asked, path: string): Promise<Listed[]> =>
  (await answerOf<{ results: Listed[] }>(server, path)).results;

/** Registers a chainhook with waiting deliveries: nothing listens at its URL. @returns its id */
export async function waitingHook(on: Asked, headers: Record<string, string> = {}): Promise<string> {
  const definition = {
    name: '<b>a hook</b>',
    version: '1',
    chain: 'stacks',
    network: 'testnet',
    filters: { events: [{ type: 'contract_call', status: ['success'] }] },
    action: { type: 'http_post', url: 'http://127.0.0.1:1/' },
  };
  const init = {
    method: 'POST',
    body: JSON.stringify(definition),
    headers: { 'content-type': 'application/json', ...headers },
  };
  return ((await (await on.get('/chainhooks/me', init)).json()) as { uuid: string }).uuid;
}

interface Nft {
  asset_identifier: string;
  value: { hex: string; repr: string };
}

/** A non-fungible token that one of the senders has. @param fits whether a token is wanted */
async function nftOf(server: Asked, fits: (token: Nft) => boolean): Promise<Nft> {
  const transactions = await listed(server, '/extended/v3/transactions?limit=50');
  for (const principal of new Set(transactions.map(({ sender }) => sender.address))) {
    const path = `/extended/v3/principals/${principal}/balances/nft?limit=50`;
    const token = (await answerOf<{ results: Nft[] }>(server, path)).results.find(fits);
    if (token !== undefined) return token;
  }
  throw new Error('no sender has such a non-fungible token');
}

/** The asset identifier of non-fungible tokens that one of the senders has. */
export const collectionOf = async (server: Asked): Promise<string> =>
  (await nftOf(server, () => true)).asset_identifier;

/**
 * Returns the paths of all pages with data on them, by name.
 * @param hook the id of a chainhook
 * @param pending the id of a pending transaction
 */
export async function pathsOfPages(
  server: Asked,
  { hook, pending }: { hook: string; pending: string },
): Promise<Record<string, string>> {
  const transactions = await listed(server, '/extended/v3/transactions?limit=50');
  const id = (holds: (transaction: Listed) => boolean) => transactions.find(holds)?.tx_id ?? '';
  const sender = transactions.find(({ type }) => type === 'token_transfer')?.sender.address ?? '';
  const contract = `${transactions.find((transaction) => transaction.contract_call?.contract_id.includes('token-'))?.contract_call?.contract_id}`;
  const deployer = contract.replace(/\..*/, '');
  const collection = await collectionOf(server);
  const numbered = await nftOf(server, ({ value }) => /^u\d+$/.test(value.repr));
  const mints = `/stackside/v1/tokens/nft/${encodeURIComponent(collection)}/mints?limit=1`;
  const [minted] = (await answerOf<{ results: { value: { hex: string } }[] }>(server, mints)).results;
  const [name] = await answerOf<string[]>(server, '/v1/names');
  const { chain_tip: tip } = await answerOf<{ chain_tip: { block_height: number } }>(server, '/extended');
  // A Bitcoin block without a Stacks block lacks a page.
  const bitcoin = await answerOf<{ results: { burn_block_height: number }[] }>(server, '/extended/v2/burn-blocks');
  const rewards = await answerOf<{ results: { reward_recipient: string }[] }>(server, '/extended/v1/burnchain/rewards');
  return {
    overview: '/',
    blocks: '/blocks',
    block: `/blocks/${tip.block_height - 2}`,
    'Bitcoin blocks': '/bitcoin-blocks',
    'a Bitcoin block': `/bitcoin-blocks/${bitcoin.results.at(1)?.burn_block_height}`,
    'a Bitcoin address': `/bitcoin-addresses/${rewards.results[0]?.reward_recipient}`,
    transactions: '/transactions',
    'a transfer': `/transactions/${id(({ type }) => type === 'token_transfer')}`,
    'a call': `/transactions/${id(({ type, status }) => type === 'contract_call' && status === 'success')}`,
    'a failure': `/transactions/${id(({ status }) => status !== 'success')}`,
    'a sponsored transaction': `/transactions/${id(({ sponsor }) => (sponsor ?? null) !== null)}`,
    'what waits': `/transactions/${pending}`,
    mempool: '/mempool',
    account: `/principals/${sender}`,
    tokens: `/principals/${sender}?tab=tokens`,
    pending: `/principals/${sender}?tab=pending`,
    staked: `/principals/${sender}?tab=staking`,
    'a balance over time': `/principals/${sender}?tab=balance`,
    counterparties: `/principals/${sender}?tab=counterparties`,
    contract: `/contracts/${contract}`,
    interface: `/contracts/${contract}?tab=functions`,
    calls: `/contracts/${contract}?tab=calls&function=transfer`,
    logs: `/contracts/${contract}?tab=logs`,
    deployments: `/contracts/${contract}?tab=deployer`,
    'moves of a token': `/principals/${deployer}?tab=tokens&token=${contract}::coin`,
    token: `/tokens/${contract}::coin`,
    'transfers of a token': `/tokens/${contract}::coin?tab=transfers`,
    'a collection': `/tokens/${collection}`,
    'a token of a collection': `/tokens/${collection}/${minted?.value.hex}`,
    'a token by its number': `/tokens/${numbered.asset_identifier}/${numbered.value.repr.slice(1)}`,
    'a token that nobody has': `/tokens/${deployer}.none::card/0x0100000000000000000000000000000001`,
    contracts: '/contracts',
    'a new contract': '/contracts/new',
    'called contracts': '/contracts?order=calls&trait=sip-010',
    'fungible tokens': '/tokens',
    collections: '/tokens?tab=collections&order=transfers',
    'holders of STX': '/tokens?tab=stx',
    staking: '/staking',
    bonds: '/staking?tab=bonds',
    signers: '/staking?tab=signers',
    names: '/names',
    name: `/names/${name}`,
    chainhooks: '/hooks',
    'a new chainhook': '/hooks/new',
    'a chainhook': `/hooks/${hook}`,
    backfills: `/hooks/${hook}?tab=backfills`,
    'a definition': `/hooks/${hook}?tab=definition`,
    'a receiver': `/hooks/${hook}?tab=receiver`,
    'an edited chainhook': `/hooks/${hook}/edit`,
    system: '/system',
    alerts: '/system?tab=alerts',
    settings: '/system?tab=settings',
    data: '/system?tab=data',
    log: '/system?tab=log',
    hosts: '/system?tab=hosts',
    'pending of a type': '/mempool?type=contract_call&sort=fee',
    'an expected block': '/mempool?block=1',
    SQL: '/sql?q=SELECT',
    'API reference': '/docs',
    'an operation': '/docs/getPrincipalFtBalances',
    forks: '/forks',
    devnet: '/devnet',
  };
}

/**
 * Paths of pages with data that only some servers have, by name: a fork with its transactions, and a failed delivery.
 */
export async function pathsOfOddities(server: Asked, hook: string): Promise<Record<string, string>> {
  const paths: Record<string, string> = {};
  const [fork] = (await answerOf<{ results: { index_block_hash: string }[] }>(server, '/stackside/v1/forks?limit=1'))
    .results;
  if (fork !== undefined) paths['a fork'] = `/forks/${fork.index_block_hash}`;
  const deliveries = `/chainhooks/me/${hook}/deliveries?limit=1`;
  const [delivery] = (await answerOf<{ results: { id: string }[] }>(server, deliveries)).results;
  if (delivery !== undefined) paths['a delivery'] = `/hooks/${hook}/deliveries/${delivery.id}`;
  return paths;
}
