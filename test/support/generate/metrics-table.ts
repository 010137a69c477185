/** The table of metrics in docs/logs.md, from their help texts: `bun test/support/generate/metrics-table.ts` writes it. */
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { clusterMetrics, leaseMetrics, verificationMetrics } from '../../../src/metrics/cluster.ts';
import { snpMetrics } from '../../../src/metrics/events.ts';
import { rateLimitMetrics } from '../../../src/metrics/requests.ts';
import { archiveMetrics, baseMetrics } from '../../../src/metrics/server.ts';
import { serving } from '../servers/serving.ts';

export const metricsPage = join(import.meta.dir, '../../../docs/logs.md');

const BEGIN = '<!-- metrics: written by test/support/generate/metrics-table.ts -->\n';
const END = '<!-- end of metrics -->';

/** The metrics that a server has only with some settings, and the settings, as a prefix of their meaning. */
function conditionalMetrics(): [registry: Registry, prefix: string][] {
  const unread = (): never => {
    throw new Error('The values are not read.');
  };
  const [archive, cluster, limits, snp] = [new Registry(), new Registry(), new Registry(), new Registry()];
  archiveMetrics(archive, unread);
  baseMetrics(archive, unread);
  clusterMetrics(cluster, 'a host', unread);
  verificationMetrics(cluster, unread);
  leaseMetrics(cluster, unread);
  snpMetrics(snp, { failing: unread, counted: unread });
  rateLimitMetrics(limits);
  return [
    [limits, '`--rate-limit`: '],
    [snp, '`--snp`: '],
    [archive, '`--archive`: '],
    [cluster, '`--cluster`: '],
  ];
}

/** The page with the table of the present metrics. @param served the text of `/metrics` of a server without other settings */
export async function pageWithMetrics(served: string): Promise<string> {
  const always = [...served.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help] as const);
  const conditional = conditionalMetrics().flatMap(([registry, prefix]) =>
    registry.getMetricsAsArray().map(({ name, help }) => [name, `${prefix}${help}`] as const),
  );
  // The metrics of the process depend on the operating system.
  const metrics = [...always, ...conditional].filter(([name]) => !name.startsWith('process_'));
  const rows = metrics.map(([name, help]) => `| \`${name}\` | ${help} |\n`);
  const page = await Bun.file(metricsPage).text();
  const begin = page.indexOf(BEGIN) + BEGIN.length;
  return `${page.slice(0, begin)}\n| metric | meaning |\n|---|---|\n${rows.join('')}\n${page.slice(page.indexOf(END))}`;
}

if (import.meta.main) {
  await using server = await serving();
  await Bun.write(metricsPage, await pageWithMetrics(await (await server.get('/metrics')).text()));
}
