/** The component of each page. */

import type { ComponentChild } from 'preact';
import { useEffect } from 'preact/hooks';
import type { PageName } from '../../page-paths.ts';
import { usePart } from '../api/use-answer.ts';
import { visible } from '../chain/format.ts';
import { pathMistake } from '../chain/path-mistake.ts';
import { ButtonLink, Page, Show } from '../ui/parts.tsx';
import { current, go, lastPart, type Params, pathTo, url } from '../ui/router.ts';
import { Search } from '../ui/search.tsx';
import { Contract } from './account/contract.tsx';
import { Contracts, Tokens } from './account/directories.tsx';
import { Name, Names } from './account/names.tsx';
import { Account } from './account/principal.tsx';
import { Nft, Token } from './account/token.tsx';
import type { AdminPage } from './admin-pages.tsx';
import { BitcoinAddress, BitcoinBlock, BitcoinBlocks } from './chain/bitcoin.tsx';
import { Block, Blocks } from './chain/block.tsx';
import { Fork, Forks } from './chain/forks.tsx';
import { Mempool } from './chain/mempool.tsx';
import { Overview } from './chain/overview.tsx';
import { Staking } from './chain/staking.tsx';
import { Transaction, Transactions } from './chain/transaction.tsx';
import { Devnet, NewContract } from './devnet-pages.tsx';

/** Renders a page for managing chainhooks or watching the server. The first one loads their part of the bundle. */
function Admin({ page, params = {} }: { page: AdminPage; params?: Params }) {
  const loaded = usePart('admin', () => import('./admin-pages.tsx'));
  return <Show loaded={loaded}>{({ ADMIN_PAGES }) => ADMIN_PAGES[page](params)}</Show>;
}

/** Renders a page of the API reference. The first one loads their part of the bundle. */
function Reference({ operation }: { operation?: string | undefined }) {
  const loaded = usePart('reference', () => import('./reference/reference.tsx'));
  return (
    <Show loaded={loaded}>
      {({ ApiReference, OperationPage }) =>
        operation === undefined ? <ApiReference /> : <OperationPage key={operation} id={operation} />
      }
    </Show>
  );
}

/** Keys give the page of each object a separate component state. */
const PAGES: Readonly<Record<PageName, (params: Params) => ComponentChild>> = {
  overview: () => <Overview />,
  blocks: () => <Blocks />,
  block: ({ id = '' }) => <Block key={id} id={id} />,
  forks: () => <Forks />,
  fork: ({ hash = '' }) => <Fork key={hash} hash={hash} />,
  bitcoinBlocks: () => <BitcoinBlocks />,
  bitcoinBlock: ({ id = '' }) => <BitcoinBlock key={id} id={id} />,
  bitcoinAddress: ({ address = '' }) => <BitcoinAddress key={address} address={address} />,
  transactions: () => <Transactions />,
  transaction: ({ id = '' }) => <Transaction key={id} id={id} />,
  mempool: () => <Mempool />,
  principal: ({ id = '' }) => <Account key={id} principal={id} />,
  contracts: () => <Contracts />,
  newContract: () => <NewContract />,
  contract: ({ id = '' }) => <Contract key={id} contract={id} />,
  tokens: () => <Tokens />,
  token: ({ asset = '' }) => <Token key={asset} asset={asset} />,
  nft: ({ asset = '', value = '' }) => <Nft key={`${asset} ${value}`} asset={asset} value={value} />,
  staking: () => <Staking />,
  names: () => <Names />,
  name: ({ name = '' }) => <Name key={name} name={name} />,
  devnet: () => <Devnet />,
  hooks: () => <Admin page="hooks" />,
  newHook: () => <Admin page="newHook" />,
  hook: (params) => <Admin page="hook" params={params} />,
  editHook: (params) => <Admin page="editHook" params={params} />,
  delivery: (params) => <Admin page="delivery" params={params} />,
  system: () => <Admin page="system" />,
  sql: () => <Admin page="sql" />,
  reference: () => <Reference />,
  operation: ({ operation }) => <Reference operation={operation} />,
};

const NotFound = ({ message }: { message: string }) => (
  <Page title="Page not found" lead={<span class="break">{visible(message)}</span>}>
    <div class="row">
      <Search id="search-again" text={lastPart(url.value.path)} />
      <ButtonLink text="Go to the overview" href="/" />
    </div>
  </Page>
);

/** Goes to another path, in place of the current one. */
function Redirect({ path }: { path: string }) {
  useEffect(() => go(path, { replace: true }), [path]);
  return null;
}

/** Renders the page at the current path. */
export function Pages() {
  if (current.value === null) return <NotFound message="No page has this address." />;
  const { page, params } = current.value;
  const { id = '' } = params;
  if (page === 'principal' && id.includes('.')) return <Redirect path={pathTo('contract', { id }) + location.search} />;
  const mistake = pathMistake(page, params);
  return mistake === null ? PAGES[page](params) : <NotFound message={mistake} />;
}
