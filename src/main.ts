#!/usr/bin/env bun
/**
 * The command line. How a command ends is {@link EXIT}; 0 is done.
 *
 * Each action loads its own command, so that --help or a script that asks for `status` waits for no server code.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { EXIT, OperatorError } from './base/errors.ts';
import { operatorErrorOf } from './base/system-errors.ts';
import { recordingFormats } from './chain/recording.ts';
import { hooksCommand } from './commands/hooks.ts';
import { guardOutput, printError } from './commands/output.ts';
import { serverVersion } from './commands/version.ts';
import { readSettings, type SettingName, type Settings, settings } from './settings/config.ts';

const program = new Command('stackside')
  .description('The Stacks chain-data API beside your node: one executable, one data directory.')
  .version(serverVersion)
  .showHelpAfterError('Try --help for what is accepted.')
  .addHelpText(
    'after',
    `
Exit codes:
  0   done, or stopped by a signal
  1   something only you can put right; the second line says how
  2   stackside check found a difference
  75  starting again may help
  130 an import or export was stopped by a signal

Example:
  stackside demo`,
  )
  .exitOverride();

/** A command with flags for these settings; each shows its default and the variables that also set it. */
function command(name: string, summary: string, names: readonly SettingName[], example: string): Command {
  const made = program
    .command(name)
    .summary(summary)
    .description(summary)
    .addHelpText('after', `\nExample:\n  ${example}`);
  for (const setting of names) {
    const { flag, help, variables, hostAndPort, type } = settings[setting];
    if (flag === null) continue;
    const pairs = (hostAndPort ?? []).map(([host, port]) => `${host} with ${port}`);
    const defaultText = type.default === null || type.default === true ? '' : ` [${type.default}]`;
    const option = new Option(flag, `${help}${defaultText} (${[...variables, ...pairs].join(', ')})`);
    // Commander would set every --no-x to true where it isn't given, and so hide the variables.
    made.addOption(option.negate ? option.default(undefined) : option);
  }
  return made;
}

const given = (options: Record<string, unknown>): Settings => readSettings(options, process.env);

/** Does the work of a command on its data directory. @throws OperatorError where files or disks are what fails */
async function onData(settings: Settings, work: (settings: Settings) => Promise<void> | void): Promise<void> {
  try {
    await work(settings);
  } catch (error) {
    throw operatorErrorOf(error, settings.data) ?? error;
  }
}

const wholeNumber =
  (least: number) =>
  (text: string): number => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < least)
      throw new InvalidArgumentError(`It must be a whole number from ${least} on.`);
    return number;
  };

/** @returns the URL as it was given */
function httpUrl(text: string): string {
  const protocol = URL.parse(text)?.protocol;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new InvalidArgumentError('It must be the URL of an HTTP server, such as http://127.0.0.1:3700.');
  }
  return text;
}

/** All that have a flag: a setting that is declared is one of the server. */
const serving = Object.keys(settings) as SettingName[];

command(
  'serve',
  "Take the node's events and answer the API",
  serving,
  'stackside serve --data /srv/stacks --network mainnet',
).action(async (options) => {
  await onData(given(options), async (settings) => {
    const { serveUntilSignal, startServing } = await import('./commands/serve.ts');
    await serveUntilSignal(settings, await startServing(settings));
  });
});

command(
  'demo',
  'Serve a simulated chain that grows, to look at without a node',
  ['data', 'apiHost', 'apiPort', 'eventPort', 'hookAccess', 'logLevel'],
  'stackside demo --interval 2',
)
  .option('--seed <number>', 'Another seed, another chain', wholeNumber(0), 1)
  .option('--interval <seconds>', 'Time between two blocks', wholeNumber(1), 5)
  .action(async (options) => {
    await onData(given({ logLevel: 'error', hookAccess: 'open', ...options }), async (settings) => {
      const { runDemo } = await import('./commands/demo.ts');
      await runDemo(settings, options.data !== undefined, options);
    });
  });

command(
  'import',
  'Take event recordings (TSV; plain, .gz or .zst; - for stdin) into the index; goes on where it stopped',
  ['data', 'network', 'chainId', 'journal', 'logLevel'],
  'stackside import events.tsv.zst --data /srv/stacks',
)
  .argument('<file...>')
  .option('--skip-bad', "Count rows that can't be taken and go on", false)
  .option('--restart', 'Take the recording from its first row again', false)
  .addOption(
    new Option('--format <format>', "With COPY's escapes, or as the columns stand; found out if not given").choices(
      recordingFormats,
    ),
  )
  .action(async (files: string[], options) => {
    await onData(given(options), async (settings) => {
      const { runImport } = await import('./commands/import.ts');
      await runImport(settings, files, options);
    });
  });

