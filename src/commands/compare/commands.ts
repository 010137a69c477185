/** Declares `stackside compare`. */
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
  summary: 'Send the same requests to this server and another API, and show the differences',
  example: 'stackside compare https://api.example.org --requests 5000',
  settingsOf: 'compare',
  arguments: [['<api>', 'URL of the other API']],
  options: [
    numberOption('--rate <requests>', 'Maximum requests per second to the other API', 1, DEFAULT_RATE, FASTEST),
    numberOption('--requests <number>', 'Maximum requests to the other API', 1, DEFAULT_REQUESTS),
    numberOption('--seed <number>', 'Seed of the random selection (default: random)', 0, undefined, GREATEST_SEED),
    formatOption('Output format; json prints a line for each route, and one for all'),
  ],
  async run({ settings }, options: CompareCommandOptions, url: string) {
    const { runCompare } = await import('./run.ts');
    if (!(await runCompare(settings, url, options))) process.exitCode = EXIT.found;
  },
});
