/** The banners that `serve` and `devnet` print on a terminal. */
import type { Readiness } from '../../api/operations.ts';
import { chainIdText, networkOf } from '../../chain/network.ts';
import { stateText } from './pretty-log.ts';

/** A URL for a browser on this machine, which can't open "any address". */
export const browserUrl = (url: string): string => url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]');

const rows = (pairs: readonly (readonly [label: string, text: string])[]): string => {
  const width = Math.max(...pairs.map(([label]) => label.length));
  return pairs.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`).join('\n');
};

const networkText = (chainId: number | null): string =>
  chainId === null
    ? 'decided by the first block'
    : `${networkOf(chainId).kind}, chain id ${chainIdText(chainId)}${chainId === 1 ? '' : ' (addresses of test networks)'}`;

const nodeText = (nodeRpc: string, height: number | null): string =>
  height === null ? `${nodeRpc} does not answer` : `${nodeRpc} answers, at height ${height.toLocaleString('en')}`;

const indented = (lines: readonly string[]): string => lines.map((line) => `    ${line}`).join('\n');

export interface ServePage {
  version: string;
  /** Null if this process doesn't serve the API. */
  api: string | null;
  /** Null if this process accepts no events. */
  events: string | null;
  /** Path of a sign-in link; null if this process manages no chainhooks. */
  signInPath: string | null;
  /** Null if unknown. */
  chainId: number | null;
  nodeRpc: string;
  data: string;
  readiness: Readiness;
}

/** The first page of `serve`, with the state of the server and the next step. */
export function servePage({ version, api, events, signInPath, chainId, nodeRpc, data, readiness }: ServePage): string {
  const url = api === null ? null : browserUrl(api);
  const console = url === null ? null : new URL(signInPath ?? '/', url).href;
  const isLink = signInPath !== null && signInPath !== '/';
  const lines: (readonly [string, string])[] = [
    ...(console === null ? [] : [['Console', console] as const]),
    ...(isLink ? [['', 'signs one browser in, once; `stackside console` prints another link'] as const] : []),
    ...(api === null ? [] : [['API', `${api}, described at /docs`] as const]),
    ...(events === null ? [] : [['Events', events] as const]),
    ['Network', networkText(chainId)],
    ["Node's RPC", nodeText(nodeRpc, readiness.node_height)],
    ['Data', data],
    ...(readiness.state === 'live' ? [['State', 'live'] as const] : []),
  ];
  const { state, reason, next, observer } = readiness;
  const page = `${version}: Stacks chain data and chainhooks next to your node\n\n${rows(lines)}\n`;
  if (state === 'live') return page;
  const toml = observer === null ? '' : `\n${indented(observer.trimEnd().split('\n'))}\n`;
  return `${page}\n${stateText(state, reason)}\n${next}\n${toml}`;
}

/** An account that a wallet can use. */
export interface ShownAccount {
  name: string;
  address: string;
  /** Its mnemonic, or its private key in hex. */
  secret: string;
}

export interface DevnetPage {
  api: string;
  /** Accounts of real contracts; none if all is simulated. */
  accounts: readonly ShownAccount[];
  /** Identifiers of the project's contracts. */
  contracts: readonly string[];
  /** Seconds between two blocks; 0 for blocks on demand, null for blocks when transactions arrive. */
  interval: number | null;
}

/** The first page of `devnet` and `demo`. */
export function devnetPage({ api, interval, accounts, contracts }: DevnetPage): string {
  const url = browserUrl(api);
  const lines = rows([
    ['Console', url],
    ['Try', `curl ${url}/extended/v2/blocks/latest`],
    ['', `curl ${url}/extended/v3/mempool/transactions`],
  ]);
  const seconds = interval === 1 ? 'second' : `${interval} seconds`;
  const shown = accounts.map(({ name, address, secret }) => `${name}\n${indented([address, secret])}`);
  const deployed = contracts.length === 0 ? '' : `\nContracts:\n${indented([...contracts])}\n`;
  const keys = shown.length === 0 ? '' : `\nAnyone can know these keys: use them only here.\n\n${shown.join('\n')}\n`;
  const chain = accounts.length === 0 ? 'simulated Stacks chain' : 'Stacks chain with real contracts';
  const blocks =
    interval === null
      ? 'that mines a block when a transaction arrives'
      : interval === 0
        ? 'that mines only on request (stackside devnet mine)'
        : `with a new block every ${seconds}`;
  return `Stackside serves a ${chain} ${blocks}. Ctrl-C stops it.\n\n${lines}\n${deployed}${keys}`;
}
