/** The pages of the console with their paths, which the server and the browser's router share. */

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
