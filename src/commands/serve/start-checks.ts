/** Checks at the start that need more than settings: which machines reach the ports, and the node's chain. */
import { lookup } from 'node:dns/promises';
import { OperatorError } from '../../base/errors.ts';
import { chainIdText } from '../../chain/network.ts';
import { isLoopback, parseAddress } from '../../http/hosts.ts';
import { readKeysOf } from '../../http/rate-limit.ts';
import type { Log } from '../../log.ts';
import { infoOrNull, type NodeRpc } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { changedSettings } from '../../settings/describe.ts';
import { requireArchivable } from './archiving.ts';

/** Resolves a name to its addresses. @throws the resolver's error */
export type ResolveHost = (host: string) => Promise<string[]>;

const systemResolve: ResolveHost = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Whether only this machine can reach a server that listens on a host. */
async function isLoopbackHost(host: string, resolve: ResolveHost): Promise<boolean> {
  const literal = parseAddress(host.replace(/^\[|\]$/g, ''));
  if (literal !== null) return isLoopback(literal);
  const addresses = (await resolve(host)).map(parseAddress);
  return addresses.length > 0 && addresses.every((address) => address !== null && isLoopback(address));
}

/** Warns if other machines may reach the event port, which accepts events from everybody. */
export async function warnOfOpenEventPort(
  { eventHost, eventPort }: Pick<Settings, 'eventHost' | 'eventPort'>,
  log: Log,
  resolve: ResolveHost = systemResolve,
): Promise<void> {
  const isLocal = await isLoopbackHost(eventHost, resolve).catch(() => true);
  if (isLocal) return;
  const remedy = `Let only the node reach port ${eventPort}, by a firewall or a private network; or set --event-host 127.0.0.1.`;
  const problem = `The event port listens on ${eventHost}. Other machines may reach it, and it accepts events from everybody.`;
  log({ event: 'setup_warning', problem, remedy });
}

/** Warns if --mode write leaves chainhooks, or settings for them, without a port that manages them. */
export function warnOfUnmanagedHooks(settings: Settings, hasHooks: boolean, log: Log): void {
  if (settings.mode !== 'write' || settings.cluster !== null) return;
  const hasSettings = Object.keys(changedSettings(settings)).some((name) => name.startsWith('hook_'));
  if (!hasHooks && !hasSettings) return;
  const problem = 'With --mode write, no port serves /chainhooks: nobody can add, change or check a chainhook.';
  log({ event: 'setup_warning', problem, remedy: 'Omit --mode write. The server then also serves the API.' });
}

/**
 * Refuses to listen on addresses that other machines can reach: without keys, any client that reaches a port manages hooks.
 * @throws OperatorError naming the setting
 */
export async function requireLoopback(
  { mode, apiHost, eventHost }: Pick<Settings, 'mode' | 'apiHost' | 'eventHost'>,
  resolve: ResolveHost = systemResolve,
): Promise<void> {
  const listeners = [
    ...(mode === 'write' ? [] : [['--api-host', apiHost] as const]),
    ...(mode === 'read' ? [] : [['--event-host', eventHost] as const]),
  ];
  for (const [flag, host] of listeners) {
    const remedy = 'Set --hook-access key, or listen on 127.0.0.1.';
    let isLocal: boolean;
    try {
      isLocal = await isLoopbackHost(host, resolve);
    } catch (cause) {
      throw new OperatorError(`${flag} is ${host}, which can't be resolved.`, remedy, { cause });
    }
    if (!isLocal) throw new OperatorError(`${flag} is ${host}, which other machines can reach.`, remedy);
  }
}

/** The node's chain id; null if the node doesn't answer. */
export const chainOfNode = async (node: NodeRpc): Promise<number | null> => (await infoOrNull(node))?.chainId ?? null;

/**
 * Refuses a node of another chain. A node that doesn't answer is accepted: it may start after Stackside.
 * @param nodeChain the chain of the node; null if unknown
 * @param local the chain of --network, or of the data in a directory; null if unknown
 * @throws OperatorError
 */
export function requireNodeChain(
  nodeChain: number | null,
  local: { network: number | null } | { data: string; chain: number | null },
): void {
  const chainId = 'network' in local ? local.network : local.chain;
  if (chainId === null || nodeChain === null || nodeChain === chainId) return;
  const [theirs, expected] = [chainIdText(nodeChain), chainIdText(chainId)];
  if ('network' in local) {
    throw new OperatorError(
      `The node belongs to chain ${theirs}, but --network is ${expected}.`,
      'Check --node-rpc, or omit --network.',
    );
  }
  throw new OperatorError(
    `The node belongs to chain ${theirs}, but the data in ${local.data} to chain ${expected}.`,
    `Check --node-rpc, or use another --data directory for chain ${theirs}.`,
  );
}

/** Refuses one address for the API and for events. @throws OperatorError naming both settings */
export function requireTwoPorts(
  settings: Pick<Settings, 'mode' | 'snp' | 'apiHost' | 'eventHost' | 'apiPort' | 'eventPort'>,
): void {
  const { mode, snp, apiHost, eventHost, apiPort, eventPort } = settings;
  if (mode !== 'full' || snp !== null || apiPort === 0 || apiPort !== eventPort || apiHost !== eventHost) return;
  throw new OperatorError(`--api-port and --event-port are both ${apiPort}.`, 'Choose two different ports.');
}

/** Checks that depend on several settings, on their files, or on the network. @throws OperatorError */
export async function requireAgreement(settings: Settings): Promise<void> {
  requireTwoPorts(settings);
  if (settings.mode !== 'write') readKeysOf(settings.readKeys, settings.rateLimit);
  if (settings.hookAccess === 'open') await requireLoopback(settings);
  if (settings.mode !== 'read') requireArchivable(settings);
}
