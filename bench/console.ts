/** Measures the console's first paint in a browser with an empty cache, on the loopback. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { closeBrowser, visitAfresh } from '../test/console/browser.ts';
import { devnetRecording, importInto } from './dataset.ts';
import { MAIN, script, startServer, withDirectory } from './harness.ts';
import { figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '15' },
    /** A compiled executable to measure instead of the source. */
    program: { type: 'string' },
    /** Length of the chain in blocks. */
    blocks: { type: 'string', default: '200' },
  },
});
const repeat = Number(values.repeat);
const program = values.program === undefined ? script(MAIN) : [values.program];

/** The browser's figures for a page. */
interface Loaded {
  /** Milliseconds until the first contentful paint. */
  paint: number;
  /** Milliseconds until the largest contentful paint. */
  content: number;
  /** Transferred bytes of scripts and styles. */
  bytes: number;
}

const READ = `(async () => {
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  const files = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/console/'));
  const largest = await new Promise((found) => {
    new PerformanceObserver((list) => found(list.getEntries().at(-1))).observe({
      type: 'largest-contentful-paint',
      buffered: true,
    });
  });
  const bytes = files.reduce((sum, file) => sum + file.encodedBodySize, 0);
  return { paint: paint.startTime, content: largest.startTime, bytes };
})()`;

async function load(url: string): Promise<Loaded> {
  await using visited = await visitAfresh(url, { viewport: { width: 1440, height: 900 } });
  const { page } = visited;
  await page.waitForSelector('.chart-plot svg');
  return (await page.evaluate(READ)) as Loaded;
}

await withDirectory(async (temporary) => {
  const directory = join(temporary, 'data');
  await importInto(directory, await devnetRecording(Number(values.blocks)));
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'];
  const server = await startServer([...program, 'serve', '--data', directory, ...ports, '--log-level', 'error']);
  const loads: Loaded[] = [];
  // The first visit builds the bundle and doesn't count.
  for (let n = 0; n <= repeat; n++) loads.push(await load(server.url));
  loads.shift();
  await closeBrowser();
  await server.stop();
  publish(
    [
      {
        title: 'The console',
        notes: [`${repeat} visits of the overview with an empty cache; median (least to greatest)`],
        tables: [
          {
            head: ['overview', ''],
            rows: [
              ['first contentful paint, ms', figure(loads.map(({ paint }) => paint))],
              ['largest contentful paint, ms', figure(loads.map(({ content }) => content))],
              [
                'scripts and styles, compressed, kB',
                figure(
                  loads.map(({ bytes }) => bytes / 1000),
                  1,
                ),
              ],
            ],
          },
        ],
      },
    ],
    { pinned: false },
  );
});
