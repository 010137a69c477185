/**
 * A server on free ports that retries failed deliveries soon, in a separate process. The argument is its data
 * directory.
 */
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { startServing } from '../../src/commands/serve/serve.ts';
import { readSettings } from '../../src/settings/config.ts';

const [, , data = ''] = process.argv;
const settings = {
  data,
  logLevel: 'silent',
  apiPort: '0',
  eventPort: '0',
  hookAccess: 'open',
  hookTargets: '127.0.0.0/8',
};
const { api, events, stop } = await startServing(readSettings(settings, {}), {
  ...realEnvironment,
  deliveryRules: { timeoutMs: 300_000, retryCapMs: 20 },
});
process.once('SIGTERM', () => void stop().then(() => process.exit(0)));
process.stdout.write(`${JSON.stringify({ api, events })}\n`);
