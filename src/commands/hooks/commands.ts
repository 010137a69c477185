/** `stackside hooks …`: chainhooks of a running Stackside. */
import { Option } from 'commander';
import { settings } from '../../settings/config.ts';
import { MAX_PORT } from '../../settings/setting.ts';
import type { Connection } from '../cli/client.ts';
import {
  type Argument,
  addCommand,
  addGroup,
  checked,
  fileOption,
  jsonOption,
  MAX_SECONDS,
  numberOption,
  type OwnCommand,
  onlyJsonOption,
  switchOption,
  timeOption,
} from '../cli/command.ts';
import type { ListenChoice } from './listen.ts';

/** The implementation of these commands, loaded when one runs. */
type Actions = typeof import('./hooks.ts');

interface HookDeclaration {
  summary: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** Returns the implementation, which gets the arguments and then the options. */
  action(actions: Actions): (connection: Connection, ...args: never[]) => Promise<void>;
}

const consumerOption = () =>
  new Option('--consumer <name>', 'Consumer to act for; requires the admin key (default: the consumer of the key)');

type Adder = (parent: OwnCommand) => OwnCommand;

const hookCommand =
  (name: string, { options = [], action, ...declared }: HookDeclaration): Adder =>
  (parent) =>
    addCommand(parent, {
      name,
      ...declared,
      settingsOf: 'hooks',
      options: [...options, consumerOption()],
      async run(resolved, values: { consumer?: string }, ...args: string[]) {
        const [actions, { keyFor }] = await Promise.all([import('./hooks.ts'), import('../cli/client.ts')]);
        const { consumer } = values;
        const { url } = resolved.settings;
        const connection = { url, key: keyFor(resolved), ...(consumer === undefined ? {} : { consumer }) };
        await action(actions)(connection, ...([...args, values] as never[]));
      },
    });

const height = (flag: string, help: string): Option => numberOption(flag, help, 0);
const firstBlock = () => height('--from-height <height>', 'First block').makeOptionMandatory();
const resumeFrom = (): Option =>
  checked(
    new Option('--resume-from <start>', 'Where a disabled chainhook continues: tip, last_evaluated or a height'),
    'tip, last_evaluated or a height of 0 or more',
    (text) => {
      if (text === 'tip' || text === 'last_evaluated') return text;
      return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
    },
  ).conflicts('paused');
const FILE = 'a file, or - for stdin';
const UUID = ['<uuid>', 'Id of the chainhook'] as const;

const statusCode = (text: string): number | undefined => (/^[2-5]\d\d$/.test(text) ? Number(text) : undefined);

