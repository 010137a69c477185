/** Each page of the console with its component. */
import type { ComponentChild } from 'preact';
import type { PageName } from '../../page-paths.ts';
import { usePart } from '../api/use-part.ts';
import { current, type Params } from '../shell/router.ts';
import { Show } from '../ui/parts.tsx';
import { BitcoinBlock } from './bitcoin-block.tsx';
import { BitcoinBlocks } from './bitcoin-blocks.tsx';
import { Block } from './block.tsx';
import { Blocks } from './blocks.tsx';
import { Contract } from './contract.tsx';
import type { ManagingPage } from './managing.tsx';
import { Mempool } from './mempool.tsx';
import { Name } from './name.tsx';
import { Names } from './names.tsx';
import { Nft } from './nft.tsx';
import { NotFound } from './not-found.tsx';
import { Overview } from './overview.tsx';
import { Principal } from './principal.tsx';
import { Staking } from './staking.tsx';
import { Token } from './token.tsx';
import { Transaction } from './transaction.tsx';
import { Transactions } from './transactions.tsx';

/** A page of the part of the bundle that is loaded with its first page. */
function Managing({ page, params = {} }: { page: ManagingPage; params?: Params }) {
  const loaded = usePart('managing', () => import('./managing.tsx'));
  return <Show loaded={loaded}>{({ MANAGING_PAGES }) => MANAGING_PAGES[page](params)}</Show>;
}

/** A key makes a page of another subject another page, with a state of its own. */
const PAGES: Readonly<Record<PageName, (params: Params) => ComponentChild>> = {
  overview: () => <Overview />,
  blocks: () => <Blocks />,
  block: ({ id = '' }) => <Block key={id} id={id} />,
  bitcoinBlocks: () => <BitcoinBlocks />,
  bitcoinBlock: ({ id = '' }) => <BitcoinBlock key={id} id={id} />,
  transactions: () => <Transactions />,
  transaction: ({ id = '' }) => <Transaction key={id} id={id} />,
  mempool: () => <Mempool />,
  principal: ({ id = '' }) => <Principal key={id} principal={id} />,
  contract: ({ id = '' }) => <Contract key={id} contract={id} />,
  token: ({ asset = '' }) => <Token key={asset} asset={asset} />,
  nft: ({ asset = '', value = '' }) => <Nft key={`${asset} ${value}`} asset={asset} value={value} />,
  staking: () => <Staking />,
  names: () => <Names />,
  name: ({ name = '' }) => <Name key={name} name={name} />,
  hooks: () => <Managing page="hooks" />,
  newHook: () => <Managing page="newHook" />,
  hook: (params) => <Managing page="hook" params={params} />,
  editHook: (params) => <Managing page="editHook" params={params} />,
  delivery: (params) => <Managing page="delivery" params={params} />,
  system: () => <Managing page="system" />,
};

/** The page of the address. */
export function Pages() {
  const shown = current.value;
  return <>{shown === null ? <NotFound /> : PAGES[shown.page](shown.params)}</>;
}
