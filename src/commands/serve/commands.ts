/** Commands that run a server, or help to try one. */
import { Option } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { integer } from '../../settings/setting.ts';
import {
  addCommand,
  choiceOption,
  command,
  fileOption,
  jsonOption,
  numberOption,
  type OwnCommand,
  switchOption,
  timeOption,
  warnOfIgnoredVariables,
} from '../cli/command.ts';
import type { SettingsFormat } from '../cli/show-settings.ts';

/** The settings of a server that most people need. */
const mainSettings = [
  ...(['data', 'history', 'nodeRpc', 'nodeConfig', 'eventHost', 'eventPort', 'apiHost', 'apiPort'] as const),
  ...(['allowedHosts', 'from', 'archivePublicKey', 'archive', 'logLevel'] as const),
];

export const serve = command('serve', {
  summary: "Receive the node's events and serve the API",
  example: 'stackside serve --data /srv/stacks',
  mainSettings,
  logs: true,
  options: [
    choiceOption(
      '--print-settings [format]',
      'Print the settings and their sources, and exit (default format: table)',
      ['table', 'json'],
    ).preset('table'),
  ],
  async run(resolved, { printSettings: format }: { printSettings?: SettingsFormat }) {
    if (format !== undefined) {
      const { printSettings } = await import('../cli/show-settings.ts');
      warnOfIgnoredVariables();
      return printSettings(resolved, format);
    }
    const { runServe } = await import('./serve.ts');
    await runServe(resolved);
  },
});

const untilStdinEndsOption = (): Option =>
  switchOption(
    '--until-stdin-ends',
    'Stop when stdin ends, so that the chain never outlives the program that started it',
  );

export const demo = command('demo', {
  summary: 'Serve a devnet with a past and simulated users; no node is needed',
  example: 'stackside demo --block-time 2',
  options: [untilStdinEndsOption()],
  async run({ settings, sources }, { untilStdinEnds }: { untilStdinEnds: boolean }) {
    const { demoSettings, runDevnet } = await import('./devnet.ts');
    await runDevnet(demoSettings(settings), sources, untilStdinEnds);
  },
});

const devnet = command('devnet', {
  summary: 'Serve a chain for your contracts and apps, or steer a running one',
  example: 'stackside devnet --clarity .',
  mainSettings: [
    ...(['data', 'apiPort', 'eventPort', 'clarity', 'watch', 'fork', 'automine', 'interval', 'seed'] as const),
    ...(['unsafeImpersonate', 'allowedHosts', 'logLevel'] as const),
  ],
  options: [untilStdinEndsOption()],
  async run({ settings, sources }, { untilStdinEnds }: { untilStdinEnds: boolean }) {
    const { devnetSettings, runDevnet } = await import('./devnet.ts');
    await runDevnet(devnetSettings(settings, '.'), sources, untilStdinEnds);
  },
});

export const openConsole = command('console', {
  summary: 'Print a link that signs a browser in to the console of a running Stackside',
  example: 'stackside console --data /srv/stacks',
  async run(resolved) {
    const { keyFor, printSignInLink } = await import('../cli/client.ts');
    await printSignInLink({ url: resolved.settings.url, key: keyFor(resolved) });
  },
});

export const doctor = command('serve', {
  name: 'doctor',
  summary: 'Check the node, the server, the ports and the disk, and print remedies',
  example: 'stackside doctor --node-config /etc/stacks/Stacks.toml --data /srv/stacks',
  mainSettings,
  options: [jsonOption()],
  async run({ settings }, { json }: { json: boolean }) {
    const { reportDoctor } = await import('../doctor/checks.ts');
    if (!(await reportDoctor(settings, json))) process.exitCode = EXIT.operator;
  },
});

interface SimulateChoice {
  seed: number;
  blocks: number;
  transactions: number;
  forkEvery: number;
  forkDepth: number;
  out?: string;
}

export const simulate = command('simulate', {
  summary: 'Write the events of a simulated chain to a recording',
  example: 'stackside simulate --seed 1 --blocks 200 --out events.tsv',
  options: [
    numberOption('--seed <number>', 'Seed of the simulated chain', 0, 1),
    numberOption('--blocks <number>', 'Height of the last block', 1, 100),
    numberOption('--transactions <number>', 'Average number of transactions per block', 0, 10),
    numberOption('--fork-every <number>', 'Number of blocks between two forks; 0 for no forks', 0, 20),
    numberOption('--fork-depth <number>', 'Maximum number of blocks that a fork reverts', 1, 3),
    fileOption('--out <file>', 'File for the recording; - for stdout (default: stdout)', 'a file, or - for stdout'),
  ],
  async run(_reading, { seed, blocks, transactions, forkEvery, forkDepth, out }: SimulateChoice) {
    const options = { seed, blocks, transactionsPerBlock: transactions, forkEvery, forkDepth };
    const { writeDevnet } = await import('./simulate.ts');
    await writeDevnet(options, out ?? '-');
  },
});

interface SteeringCommand {
  name: string;
  summary: string;
  example: string;
  arguments: readonly (readonly [syntax: string, help: string])[];
  /** Options that become fields of the body. */
  options?: readonly Option[];
  /** The body of the request. @param options values by name */
  body: (options: Readonly<Record<string, number | undefined>>, ...args: string[]) => object;
}

/** An option for the height, cycle or time that ends mining, instead of a number of blocks. */
const untilOption = (flag: string, help: string): Option => numberOption(flag, help, 1);

