/** The controls of a simulated chain: a part of the bundle that only the console of such a chain loads. */
import type { ComponentChild } from 'preact';
import { usePart } from '../api/use-answer.ts';
import { Empty, Page, Show } from '../ui/parts.tsx';
import { isDevnet } from '../ui/server-status.tsx';

type DevnetPart = typeof import('./devnet/devnet.tsx');

interface OnDevnetProps {
  children: (part: DevnetPart) => ComponentChild;
}

/** Renders content from the part on a simulated chain; nothing on other chains, and until the chain is known. */
export const OnDevnet = (props: OnDevnetProps) => (isDevnet() === true ? <LoadedPart {...props} /> : null);

const LoadedPart = ({ children }: OnDevnetProps) => (
  <Show loaded={usePart('devnet', () => import('./devnet/devnet.tsx'))}>{children}</Show>
);

/** Renders the page of the simulated chain. */
export const Devnet = () => (
  <Page title="Devnet" lead="A simulated chain, which you control.">
    {isDevnet() === false ? (
      <Empty>
        This server follows a node of a network. <code>stackside devnet</code> starts a simulated chain.
      </Empty>
    ) : null}
    <OnDevnet>{({ DevnetControls }) => <DevnetControls />}</OnDevnet>
  </Page>
);

/** Renders the page that deploys a contract. */
export const NewContract = () =>
  isDevnet() === false ? (
    <Page title="Deploy a contract">
      <Empty>This server follows a node of a network: a wallet deploys contracts there.</Empty>
    </Page>
  ) : (
    <Page title="Deploy a contract" lead="On the simulated chain, in a separate block.">
      <OnDevnet>{({ NewContract: Form }) => <Form />}</OnDevnet>
    </Page>
  );