command('export', 'Write the journal as an event recording', ['data'], 'stackside export --output events.tsv.zst')
  .option('--output <file>', 'A file, compressed if it ends in .gz or .zst; stdout if not given')
  .option('--overwrite', 'Replace the file if it is there', false)
  .action(async (options) => {
    await onData(given(options), async ({ data }) => {
      const { runExport } = await import('./commands/export.ts');
      await runExport(data, options.output, options.overwrite);
    });
  });

command('rebuild', 'Make the index anew from the journal', ['data', 'logLevel'], 'stackside rebuild --data /srv/stacks')
  .option('--force', 'Even if events that the journal lacks, or chainhooks that can not be read, are lost', false)
  .action(async (options) => {
    await onData(given({ logLevel: 'error', ...options }), async ({ data, logLevel }) => {
      const [{ createLog }, { rebuildIndex }] = await Promise.all([
        import('./log.ts'),
        import('./store/ingest/rebuild.ts'),
      ]);
      const log = createLog(logLevel);
      const { tipHeight } = rebuildIndex({ directory: data, chainId: null, log, force: options.force });
      process.stdout.write(`The index is at height ${tipHeight}.\n`);
    });
  });

command(
  'accept-journal',
  'Keep the index where its journal was lost: go on without the events that the journal lacks',
  ['data'],
  'stackside accept-journal --data /srv/stacks',
).action(async (options) => {
  await onData(given(options), async ({ data }) => {
    const { reportAcceptedJournal } = await import('./commands/report.ts');
    reportAcceptedJournal(data);
  });
});

command(
  'backup',
  'Copy index and journal while they are in use: to FILE and FILE.journal',
  ['data'],
  'stackside backup /backups/stacks.db',
)
  .argument('<file>')
  .action(async (file: string, options) => {
    await onData(given(options), async ({ data }) => {
      const { backupDirectory } = await import('./store/files/backup.ts');
      for (const written of backupDirectory(data, file)) process.stdout.write(`${written}\n`);
    });
  });

command(
  'check',
  'Compare everything derived with a recount of what it is derived from, and verify the journal',
  ['data'],
  'stackside check --data /srv/stacks',
)
  .option(
    '--deep',
    'Compare every row with an index that is made from the journal for it: takes the time and space of a rebuild',
    false,
  )
  .action(async (options) => {
    await onData(given(options), async ({ data }) => {
      const { reportCheck } = await import('./commands/report.ts');
      if (!reportCheck(data, options.deep)) process.exitCode = EXIT.found;
    });
  });

command('status', 'Say where the data stands', ['data'], 'stackside status --json')
  .option('--json', 'As JSON', false)
  .action(async (options) => {
    await onData(given(options), async ({ data }) => {
      const { reportStatus } = await import('./commands/report.ts');
      reportStatus(data, options.json);
    });
  });

hooksCommand(program, wholeNumber(0));

command(
  'devnet',
  "Make a simulated chain's events: as a recording, or posted to an observer",
  [],
  'stackside devnet --seed 1 --blocks 200 --out events.tsv',
)
  .option('--seed <number>', 'Another seed, another chain', wholeNumber(0), 1)
  .option('--blocks <number>', 'Height at which it ends', wholeNumber(1), 100)
  .option('--transactions <number>', 'Transactions of a block, on average', wholeNumber(0), 10)
  .option('--fork-every <number>', 'A fork after so many blocks; 0 for none', wholeNumber(0), 20)
  .option('--fork-depth <number>', 'Blocks a fork takes back at most', wholeNumber(1), 3)
  .addOption(new Option('--out <file>', 'Write a recording; - for stdout').conflicts('post'))
  .addOption(new Option('--post <url>', 'Post to an observer, such as http://127.0.0.1:3700').argParser(httpUrl))
  .action(async ({ seed, blocks, transactions, forkEvery, forkDepth, out, post }) => {
    const options = { seed, blocks, transactionsPerBlock: transactions, forkEvery, forkDepth };
    const { postDevnet, writeDevnet } = await import('./commands/devnet.ts');
    if (post !== undefined) await postDevnet(options, post);
    else await writeDevnet(options, out ?? '-');
  });

guardOutput();
try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed what is wrong, or the help that was asked for.
    process.exitCode = error.exitCode === 0 ? 0 : EXIT.operator;
  } else if (error instanceof OperatorError) {
    printError(error);
  } else {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = EXIT.again;
  }
}
