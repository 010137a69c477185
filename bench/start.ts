/** Measures the start of a server: until its ready line, and until its first response. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BLOCKS, devnetRecording, importInto } from './dataset.ts';
import { MAIN, run, script, startServer, statusOf, TREE, withDirectory } from './harness.ts';
import { figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '15' },
    /** A compiled executable to measure instead of the source. */
    program: { type: 'string' },
    /** Compiles the executable first. */
    build: { type: 'boolean', default: false },
    data: { type: 'string' },
    /** Length of the chain in blocks, without `--data`. */
    blocks: { type: 'string', default: String(BLOCKS) },
  },
});
const repeat = Number(values.repeat);

/** Returns the command line of the server. */
async function programIn(directory: string): Promise<string[]> {
  if (values.program !== undefined) return [values.program];
  if (!values.build) return script(MAIN);
  const outfile = join(directory, 'stackside');
  await run(script(join(TREE, 'build.ts'), '--outfile', outfile));
  return [outfile];
}

interface Start {
  ready: number;
  /** Processor time of the main thread until then, which other programs hardly increase. */
  readyCpu: number;
  answered: number;
}

async function start(program: readonly string[], directory: string): Promise<Start> {
  const spawned = performance.now();
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'];
  const server = await startServer([...program, 'serve', '--data', directory, ...ports, '--log-level', 'error']);
  const response = await fetch(`${server.url}/extended/v3/transactions`);
  await response.text();
  const answered = performance.now() - spawned;
  await server.stop();
  if (response.status !== 200) throw new Error(`the first answer has status ${response.status}`);
  return { ready: server.readyMs, readyCpu: server.readyCpuMs, answered };
}

await withDirectory(async (temporary) => {
  const program = await programIn(temporary);
  const directory = values.data ?? join(temporary, 'data');
  if (values.data === undefined) await importInto(directory, await devnetRecording(Number(values.blocks)));
  // The first start loads the files into the system's cache and doesn't count.
  await start(program, directory);
  const starts: Start[] = [];
  for (let n = 0; n < repeat; n++) starts.push(await start(program, directory));
  const { transactions } = await statusOf(directory);
  publish(
    [
      {
        title: `Start of ${program.length > 1 ? 'the source' : 'the executable'}`,
        notes: [
          `index: ${transactions.toLocaleString('en-US')} transactions`,
          `${repeat} starts after one that isn't measured; median (least to greatest)`,
        ],
        tables: [
          {
            head: ['from start to', 'ms'],
            rows: [
              ['the ready line', figure(starts.map(({ ready }) => ready))],
              ['the ready line, processor time of the main thread', figure(starts.map(({ readyCpu }) => readyCpu))],
              ['the first response', figure(starts.map(({ answered }) => answered))],
            ],
          },
        ],
      },
    ],
    { pinned: false },
  );
});
