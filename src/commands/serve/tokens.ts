/** Asking about tokens, by the settings. */
import type { Registry } from 'prom-client';
import type { RefreshTokens } from '../../api/stackside/system.ts';
import type { Log } from '../../log.ts';
import { tokenMetrics } from '../../metrics/tokens.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { type Commander, commandsOf } from '../../store/ingest/commands.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { TokenCommands } from '../../store/ingest/token-commands.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';
import { startMetadataFetcher } from '../../tokens/metadata-fetcher.ts';
import type { Environment } from './environment.ts';

interface TokenSurroundings {
  ingest: Pick<Ingest, 'commits' | 'tokenJobs'>;
  snapshots: Snapshots;
  node: NodeRpc;
  commander: Commander;
  /** Whether this host looks tokens up. In a cluster, only one host does. */
  isHeld: () => boolean;
  environment: Pick<Environment, 'clock' | 'random'>;
  registry: Registry;
  log: Log;
}

/** Looks token metadata up. @returns null if lookups are off */
export function askAboutTokens(
  { tokenMetadata }: Settings,
  { ingest, environment, registry, ...given }: TokenSurroundings,
) {
  if (tokenMetadata === 'off') return null;
  const { clock, random } = environment;
  const asker = startMetadataFetcher({ ...given, commits: ingest.commits, clock, random });
  tokenMetrics(registry, asker.counters, ingest.tokenJobs);
  return asker;
}

/** Makes the function that refreshes token metadata; null if lookups are off. */
export function refreshingTokens({ tokenMetadata }: Settings, commander: Commander): RefreshTokens | null {
  if (tokenMetadata === 'off') return null;
  const commands = commandsOf<TokenCommands>(commander);
  return async (contract, tokens) => {
    const unknown = await commands.run('tokens.refresh', { contract, tokens: tokens?.map(String) ?? null });
    return Array.isArray(unknown) ? unknown.map(BigInt) : unknown;
  };
}
