/** `stackside cluster …`: the log that several hosts share. */
import { EXIT } from '../../base/errors.ts';
import { addCommand, command, formatOption, type OutputFormat, type OwnCommand, switchOption } from '../cli/command.ts';

const init = command({
  name: 'init',
  summary: 'Create the tables of the shared log, and copy the journal of the data directory',
  example: 'stackside cluster init --cluster postgres://db1,db2/stacks --data /srv/stacks',
  settingsOf: 'cluster',
  async run({ settings }) {
    const { initCluster } = await import('./cluster.ts');
    await initCluster(settings);
  },
});

const status = command({
  name: 'status',
  summary: "Show the shared log, its hosts, and PostgreSQL's replication",
  example: 'stackside cluster status --cluster postgres://stackside@db1,db2,db3/stacks',
  settingsOf: 'cluster',
  options: [
    formatOption('Output format; json prints one object'),
    switchOption('--verify', 'Read every entry of the log, and list missing or damaged entries'),
  ],
  async run({ settings }, options: { format: OutputFormat; verify: boolean }) {
    const { reportCluster } = await import('./cluster.ts');
    if (!(await reportCluster(settings, options))) process.exitCode = EXIT.found;
  },
});

/** Adds the commands to the program. */
export function addClusterCommands(program: OwnCommand): void {
  const summary = 'Make and inspect the log that several hosts share';
  const cluster = program
    .command('cluster')
    .summary(summary)
    .description(summary)
    .addHelpText('after', '\nExample:\n  stackside cluster status --cluster postgres://stackside@db1,db2,db3/stacks');
  addCommand(cluster, init);
  addCommand(cluster, status);
}
