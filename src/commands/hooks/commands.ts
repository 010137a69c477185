/** `stackside hooks …`: chainhooks of a running Stackside. */
import { Option } from 'commander';
import { settings } from '../../settings/config.ts';
import type { Connection } from '../cli/client.ts';
import {
  addCommand,
  checked,
  command,
  MAX_SECONDS,
  numberOption,
  type OwnCommand,
  onlyJsonOption,
  switchOption,
} from '../cli/command.ts';
import type { BackfillChoice, DeliveryChoice, RedeliverChoice, TryChoice } from './hooks.ts';
import type { ListenChoice } from './listen.ts';

/** The implementation of these commands, loaded when one runs. */
type Actions = typeof import('./hooks.ts');

interface HookDeclaration<Options, Arguments extends readonly unknown[]> {
  name: string;
  summary: string;
  arguments?: readonly (readonly [syntax: string, help?: string])[];
  options?: readonly Option[];
  run(actions: Actions, connection: Connection, options: Options, ...args: Arguments): Promise<void>;
}

const consumerOption = () =>
  new Option('--consumer <name>', 'Consumer to act for; requires the admin key (default: the consumer of the key)');

/** Declares a command that sends requests to a running Stackside. */
function hookCommand<Options = unknown, Arguments extends readonly unknown[] = []>({
  options = [],
  run,
  ...declared
}: HookDeclaration<Options, Arguments>) {
  return command({
    ...declared,
    settingsOf: 'hooks',
    options: [...options, consumerOption()],
    async run(reading, chosen: Options & { consumer?: string }, ...args: Arguments) {
      const [actions, { keyFor }] = await Promise.all([import('./hooks.ts'), import('../cli/client.ts')]);
      const { consumer } = chosen;
      const connection = {
        url: reading.settings.url,
        key: keyFor(reading),
        ...(consumer === undefined ? {} : { consumer }),
      };
      await run(actions, connection, chosen, ...args);
    },
  });
}

const height = (flag: string, help: string): Option => numberOption(flag, help, 0);
const firstBlock = () => height('--from-height <height>', 'First block').makeOptionMandatory();
const UUID = ['<uuid>', 'Id of the chainhook'] as const;

const json = (): Option => switchOption('--json', 'Print JSON');
interface JsonChoice {
  json: boolean;
}

const list = hookCommand({
  name: 'list',
  summary: 'List chainhooks, newest first; the admin key lists all consumers',
  options: [json()],
  run: (actions, connection, options: JsonChoice) => actions.list(connection, options),
});

const add = hookCommand({
  name: 'add',
  summary: 'Register a chainhook',
  arguments: [['<file>', 'Definition as JSON; - for stdin']],
  options: [onlyJsonOption()],
  run: (actions, connection, _options, file: string) => actions.add(connection, file),
});

const show = hookCommand({
  name: 'show',
  summary: 'Show a chainhook and its status',
  arguments: [UUID],
  options: [onlyJsonOption()],
  run: (actions, connection, _options, uuid: string) => actions.show(connection, uuid),
});

const enable = hookCommand({
  name: 'enable',
  summary: 'Enable a chainhook, or resume all chainhooks that a restore paused',
  arguments: [['[uuid]', 'Id of the chainhook']],
  options: [switchOption('--paused', 'All paused chainhooks; with the admin key, for every consumer')],
  run: (actions, connection, { paused }: { paused: boolean }, uuid: string | undefined) =>
    actions.enable(connection, uuid, paused),
});

const disable = hookCommand({
  name: 'disable',
  summary: 'Disable a chainhook',
  arguments: [UUID],
  run: (actions, connection, _options, uuid: string) => actions.setEnabled(connection, uuid, false),
});

const remove = hookCommand({
  name: 'remove',
  summary: 'Delete a chainhook and its queue',
  arguments: [UUID],
  run: (actions, connection, _options, uuid: string) => actions.remove(connection, uuid),
});

const tryDefinition = hookCommand({
  name: 'try',
  summary: 'Count the matches of a definition in past blocks, without sending them',
  arguments: [['<file>', 'JSON with filters and options; - for stdin']],
  options: [
    firstBlock(),
    height('--to-height <height>', 'Last block (default: the first block)'),
    switchOption('--payloads', 'Print the first payloads instead of the count'),
    json(),
  ],
  run: (actions, connection, options: TryChoice, file: string) => actions.tryFile(connection, file, options),
});

const sendTest = hookCommand({
  name: 'test',
  summary: 'Send a test delivery at once, and show the result',
  arguments: [UUID],
  options: [json()],
  run: (actions, connection, options: JsonChoice, uuid: string) => actions.sendTest(connection, uuid, options),
});

