/** The pages of the console with their paths and the navigation, which the server and the browser share. */

export const pagePaths = {
  overview: '/',
  blocks: '/blocks',
  block: '/blocks/{id}',
  bitcoinBlocks: '/bitcoin-blocks',
  bitcoinBlock: '/bitcoin-blocks/{id}',
  transactions: '/transactions',
  transaction: '/transactions/{id}',
  mempool: '/mempool',
  principal: '/principals/{id}',
  contract: '/contracts/{id}',
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
  system: '/system',
} as const;

export type PageName = keyof typeof pagePaths;

/** The pages of the navigation, each with those that belong to it. */
export const sections: readonly (readonly [page: PageName, title: string, members: readonly PageName[]])[] = [
  ['overview', 'Overview', []],
  ['blocks', 'Blocks', ['block']],
  ['bitcoinBlocks', 'Bitcoin blocks', ['bitcoinBlock']],
  ['transactions', 'Transactions', ['transaction']],
  ['mempool', 'Mempool', []],
  ['staking', 'Staking', []],
  ['names', 'Names', ['name']],
  ['hooks', 'Chainhooks', ['newHook', 'hook', 'editHook', 'delivery']],
  ['system', 'System', []],
];
