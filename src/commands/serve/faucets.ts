/** The faucets by the settings. */
import { type FaucetSettings, type Faucets, openFaucets } from '../../faucets/faucets.ts';
import type { Log } from '../../log.ts';
import type { NodeRpc } from '../../node/rpc.ts';
import type { Settings } from '../../settings/config.ts';
import { type Commander, commandsOf } from '../../store/ingest/commands.ts';
import type { FaucetCommands } from '../../store/ingest/faucet-requests.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import type { Snapshots } from '../../store/read/snapshots.ts';

/** The token of the test network that the sBTC faucet sends. */
const SBTC_ASSET = 'ST1F7QA2MDF17S807EPA36TSS8AMEFY4KA9TVGWXT.sbtc-token::sbtc-token';

/** The Bitcoin node with its credentials; null unless URL, user, password and key are all set. */
function bitcoinOf({ btcRpc, btcFaucetKey: key }: Settings): FaucetSettings['bitcoin'] {
  if (btcRpc === null || key === null) return null;
  const { origin, pathname, username, password } = new URL(btcRpc);
  if (username === '' || password === '') return null;
  // The setting rejects a URL with invalid escapes.
  const url = `${origin}${pathname === '/' ? '' : pathname}`;
  return { url, user: decodeURIComponent(username), password: decodeURIComponent(password), key };
}

interface FaucetSurroundings {
  ingest: Ingest;
  commander: Commander;
  snapshots: Snapshots;
  node: NodeRpc;
  log: Log;
}

/** The faucets of the process that writes, since every request that is served is recorded in the index. */
export function serverFaucets(
  settings: Settings,
  { ingest, commander, snapshots, node, log }: FaucetSurroundings,
  sbtcAsset = SBTC_ASSET,
): Faucets {
  return openFaucets({
    settings: {
      sbtc: settings.sbtcFaucet,
      keys: settings.faucetKeys?.split(',') ?? [],
      sbtcAsset,
      bitcoin: bitcoinOf(settings),
      limited: settings.faucetLimits,
    },
    onTestNetwork: () => ingest.networkKind() === 'testnet',
    requests: ingest.faucetRequests,
    commands: commandsOf<FaucetCommands>(commander),
    node,
    nextNonce: (address) => snapshots.read((read) => read.principals.nonces(address).next),
    now: Date.now,
    log,
  });
}
