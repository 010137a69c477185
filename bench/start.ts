/** How long the server takes to answer: from its spawn to its ready line, and to its first answer. */
import { parseArgs } from 'node:util';
import { devnetRecording, importInto } from './dataset.ts';
import { heading, MAIN, say, script, shown, startServer, table, withDirectory } from './harness.ts';

const { values } = parseArgs({
  options: {
    repeat: { type: 'string', default: '15' },
    /** The compiled one; else the source is run. */
    program: { type: 'string' },
    data: { type: 'string' },
  },
});
const repeat = Number(values.repeat);
const program = values.program === undefined ? script(MAIN) : [values.program];

interface Start {
  ready: number;
  answered: number;
}

async function start(directory: string): Promise<Start> {
  const spawned = performance.now();
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'];
  const server = await startServer([...program, 'serve', '--data', directory, ...ports, '--log-level', 'error']);
  const response = await fetch(`${server.url}/extended/v3/transactions`);
  await response.text();
  const answered = performance.now() - spawned;
  await server.stop();
  if (response.status !== 200) throw new Error(`the first answer has status ${response.status}`);
  return { ready: server.readyMs, answered };
}

async function measure(directory: string): Promise<void> {
  if (values.data === undefined) await importInto(directory, await devnetRecording());
  // The first start brings the files into the system's cache; it doesn't count.
  await start(directory);
  const starts: Start[] = [];
  for (let n = 0; n < repeat; n++) starts.push(await start(directory));
  heading(`Start of ${values.program === undefined ? 'the source' : 'the executable'}`, false);
  say(`- ${repeat} starts after one that doesn't count; median (least to greatest)`);
  say();
  table(
    ['from spawn to', 'ms'],
    [
      ['the ready line', shown(starts.map(({ ready }) => ready))],
      ['the first answer', shown(starts.map(({ answered }) => answered))],
    ],
  );
}

if (values.data === undefined) await withDirectory(measure);
else await measure(values.data);
