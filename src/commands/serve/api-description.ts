/** What the OpenAPI document says besides the routes: introductions, and examples of their answers. */
import answers from '../../api/shared/examples/answers.json' with { type: 'json' };
import type { ApiDescription } from '../../http/docs.ts';

/** Each tag of a route once, in the order of the document. */
const tags: Readonly<Record<string, string>> = {
  Status: 'The version of the server and how far it has indexed the chain.',
  Transactions: 'Transactions of the canonical chain, pending and dropped ones, and their events.',
  Blocks: 'Blocks of the canonical chain by height, hash, time, tenure or Bitcoin block, and their transactions.',
  'Burn blocks': 'Bitcoin blocks to which blocks of the canonical chain are anchored, and what they paid to stackers.',
  Mempool: 'Pending transactions and the fees they offer.',
  Principals:
    'Standard addresses and contracts: their transactions, balances, transfers, nonces and stakes. An unknown principal has none of them; it is not an error.',
  'Smart contracts': 'Contracts, the status of their deployments, and the events they print.',
  Tokens: 'Supply, holders and history of STX, fungible tokens and non-fungible tokens.',
  Staking: 'Staking with pox-5: bonds, registrations and signers.',
  Stacking: 'Stacking with pox-2 to pox-4, and the reward cycles of every version.',
  'Burn rewards': 'Rewards that Bitcoin blocks paid to stackers.',
  Names: 'The Bitcoin name system (BNS): names, subdomains, namespaces, zonefiles and prices.',
  Search: 'The type of object behind an id.',
  Faucets: 'Funds for test networks. Faucets are off unless the operator has configured them.',
  Fees: 'Fee estimates of v1.',
  Info: 'Constants of the networks.',
  Chainhooks:
    'A chainhook sends an HTTP POST to your URL whenever a block contains something your filters match. These routes register and manage chainhooks and their deliveries. They need a key unless the operator opened them.',
  Stackside:
    'What only this server has: account histories, several subjects in one request, and its own state. Other servers of the API have no such routes.',
  Addresses: 'Balances and transactions of addresses in v1 and v2. The routes of principals replace them.',
  'Transactions (v1)': 'Transactions and events in the format of v1.',
  'Blocks (v1)': 'Blocks in the format of v1.',
  'Blocks (v2)': 'Transactions of a block in the format of v1, by the path of v2.',
  'Mempool (v1)': 'Pending transactions in the format of v1, and statistics of the mempool.',
  'Microblocks (v1)': 'Microblocks, which only Stacks 2.x had.',
  'Smart contracts (v1)': 'Contracts with their interface, and the events they print, in the format of v1.',
};

export const apiDescription: ApiDescription = {
  title: 'Stackside',
  description:
    'Chain data of the Stacks blockchain: blocks, transactions, principals, tokens. The examples come from a simulated chain; their lists are cut to one item.',
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
  examples: answers,
};
