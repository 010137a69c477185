/** A log with commands between the events of a node, some of them private. */
import { systemClock } from '../../../src/base/clock.ts';
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { readDefinition } from '../../../src/hooks/definition/definition.ts';
import type { HookCommands } from '../../../src/hooks/machine.ts';
import { commandsOf } from '../../../src/store/ingest/commands.ts';
import type { FaucetCommands } from '../../../src/store/ingest/faucet-requests.ts';
import { definition } from '../../hooks/server.ts';
import { type DataDirectory, dataDirectory } from './data-directory.ts';
import { openAt, received } from './ingest.ts';
import { sealing } from './sealing.ts';

const CONSUMER = 'a-consumer-of-nobody-else';
const SECRET = Buffer.from(sealing.seal(CONSUMER, Buffer.from('a signing secret'))).toString('hex');

/** Texts in the commands and their results that must not be published. */
export const PRIVATE = ['receiver-of-nobody-else', 'a secret name', CONSUMER, SECRET, '203.0.113.77 asked'];

/** A new directory, closed, with a chainhook, a secret and a request to a faucet amid the events. */
export async function logWithCommands(events: readonly NodeEvent[]): Promise<DataDirectory> {
  const directory = dataDirectory();
  using open = openAt(directory.path, { views: true });
  const { ingest } = open;
  const commander = ingest.commander(systemClock);
  const [hooks, faucets] = [commandsOf<HookCommands>(commander), commandsOf<FaucetCommands>(commander)];
  const half = events.length >> 1;
  for (const event of events.slice(0, half)) ingest.receive(received(event));
  const body = {
    ...definition('http://127.0.0.1:9/receiver-of-nobody-else', [{ type: 'coinbase' }], {
      enable_on_registration: true,
    }),
    name: 'a secret name',
  };
  const uuid = crypto.randomUUID();
  await hooks.run('hook.register', { uuid, consumer: CONSUMER, definition: readDefinition(body, null) });
  await hooks.run('hook.set_secret', { consumer: CONSUMER, secret: SECRET });
  await faucets.run('faucet.add', { currency: 'stx', address: 'ST1', ip: '203.0.113.77 asked' });
  for (const event of events.slice(half)) ingest.receive(received(event));
  return directory;
}