const commands: readonly Adder[] = [
  hookCommand('list', {
    summary: 'List chainhooks, newest first; the admin key lists all consumers',
    options: [jsonOption()],
    action: (actions) => actions.list,
  }),
  hookCommand('add', {
    summary: 'Register a chainhook',
    arguments: [['<file>', 'Definition as JSON; - for stdin', FILE]],
    options: [onlyJsonOption()],
    action: (actions) => actions.add,
  }),
  hookCommand('show', {
    summary: 'Show a chainhook and its status',
    arguments: [UUID],
    options: [onlyJsonOption()],
    action: (actions) => actions.show,
  }),
  hookCommand('enable', {
    summary: 'Enable a chainhook, or resume all chainhooks that a restore paused',
    arguments: [['[uuid]', 'Id of the chainhook']],
    options: [switchOption('--paused', 'All paused chainhooks; with the admin key, for every consumer'), resumeFrom()],
    action: (actions) => actions.enable,
  }),
  hookCommand('disable', {
    summary: 'Disable a chainhook',
    arguments: [UUID],
    action: (actions) => (connection, uuid) => actions.setEnabled(connection, uuid, false),
  }),
  hookCommand('remove', {
    summary: 'Delete a chainhook and its queue',
    arguments: [UUID],
    action: (actions) => actions.remove,
  }),
  hookCommand('try', {
    summary: 'Count the matches of a definition in past blocks, without sending them',
    arguments: [['<file>', 'JSON with filters and options; - for stdin', FILE]],
    options: [
      firstBlock(),
      height('--to-height <height>', 'Last block (default: the first block)'),
      switchOption('--payloads', 'Print the first payloads instead of the count'),
      jsonOption(),
    ],
    action: (actions) => actions.tryFile,
  }),
  hookCommand('test', {
    summary: 'Send a test delivery at once, and show the result',
    arguments: [UUID],
    options: [jsonOption()],
    action: (actions) => actions.sendTest,
  }),
  hookCommand('backfill', {
    summary: 'Deliver the matches in past blocks',
    arguments: [UUID],
    options: [
      firstBlock(),
      height('--to-height <height>', 'Last block (default: the chain tip)'),
      switchOption('--dry-run', 'Count the matches and deliver nothing'),
      switchOption('--wait', 'Wait until everything is queued'),
      onlyJsonOption(),
    ],
    action: (actions) => actions.backfill,
  }),
  hookCommand('deliveries', {
    summary: 'List deliveries, newest first',
    arguments: [UUID],
    options: [
      new Option(
        '--state <words>',
        'States separated by commas: pending, failed, delivered, dead, cancelled (default: all)',
      ),
      numberOption('--limit <number>', 'Maximum number of deliveries', 0, 50),
      jsonOption(),
    ],
    action: (actions) => actions.deliveries,
  }),
  hookCommand('retry', {
    summary: 'Send the failed delivery of a chainhook again at once, and show the result',
    arguments: [UUID],
    options: [jsonOption()],
    action: (actions) => actions.retry,
  }),
  hookCommand('skip', {
    summary: 'Drop the failed delivery that blocks a chainhook, and send the next one',
    arguments: [UUID],
    options: [jsonOption()],
    action: (actions) => actions.skip,
  }),
  hookCommand('redeliver', {
    summary: 'Send deliveries again: one by its id, or all that the options select',
    arguments: [UUID, ['[id]', 'Id of one delivery']],
    options: [
      new Option('--state <words>', 'States separated by commas: dead, failed, delivered (default: all)'),
      height('--from-height <height>', 'First block (default: any)'),
      height('--to-height <height>', 'Last block (default: any)'),
      timeOption('--since <time>', 'Created at or after this time (default: any)'),
      timeOption('--until <time>', 'Created at or before this time (default: any)'),
      onlyJsonOption(),
    ],
    action: (actions) => actions.redeliver,
  }),
  (parent) =>
    addCommand(parent, {
      name: 'listen',
      summary: 'Receive deliveries on this machine, and show each as it comes',
      example: 'stackside hooks listen --port 8080 --secret-file secret.txt',
      settingsOf: 'hooks listen',
      options: [
        numberOption('--port <number>', 'Port to listen on; 0 picks a free port', 0, 8080, MAX_PORT),
        checked(
          new Option('--fail <status>', 'Answer every delivery with this status, such as 500 (default: 204)'),
          'an HTTP status from 200 to 599',
          statusCode,
        ),
        numberOption('--delay <milliseconds>', 'Time before each answer', 0, 0, MAX_SECONDS * 1000),
        switchOption('--print-body', 'Print the body of each delivery'),
        fileOption('--secret-file <file>', 'File with the signing secret to verify deliveries with'),
      ],
      async run(resolved, choice: ListenChoice) {
        const { listenForDeliveries } = await import('./listen.ts');
        await listenForDeliveries(choice, resolved.settings.signingSecret);
      },
    }),
];

/** Adds `hooks` and its subcommands. */
export function addHookCommands(program: OwnCommand): void {
  const hooks = addGroup(program, {
    name: 'hooks',
    summary: 'Chainhooks of a running Stackside: list, add, show, try, backfill, deliveries, retry, skip',
    example: 'stackside hooks try hook.json --from-height 150000 --to-height 150100',
    description: `Chainhooks of a running Stackside. The commands use the admin key of the data directory, or the key in ${settings.hookKey.variables[0]}.`,
  });
  for (const add of commands) add(hooks);
}
