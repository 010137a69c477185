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
import { startTokenAsker } from '../../tokens/asker.ts';
import { documentReader } from '../../tokens/document.ts';
import { imageKeeper } from '../../tokens/images.ts';
import { uriFetcher } from '../../tokens/web.ts';
import { serverVersion } from '../cli/this-program.ts';
import type { Environment } from './environment.ts';

/** The IPFS gateway's header, which the settings have as one text. */
function headerOf(text: string | null): readonly [name: string, value: string] | null {
  if (text === null) return null;
  const at = text.indexOf(':');
  return [text.slice(0, at), text.slice(at + 1).trim()];
}

interface TokenSurroundings {
  ingest: Pick<Ingest, 'tokenJobs'>;
  snapshots: Snapshots;
  node: NodeRpc;
  commander: Commander;
  /** Whether this host asks: of several that share a log, one does. */
  isHeld: () => boolean;
  environment: Pick<Environment, 'clock' | 'chance' | 'send'>;
  registry: Registry;
  log: Log;
}

/** Reads documents from the web; null where the settings don't allow it. */
function documents(settings: Settings, { clock, send }: TokenSurroundings['environment'], log: Log) {
  const { tokenMetadata, ipfsGateway: ipfs, ipfsGatewayHeader, arweaveGateway: arweave, tokenImages } = settings;
  if (tokenMetadata !== 'web') return null;
  const gateways = { ipfs, ipfsHeader: headerOf(ipfsGatewayHeader), arweave };
  const userAgent = serverVersion.replace(/^(\w+) v(\S+).*$/, '$1/$2');
  const fetchUri = uriFetcher({ gateways, clock, send, userAgent });
  const keepImage = tokenImages === null ? null : imageKeeper({ directory: tokenImages, fetchUri, log });
  return documentReader({ fetchUri, keepImage, clock });
}

/** Asks about tokens. @returns null where nobody is to be asked */
export function askAboutTokens(settings: Settings, { ingest, environment, registry, ...given }: TokenSurroundings) {
  if (settings.tokenMetadata === 'off') return null;
  const { clock, chance } = environment;
  const asker = startTokenAsker({ ...given, readDocument: documents(settings, environment, given.log), clock, chance });
  tokenMetrics(registry, asker.counters, ingest.tokenJobs);
  return asker;
}

/** Makes the function that asks again about tokens; null where nobody is asked. */
export function refreshingTokens({ tokenMetadata }: Settings, commander: Commander): RefreshTokens | null {
  if (tokenMetadata === 'off') return null;
  const commands = commandsOf<TokenCommands>(commander);
  return async (contract, tokens) => {
    const unknown = await commands.run('tokens.refresh', { contract, tokens: tokens?.map(String) ?? null });
    return Array.isArray(unknown) ? unknown.map(BigInt) : unknown;
  };
}
