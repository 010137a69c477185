/** Commands that work on a data directory, on archives, on the shared log of a cluster, or on another API. */
import { Option } from 'commander';
import type { BaseChoice } from '../../archive/base-restore.ts';
import type { Until } from '../../archive/restore.ts';
import { systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { utcMicroseconds } from '../../base/utc-time.ts';
import { recordingFormats } from '../../chain/recording.ts';
import {
  addCommand,
  addGroup,
  checked,
  choiceOption,
  command,
  fileOption,
  jsonOption,
  MAX_SECONDS,
  numberOption,
  type OwnCommand,
  switchOption,
} from '../cli/command.ts';
import type { CompareCommandOptions } from '../compare/compare.ts';
import { type ExportOptions, endingOf, exportFormats, formats, type SqlOptions } from '../query/options.ts';
import type { ImportOptions } from './import.ts';

export const importRecordings = command('import', {
  summary: 'Import event recordings into the index, or continue an import',
  example: 'stackside import events.tsv.zst --data /srv/stacks',
  arguments: [
    ['<file...>', 'Recordings: TSV, plain or compressed with gzip or zstd; - for stdin', 'a file, or - for stdin'],
  ],
  options: [
    switchOption('--skip-bad', "Count and skip rows that can't be imported"),
    switchOption('--restart', 'Import the recording from its first row again'),
    choiceOption(
      '--format <format>',
      "copy: with the escapes of PostgreSQL's COPY; raw: without (default: detected from the rows)",
      recordingFormats,
    ),
  ],
  run: async ({ settings }, options: ImportOptions, files: string[]) =>
    (await import('./import.ts')).runImport(settings, files, options),
});

/** @throws OperatorError if the journal is exported with options or a file name for rows */
function requireNoRowOptions({ output = '', format, fromHeight, toHeight }: ExportOptions): void {
  const isForRows = [format, fromHeight, toHeight].some((value) => value !== undefined);
  const { ending } = endingOf(output);
  const isRowFile = exportFormats.some((name) => name === ending);
  if (!isForRows && !isRowFile) return;
  throw new OperatorError(
    `Without --table or --query, the journal is exported, but ${isForRows ? '--format, --from-height and --to-height are' : `a .${ending} file is`} for rows.`,
    `Name a view with --table, or give a query with --query${isForRows ? '' : ', or rename the file'}.`,
  );
}

export const exportRecording = command('export', {
  summary: 'Write the journal as an event recording, or rows of the index as CSV, NDJSON or Parquet',
  example: 'stackside export --table v1_events --from-height 1 --output events.parquet',
  options: [
    fileOption(
      '--output <file>',
      'File to write, compressed if its name ends in .gz or .zst; - for stdout (default: stdout)',
      'a file, or - for stdout',
    ),
    switchOption('--overwrite', 'Replace the file if it exists'),
    new Option('--table <view>', 'Export the rows of a view, such as v1_events, instead of the journal'),
    new Option('--query <sql>', 'Export the rows of a query instead of the journal').conflicts('table'),
    choiceOption('--format <format>', 'Format of rows (default: from the file name, otherwise csv)', exportFormats),
    numberOption('--from-height <height>', 'Lowest block to export (default: the first one)', 0).conflicts('query'),
    numberOption('--to-height <height>', 'Highest block to export (default: the tip)', 0).conflicts('query'),
  ],
  async run({ settings }, { output, ...others }: ExportOptions) {
    const options: ExportOptions = output === undefined || output === '-' ? others : { ...others, output };
    const { exportRows, runExport } = await import('./export.ts');
    if (options.table !== undefined || options.query !== undefined) return exportRows(settings.data, options);
    requireNoRowOptions(options);
    await runExport(settings.data, options.output, options.overwrite);
  },
});

export const sql = command('sql', {
  summary: 'Query the index with SQL',
  example: 'stackside sql "select block_height, tx_count from v1_blocks limit 10"',
  arguments: [['[query]', 'Query (default: read it from stdin)']],
  options: [
    choiceOption('--format <format>', 'Output format', formats).default('table'),
    jsonOption('Print JSON, like --format json').conflicts('format'),
    numberOption('--timeout <seconds>', 'Maximum duration of the query', 1, 60, MAX_SECONDS),
    numberOption('--max-memory <megabytes>', 'Maximum memory of the query', 100, 1000),
    numberOption('--max-rows <rows>', 'Maximum number of rows to print', 1, 10_000),
    switchOption('--request', 'Used by the server: read a request from stdin and print JSON lines'),
  ],
  async run({ settings }, options: SqlOptions, query?: string) {
    const { runRequest, runSql } = await import('../query/sql.ts');
    await (options.request ? runRequest(settings.data, options) : runSql(settings.data, query, options));
  },
});

export const rebuild = command('rebuild', {
  summary: 'Rebuild the index from the journal',
  example: 'stackside rebuild --data /srv/stacks',
  options: [
    switchOption('--force', "Rebuild even if the index has events that the journal lacks, or can't be read"),
    switchOption('--beside', 'Rebuild while a server runs, which then switches to the new index'),
  ],
  run: async ({ settings }, options: { force: boolean; beside: boolean }) =>
    (await import('./rebuild.ts')).runRebuild(settings, options),
});

export const backup = command('backup', {
  summary: 'Copy new log entries and a base to an archive, also while a server runs',
  example: 'stackside backup s3://backups/stacks --data /srv/stacks',
  arguments: [
    [
      '<archive>',
      'Archive, created if missing: a directory, or s3://bucket/prefix',
      'a directory, or s3://bucket/prefix',
    ],
  ],
  options: [
    switchOption('--public', 'Include only the chain and its tokens, and sign with archive.key of the data directory'),
  ],
  run: async ({ settings }, { public: isPublic }: { public: boolean }, location: string) =>
    (await import('./archive.ts')).runBackup(settings, location, isPublic),
});

const ARCHIVE = [
  '<archive>',
  'Archive: a directory, s3://bucket/prefix, or the URL of a public one',
  'a directory, s3://bucket/prefix, or the URL of a public archive',
] as const;

interface RestoreChoice {
  untilHeight?: number;
  untilTime?: number;
  untilEntry?: number;
  base?: BaseChoice;
}

function baseChoice(text: string): BaseChoice | undefined {
  if (text === 'none') return text;
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** Returns the end of a restore, of which the options allow one; null for none. */
function untilOf({ untilHeight: height, untilTime: time, untilEntry: entry }: Omit<RestoreChoice, 'base'>): Until {
  if (height !== undefined) return { height };
  if (time !== undefined) return { time };
  return entry === undefined ? null : { entry };
}

export const restore = command('restore', {
  summary: 'Restore an archive into an empty data directory, or continue a restore',
  example: 'stackside restore s3://backups/stacks --data /srv/stacks',
  arguments: [ARCHIVE],
  options: [
    numberOption('--until-height <height>', 'Stop after this block height', 0).conflicts(['untilTime', 'untilEntry']),
    checked(
      new Option('--until-time <time>', 'Stop at this time, such as 2026-01-31T12:00:00Z; UTC without a zone'),
      'a time such as 2026-01-31T12:00:00Z',
      (text) => utcMicroseconds(text) ?? undefined,
    ).conflicts('untilEntry'),
    numberOption('--until-entry <number>', 'Stop after this entry', 1),
    checked(
      new Option('--base <entry|none>', 'Base to start from, by its entry; none starts with the first entry'),
      'the entry of a base, or none',
      baseChoice,
    ),
  ],
  async run({ settings }, { base, ...end }: RestoreChoice, location: string) {
    const { runRestore } = await import('./archive.ts');
    await runRestore(settings, location, { until: untilOf(end), ...(base === undefined ? {} : { base }) });
  },
});

const archiveStatus = command('archive', {
  name: 'status',
  summary: 'Show the chain, newest base, end and missing segments of an archive (not of a URL)',
  example: 'stackside archive status s3://backups/stacks',
  arguments: [ARCHIVE],
  options: [jsonOption()],
  run: async ({ settings }, { json }: { json: boolean }, location: string) =>
    (await import('./archive.ts')).reportArchive(settings, location, json),
});

const archiveList = command('archive', {
  name: 'list',
  summary: 'List the objects of an archive',
  example: 'stackside archive list s3://backups/stacks',
  arguments: [ARCHIVE],
  options: [jsonOption('Print JSON; a line for each object, with its entries')],
  run: async ({ settings }, { json }: { json: boolean }, location: string) =>
    (await import('./archive.ts')).listArchive(settings, location, json),
});

const archiveVerify = command('archive', {
  name: 'verify',
  summary: 'Read and verify every object of an archive: all its segments and bases',
  example: 'stackside archive verify s3://backups/stacks',
  arguments: [ARCHIVE],
  options: [jsonOption('Print JSON; a line for each object')],
  run: async ({ settings }, { json }: { json: boolean }, location: string) =>
    (await import('./archive.ts')).verifyArchive(settings, location, json),
});

const archiveKey = command('sql', {
  name: 'key',
  summary: 'Print the public key of a public archive, and create its private key if necessary',
  example: 'stackside archive key --data /srv/stacks',
  options: [jsonOption()],
  run: async ({ settings }, { json }: { json: boolean }) =>
    (await import('./archive.ts')).printArchiveKey(settings.data, json),
});

/** Adds `archive` and its subcommands. */
export function addArchiveCommands(program: OwnCommand): void {
  const archive = addGroup(program, {
    name: 'archive',
    summary: 'Archives of the log: status, list, verify, key',
    example: 'stackside archive status s3://backups/stacks',
    description: 'Archives of the log, which stackside serve --archive writes and stackside restore reads.',
  });
  for (const subcommand of [archiveStatus, archiveList, archiveVerify]) addCommand(archive, subcommand);
  addCommand(archive, archiveKey);
}

interface CheckCommandOptions {
  deep: boolean;
  node: boolean;
  sample: number;
  all: boolean;
  rate: number;
  json: boolean;
}

/** Number of facts of each kind that are compared with the node. */
const DEFAULT_SAMPLE = 200;
const DEFAULT_RATE = 50;

/** What an option sets that only `--node` needs. */
const withNode = { node: true };

export const check = command('check', {
  summary: 'Verify the files and the journal, and with --deep every row of the index',
  example: 'stackside check --data /srv/stacks',
  options: [
    switchOption('--deep', 'Compare every row with a rebuilt index; needs the time and space of a rebuild'),
    switchOption(
      '--node',
      'Instead of checking the files, compare the index with the node at one block: accounts, contracts, blocks, results, reward sets, tokens',
    ).conflicts('deep'),
    numberOption(
      '--sample <number>',
      'Number of items of each kind to compare, from the newest blocks; implies --node',
      1,
      DEFAULT_SAMPLE,
    ).implies(withNode),
    switchOption('--all', 'Compare everything, from the tip down to the first block; implies --node')
      .conflicts('sample')
      .implies(withNode),
    numberOption(
      '--rate <requests>',
      'Maximum requests per second to the node; implies --node',
      1,
      DEFAULT_RATE,
    ).implies(withNode),
    jsonOption('Print JSON; a line for each step and finding'),
  ],
  async run({ settings }, { json, deep, node, sample, all, rate }: CheckCommandOptions) {
    if (node) {
      const [{ checkAgainstNode, checkWatch }, { nodeRpc }] = await Promise.all([
        import('./check.ts'),
        import('../../node/rpc.ts'),
      ]);
      const { data } = settings;
      const sampling = { rate, clock: systemClock, ...(all ? {} : { sample }) };
      return checkAgainstNode(data, nodeRpc(settings.nodeRpc), sampling, checkWatch(json));
    }
    return (await import('./check.ts')).reportCheck(settings.data, { deep, json });
  },
});

const REPORTS = ['alive', 'ready', 'tables'];

/** A switch of `status` that selects another report. */
const reportSwitch = (name: string, help: string): Option =>
  switchOption(`--${name}`, help).conflicts(REPORTS.filter((other) => other !== name));

export const status = command('status', {
  summary: 'Show the state of a running server, and the chain tip, counts and file sizes of its data directory',
  example: 'stackside status --json',
  options: [
    reportSwitch('alive', 'Only check whether the server answers; if not, exit with 1'),
    reportSwitch('ready', 'Only check whether the server is up to date; if not, exit with 1'),
    reportSwitch('tables', 'Measure the tables of the index, which reads all of it'),
    jsonOption('Print JSON; a line for each table'),
  ],
  async run(
    { settings: { url, data } },
    { alive, ready, tables, json }: Record<'alive' | 'ready' | 'tables' | 'json', boolean>,
  ) {
    if (alive || ready) {
      const { askHealth } = await import('../cli/client.ts');
      const health = await askHealth(url, ready ? 'ready' : 'alive');
      process.stdout.write(`${json ? JSON.stringify({ health }) : health}\n`);
    } else {
      const { reportStatus, reportTables } = await import('./check.ts');
      if (tables) reportTables(data, json);
      else await reportStatus({ url, data }, json);
    }
  },
});

const clusterInit = command('cluster init', {
  name: 'init',
  summary: 'Create the tables of the shared log, and copy the journal of the data directory',
  example: 'stackside cluster init --cluster postgres://db1,db2/stacks --data /srv/stacks',
  run: async ({ settings }) => (await import('../cluster/cluster.ts')).initCluster(settings),
});

const clusterStatus = command('cluster status', {
  name: 'status',
  summary: "Show the shared log, its hosts, and PostgreSQL's replication",
  example: 'stackside cluster status --cluster postgres://stackside@db1,db2,db3/stacks',
  options: [jsonOption(), switchOption('--verify', 'Read every entry of the log, and list missing or damaged entries')],
  run: async ({ settings }, options: { json: boolean; verify: boolean }) =>
    (await import('../cluster/cluster.ts')).reportCluster(settings, options),
});

/** Adds `cluster` and its subcommands. */
export function addClusterCommands(program: OwnCommand): void {
  const cluster = addGroup(program, {
    name: 'cluster',
    summary: 'Create and inspect the log that several hosts share',
    example: 'stackside cluster status --cluster postgres://stackside@db1,db2,db3/stacks',
  });
  addCommand(cluster, clusterInit);
  addCommand(cluster, clusterStatus);
}

/** Requests per second to the other API, and requests of a comparison. */
const COMPARE_RATE = 5;
const MAX_RATE = 1_000;
const COMPARE_REQUESTS = 1_000;

export const compareServers = command('compare', {
  summary: 'Send the same requests to this server and another API, and show the differences',
  example: 'stackside compare https://api.example.org --requests 5000',
  arguments: [['<api>', 'URL of the other API']],
  options: [
    numberOption('--rate <requests>', 'Maximum requests per second to the other API', 1, COMPARE_RATE, MAX_RATE),
    numberOption('--requests <number>', 'Maximum requests to the other API', 1, COMPARE_REQUESTS),
    jsonOption('Print JSON; a line for each route, and one for all'),
  ],
  run: async ({ settings }, options: CompareCommandOptions, url: string) =>
    (await import('../compare/compare.ts')).runCompare(settings, url, options),
});