const backfill = hookCommand({
  name: 'backfill',
  summary: 'Deliver the matches in past blocks',
  arguments: [UUID],
  options: [
    firstBlock(),
    height('--to-height <height>', 'Last block (default: the chain tip)'),
    switchOption('--dry-run', 'Count the matches and deliver nothing'),
    switchOption('--wait', 'Wait until everything is queued'),
    onlyJsonOption(),
  ],
  run: (actions, connection, options: BackfillChoice, uuid: string) => actions.backfill(connection, uuid, options),
});

const deliveries = hookCommand({
  name: 'deliveries',
  summary: 'List deliveries, newest first',
  arguments: [UUID],
  options: [
    new Option(
      '--state <words>',
      'States separated by commas: pending, failed, delivered, dead, cancelled (default: all)',
    ),
    numberOption('--limit <number>', 'Maximum number of deliveries', 0, 50),
    json(),
  ],
  run: (actions, connection, options: DeliveryChoice, uuid: string) => actions.deliveries(connection, uuid, options),
});

const retry = hookCommand({
  name: 'retry',
  summary: 'Send the failed delivery of a chainhook again at once',
  arguments: [UUID],
  options: [onlyJsonOption()],
  run: (actions, connection, _options, uuid: string) => actions.retry(connection, uuid),
});

const skip = hookCommand({
  name: 'skip',
  summary: 'Drop the failed delivery that blocks a chainhook, and send the next one',
  arguments: [UUID],
  run: (actions, connection, _options, uuid: string) => actions.skip(connection, uuid),
});

const redeliver = hookCommand({
  name: 'redeliver',
  summary: 'Send deliveries again: one by its id, or all that the options select',
  arguments: [UUID, ['[id]', 'Id of one delivery']],
  options: [
    new Option('--state <words>', 'States separated by commas: dead, failed, delivered (default: all)'),
    height('--from-height <height>', 'First block (default: any)'),
    height('--to-height <height>', 'Last block (default: any)'),
    onlyJsonOption(),
  ],
  run: (actions, connection, options: RedeliverChoice, uuid: string, id: string | undefined) =>
    actions.redeliver(connection, uuid, id, options),
});

/** Parses a status for responses. */
const statusCode = (text: string): number | undefined => (/^[2-5]\d\d$/.test(text) ? Number(text) : undefined);

const listen = command({
  name: 'listen',
  summary: 'Receive deliveries on this machine, and show each as it comes',
  example: 'stackside hooks listen --port 8080 --secret-file secret.txt',
  settingsOf: 'hooks',
  options: [
    numberOption('--port <number>', 'Port to listen on; 0 picks a free port', 0, 8080),
    checked(
      new Option('--fail <status>', 'Answer every delivery with this status, such as 500 (default: 204)'),
      'an HTTP status from 200 to 599',
      statusCode,
    ),
    numberOption('--delay <milliseconds>', 'Time before each answer', 0, 0, MAX_SECONDS * 1000),
    switchOption('--print-body', 'Print the body of each delivery'),
    new Option('--secret-file <file>', 'File with the signing secret that deliveries are verified with'),
    switchOption('--claim', 'Request the deliveries that wait for this port at once'),
  ],
  async run(reading, choice: ListenChoice) {
    const [{ listenForDeliveries }, { printWaiting }, { keyFor }] = await Promise.all([
      import('./listen.ts'),
      import('./hooks.ts'),
      import('../cli/client.ts'),
    ]);
    const { url, signingSecret } = reading.settings;
    const connection = { url, key: keyFor(reading) };
    await listenForDeliveries(choice, signingSecret, (port) => printWaiting(connection, port, choice.claim));
  },
});

/** Adds `hooks` and its subcommands. */
export function addHookCommands(program: OwnCommand): void {
  const hooks = program
    .command('hooks')
    .summary('Chainhooks of a running Stackside: list, add, show, try, backfill, deliveries, retry, skip')
    .description(
      'Chainhooks of a running Stackside. The key is the admin key of the data directory, or one in ' +
        `${settings.hookKey.variables[0]}.`,
    )
    .addHelpText('after', '\nExample:\n  stackside hooks try hook.json --from-height 150000 --to-height 150100');

  addCommand(hooks, list);
  addCommand(hooks, add);
  addCommand(hooks, show);
  addCommand(hooks, enable);
  addCommand(hooks, disable);
  addCommand(hooks, remove);
  addCommand(hooks, tryDefinition);
  addCommand(hooks, sendTest);
  addCommand(hooks, backfill);
  addCommand(hooks, deliveries);
  addCommand(hooks, retry);
  addCommand(hooks, skip);
  addCommand(hooks, redeliver);
  addCommand(hooks, listen);
}
