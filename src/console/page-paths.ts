/** The pages of the console with their paths and the navigation, which the server and the browser share. */

export const pagePaths = {
  overview: '/',
  blocks: '/blocks',
  block: '/blocks/{id}',
  forks: '/forks',
  fork: '/forks/{hash}',
  bitcoinBlocks: '/bitcoin-blocks',
  bitcoinBlock: '/bitcoin-blocks/{id}',
  bitcoinAddress: '/bitcoin-addresses/{address}',
  transactions: '/transactions',
  transaction: '/transactions/{id}',
  mempool: '/mempool',
  principal: '/principals/{id}',
  contracts: '/contracts',
  newContract: '/contracts/new',
  contract: '/contracts/{id}',
  tokens: '/tokens',
  token: '/tokens/{asset}',
  nft: '/tokens/{asset}/{value}',
  staking: '/staking',
  names: '/names',
  name: '/names/{name}',
  hooks: '/hooks',
  newHook: '/hooks/new',
  hook: '/hooks/{id}',
  editHook: '/hooks/{id}/edit',
  delivery: '/hooks/{id}/deliveries/{delivery}',
  devnet: '/devnet',
  system: '/system',
  sql: '/sql',
  reference: '/docs',
  operation: '/docs/{operation}',
} as const;

export type PageName = keyof typeof pagePaths;

/** A page of the navigation with the pages that belong to it. */
type Section = readonly [page: PageName, title: string, members: readonly PageName[]];

/** The navigation in groups. Only a simulated chain has the section `devnet`. */
export const groups: readonly { title: string; sections: readonly Section[] }[] = [
  {
    title: 'Explore',
    sections: [
      ['overview', 'Overview', []],
      ['blocks', 'Blocks', ['block', 'forks', 'fork']],
      ['bitcoinBlocks', 'Bitcoin blocks', ['bitcoinBlock', 'bitcoinAddress']],
      ['transactions', 'Transactions', ['transaction']],
      ['mempool', 'Mempool', []],
      ['contracts', 'Contracts', ['newContract', 'contract']],
      ['tokens', 'Tokens', ['token', 'nft']],
      ['staking', 'Staking', []],
      ['names', 'Names', ['name']],
    ],
  },
  {
    title: 'Build',
    sections: [
      ['hooks', 'Chainhooks', ['newHook', 'hook', 'editHook', 'delivery']],
      ['sql', 'SQL', []],
      ['reference', 'API reference', ['operation']],
      ['devnet', 'Devnet', []],
    ],
  },
  { title: 'Operate', sections: [['system', 'System', []]] },
];
