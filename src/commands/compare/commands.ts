/** Declares `stackside compare`. */
import { Option } from 'commander';
import { EXIT } from '../../base/errors.ts';
import { command, formatOption, numberOption } from '../cli/command.ts';
import type { CompareCommandOptions } from './run.ts';

const DEFAULT_RATE = 5;
const FASTEST = 1_000;
const DEFAULT_REQUESTS = 1_000;
/** Seeds are below 2^32. */
const GREATEST_SEED = 4_294_967_295;

export const compareServers = command({
  name: 'compare',
  summary: 'Ask this server and another API the same questions, and show where their answers differ',
  example: 'stackside compare https://api.example.org --resume compare.json',
  settingsOf: 'compare',
  arguments: [['<api>', 'URL of the other API, such as the one that clients leave']],
  options: [
    numberOption('--rate <requests>', 'Requests a second to the other API, at most', 1, DEFAULT_RATE, FASTEST),
    numberOption(
      '--requests <number>',
      'Requests to the other API, at most; with --resume, those of earlier runs count',
      1,
      DEFAULT_REQUESTS,
    ),
    numberOption(
      '--seed <number>',
      'Draws the same rows and questions again (default: that of --resume, or a random one)',
      0,
      undefined,
      GREATEST_SEED,
    ),
    new Option(
      '--resume <file>',
      'File that keeps what was asked and found; a run with it goes on where the last one ended',
    ),
    formatOption('Output format; json prints a line for each route, and one for all'),
  ],
  async run({ settings }, options: CompareCommandOptions, url: string) {
    const { runCompare } = await import('./run.ts');
    if (!(await runCompare(settings, url, options))) process.exitCode = EXIT.found;
  },
});