/** The number of an argument, if there is one: the server refuses a number and an end. */
const numberOf = (text: string | undefined) => (text === undefined ? undefined : integer(text));

const steeringCommands: readonly SteeringCommand[] = [
  {
    name: 'mine',
    summary: 'Mine blocks in a running devnet',
    example: 'stackside devnet mine 5',
    arguments: [['[blocks]', 'Number of blocks (default: 1)']],
    options: [
      untilOption('--until-height <height>', 'Height of the last block, in place of a number'),
      numberOption('--traffic <transactions>', 'Transactions of simulated users in each block (default: 0)', 0),
    ],
    body: ({ untilHeight, traffic }, count) => ({ count: numberOf(count), until_height: untilHeight, traffic }),
  },
  {
    name: 'fork',
    summary: 'Mine another branch in a running devnet',
    example: 'stackside devnet fork 3',
    arguments: [['[depth]', 'Number of blocks to orphan (default: 1)']],
    body: (_, depth = '1') => ({ depth: integer(depth) }),
  },
  {
    name: 'snapshot',
    summary: 'Name the state after the tip',
    example: 'stackside devnet snapshot before',
    arguments: [['[name]', 'Name for revert (default: default)']],
    body: (_, name) => ({ name }),
  },
  {
    name: 'revert',
    summary: 'Go back to the state after a block',
    example: 'stackside devnet revert before',
    arguments: [['<place>', 'Name of a snapshot, or index block hash as stackside devnet mine prints it']],
    body: (_, place = '') => (place.startsWith('0x') ? { index_block_hash: place } : { snapshot: place }),
  },
  {
    name: 'bitcoin',
    summary: 'Make Bitcoin blocks in a running devnet',
    example: 'stackside devnet bitcoin 2',
    arguments: [['[blocks]', 'Number of Bitcoin blocks (default: 1)']],
    options: [untilOption('--until-height <height>', 'Height of the last Bitcoin block, instead of a number')],
    body: ({ untilHeight }, count) => ({ count: numberOf(count), until_height: untilHeight }),
  },
  {
    name: 'cycle',
    summary: 'Advance to another reward cycle',
    example: 'stackside devnet cycle',
    arguments: [['[cycles]', 'Number of cycles (default: 1)']],
    options: [untilOption('--until-cycle <cycle>', 'Number of the last cycle, instead of a number of cycles')],
    body: ({ untilCycle }, count) => ({ count: numberOf(count), until_cycle: untilCycle }),
  },
  {
    name: 'time',
    summary: 'Advance the time of the next block',
    example: 'stackside devnet time 3600',
    arguments: [['[seconds]', 'Seconds']],
    options: [timeOption('--until-time <time>', 'Time of the next block, instead of seconds; UTC without a zone')],
    body: ({ untilTime }, seconds) => ({ seconds: numberOf(seconds), until_time: untilTime }),
  },
  {
    name: 'fund',
    summary: 'Give STX to an address',
    example: 'stackside devnet fund ST… 1000000',
    arguments: [
      ['<address>', 'Stacks address, or name of an account'],
      ['<amount>', 'Micro-STX'],
    ],
    body: (_, address, amount) => ({ address, amount }),
  },
  {
    name: 'replace',
    summary: 'Send a pending transaction again with a higher fee',
    example: 'stackside devnet replace 0x… 5000',
    arguments: [
      ['<id>', 'Transaction id'],
      ['<fee>', 'Micro-STX'],
    ],
    body: (_, id, fee) => ({ tx_id: id, fee }),
  },
  {
    name: 'drop',
    summary: 'Drop a pending transaction',
    example: 'stackside devnet drop 0x…',
    arguments: [['<id>', 'Transaction id']],
    body: (_, id) => ({ tx_id: id }),
  },
];

const types = command('devnet mine', {
  name: 'types',
  summary: 'Print TypeScript types of the contracts of a running devnet, for stackside/test',
  example: 'stackside devnet types > test/contracts.ts',
  async run({ settings }) {
    const [{ printLines }, { projectInterfaces, typesFile }] = await Promise.all([
      import('../cli/output.ts'),
      import('./contract-types.ts'),
    ]);
    await printLines(
      typesFile(await projectInterfaces(settings.url))
        .trimEnd()
        .split('\n'),
    );
  },
});

/** Adds `devnet` and its subcommands, which steer the simulated node of a running devnet or demo. */
export function addDevnetCommands(program: OwnCommand): void {
  // Flags after the name of a subcommand are those of the subcommand.
  const devnetCommand = addCommand(program, devnet).enablePositionalOptions();
  for (const { body, options = [], ...declared } of steeringCommands) {
    addCommand(
      devnetCommand,
      command('devnet mine', {
        ...declared,
        options: [...options, new Option('--json', 'Print the whole response as JSON, also on a terminal')],
        async run({ settings }, { json, ...values }: Record<string, number> & { json?: never }, ...args: string[]) {
          const [{ callDevnet }, { devnetSummary }] = await Promise.all([
            import('../cli/client.ts'),
            import('./devnet-summary.ts'),
          ]);
          const path = `/stackside/v1/devnet/${declared.name}`;
          const answer = await callDevnet(settings.url, path, body(values, ...args));
          // A program reads what isn't on a terminal.
          const isText = process.stdout.isTTY && json !== true;
          process.stdout.write(`${isText ? devnetSummary(answer as object) : JSON.stringify(answer)}\n`);
        },
      }),
    );
  }
  addCommand(devnetCommand, types);
}
