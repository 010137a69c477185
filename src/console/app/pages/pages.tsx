/** Each page of the console with its component. */
import type { ComponentChild } from 'preact';
import type { PageName } from '../../page-paths.ts';
import { current } from '../shell/router.ts';
import { BitcoinBlock } from './bitcoin-block.tsx';
import { BitcoinBlocks } from './bitcoin-blocks.tsx';
import { Block } from './block.tsx';
import { Blocks } from './blocks.tsx';
import { Contract } from './contract.tsx';
import { Delivery } from './delivery.tsx';
import { Hook } from './hook.tsx';
import { EditHook, NewHook } from './hook-editor.tsx';
import { Hooks } from './hooks.tsx';
import { Mempool } from './mempool.tsx';
import { Name } from './name.tsx';
import { Names } from './names.tsx';
import { Nft } from './nft.tsx';
import { NotFound } from './not-found.tsx';
import { Overview } from './overview.tsx';
import { Principal } from './principal.tsx';
import { SignedIn } from './signed-in.tsx';
import { Staking } from './staking.tsx';
import { System } from './system.tsx';
import { Token } from './token.tsx';
import { Transaction } from './transaction.tsx';
import { Transactions } from './transactions.tsx';

type Params = Readonly<Record<string, string>>;

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
  hooks: () => (
    <SignedIn title="Chainhooks">
      <Hooks />
    </SignedIn>
  ),
  newHook: () => (
    <SignedIn title="New chainhook">
      <NewHook />
    </SignedIn>
  ),
  hook: ({ id = '' }) => (
    <SignedIn key={id} title="Chainhook">
      <Hook id={id} />
    </SignedIn>
  ),
  editHook: ({ id = '' }) => (
    <SignedIn key={id} title="Chainhook">
      <EditHook id={id} />
    </SignedIn>
  ),
  system: () => <System />,
  delivery: ({ id = '', delivery = '' }) => (
    <SignedIn key={delivery} title="Delivery">
      <Delivery hook={id} id={delivery} />
    </SignedIn>
  ),
};

/** The page of the address. */
export function Pages() {
  const shown = current.value;
  return <>{shown === null ? <NotFound /> : PAGES[shown.page](shown.params)}</>;
}
