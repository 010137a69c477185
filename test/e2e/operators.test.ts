/**
 * Generated operator mistakes: any command, in any state of its data directory, with any input and output. The command
 * succeeds, or exits with two lines that name the problem and the remedy. It never prints a stack trace, never exits
 * with a code that makes a service manager restart it in a loop, and never leaves half-written files. STACKSIDE_RUNS
 * sets the number of runs.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { recordingRow } from '../../src/chain/recording.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { pathsOpenToOthers } from '../../src/store/files/private-files.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { command } from './stackside.ts';

const events = simulatedEvents({ seed: 3, blocks: 4, transactionsPerBlock: 1, forkEvery: 0 });
const recording = Buffer.from(events.map((event, id) => `${recordingRow({ id: id + 1, ...event })}\n`).join(''));
const foreign = simulatedEvents({ seed: 9, blocks: 3, transactionsPerBlock: 1, forkEvery: 0 });

let filled: DataDirectory;
beforeAll(() => {
  filled = ingestOf(events);
});
afterAll(() => filled[Symbol.dispose]());

/** Damaged bytes: cut off, changed, or empty. */
function damage(bytes: Buffer, prng: Prng): Buffer {
  const copy = Buffer.from(bytes);
  if (prng.chance(0.5)) return copy.subarray(0, prng.below(copy.length));
  for (let bits = prng.between(1, 5); bits > 0; bits--) {
    const position = prng.below(copy.length);
    copy[position] = (copy[position] ?? 0) ^ (1 << prng.below(8));
  }
  return copy;
}

/** The kinds of things at the path of a file. */
type Put = (path: string, prng: Prng) => void;

const inData =
  (pathOf: (directory: string) => string, change: Put): Put =>
  (data, prng) => {
    cpSync(filled.path, data, { recursive: true });
    rmSync(pathOf(data), { recursive: true, force: true });
    change(pathOf(data), prng);
  };
const junk: Put = (path) => writeFileSync(path, 'x'.repeat(10_000));
const aDirectory: Put = (path) => mkdirSync(path);
const nothing: Put = () => {};
const itself: Put = (path) => symlinkSync(path, path);
const lock = (data: string): string => join(data, 'writer.lock');
const adminKey = (data: string): string => join(data, 'admin.key');
const secretsKey = (data: string): string => join(data, 'secrets.key');

const dataStates: Readonly<Record<string, Put>> = {
  whole: (data) => cpSync(filled.path, data, { recursive: true }),
  missing: nothing,
  empty: aDirectory,
  'a file': junk,
  'a link to itself': itself,
  'a link to nothing': (data) => symlinkSync(`${data}-gone`, data),
  'the index junk': inData(indexPath, junk),
  'the index a directory': inData(indexPath, aDirectory),
  'the index cut off': inData(indexPath, (path, prng) => {
    cpSync(indexPath(filled.path), path);
    truncateSync(path, prng.below(readFileSync(path).length));
  }),
  'the index missing': inData(indexPath, nothing),
  'the journal junk': inData(journalPath, junk),
  'the journal a directory': inData(journalPath, aDirectory),
  'the journal a link to itself': inData(journalPath, itself),
  'the journal damaged': inData(journalPath, (path, prng) =>
    writeFileSync(path, damage(readFileSync(journalPath(filled.path)), prng)),
  ),
  'the journal missing': inData(journalPath, nothing),
  'the journal of another chain': inData(journalPath, (path) => {
    using other = ingestOf(foreign);
    cpSync(journalPath(other.path), path);
  }),
  'the lock a directory': inData(lock, aDirectory),
  'the lock junk': inData(lock, junk),
  'the key damaged': inData(adminKey, junk),
  'the key of secrets damaged': inData(secretsKey, (path) => writeFileSync(path, 'short')),
  'the key of secrets a directory': inData(secretsKey, aDirectory),
};

const compressWith = (compress: (bytes: Buffer) => Buffer): Put =>
  function put(path, prng) {
    const bytes = compress(recording);
    writeFileSync(path, prng.chance(0.7) ? damage(bytes, prng) : bytes);
  };

const inputs: Readonly<Record<string, Put>> = {
  recording: (path) => writeFileSync(path, recording),
  'recording, damaged': (path, prng) => writeFileSync(path, damage(recording, prng)),
  gzip: compressWith(gzipSync),
  zstd: compressWith(zstdCompressSync),
  missing: nothing,
  empty: (path) => writeFileSync(path, ''),
  'a directory': aDirectory,
  'a link to itself': itself,
  'a database': (path) => cpSync(indexPath(filled.path), path),
  'of another chain': (path) =>
    writeFileSync(path, foreign.map((event, id) => `${recordingRow({ id: id + 1, ...event })}\n`).join('')),
  'no text': (path, prng) => writeFileSync(path, prng.bytes(5_000)),
};

const outputs: Readonly<Record<string, Put>> = {
  free: nothing,
  taken: junk,
  'a directory': aDirectory,
  'a link to itself': itself,
};

/** Names with one of the compressions, with none, and with a directory that doesn't exist. */
const inputNames = ['in.tsv', 'in.tsv.gz', 'in.tsv.zst', 'in'];
const outputNames = ['out', 'out.gz', 'out.zst', 'gone/out'];
const oddFlags = [['--network', 'moon'], ['--no-such-flag'], ['--log-level', '']];

const commands: readonly ((paths: { input: string; output: string }, prng: Prng) => string[])[] = [
  ({ input }) => ['import', input],
  ({ input }, prng) => ['import', input, ...prng.pick([['--skip-bad'], ['--restart'], ['--format', 'raw']])],
  ({ output }, prng) => ['export', '--output', output, ...(prng.chance(0.5) ? ['--overwrite'] : [])],
  ({ output }) => ['backup', output],
  ({ input }) => ['restore', input],
  (_, prng) => ['rebuild', ...(prng.chance(0.5) ? ['--force'] : [])],
  (_, prng) => ['check', ...(prng.chance(0.5) ? ['--deep'] : [])],
  () => ['status', '--url', NO_NODE],
  () => ['serve', '--api-port', '0', '--event-port', '0'],
];

interface Mistake {
  seed: number;
  args: string[];
  data: string;
  input: string;
  output: string;
}

/** Makes a folder with files drawn from a seed. */
function mistakeOf(seed: number, folder: string): Mistake {
  const prng = new Prng(`operators/${seed}`);
  const [data, input, output] = [dataStates, inputs, outputs].map((kinds) => prng.pick(Object.keys(kinds))) as [
    string,
    string,
    string,
  ];
  const paths = { input: join(folder, prng.pick(inputNames)), output: join(folder, prng.pick(outputNames)) };
  dataStates[data]!(join(folder, 'data'), prng);
  inputs[input]!(paths.input, prng);
  if (!paths.output.includes('gone')) outputs[output]!(paths.output, prng);
  const args = [...prng.pick(commands)(paths, prng), '--data', join(folder, 'data')];
  if (prng.chance(0.05)) args.push(...prng.pick(oddFlags));
  return { seed, args, data, input, output };
}

/** Runs a command until it exits, and stops a server as soon as it is ready. */
async function outcome(args: string[]) {
  const child = Bun.spawn([...command, ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const stdout = (async () => {
    let text = '';
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      if (args[0] === 'serve' && text.includes('\n')) child.kill('SIGTERM');
    }
    return text;
  })();
  const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited, stdout]);
  return { code, stderr };
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

const namesIn = (directory: string): string[] =>
  statSync(directory, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(directory) : [];

/** Names of unfinished files. Lock files stay, because a removed one may belong to another process. */
const unfinished = (...directories: string[]): string[] =>
  directories.flatMap(namesIn).filter((name) => /\.partial|^rebuild$|^index\.new/.test(name));

const CODES = [0, 1, 2];
/** Two lines at the end, after log lines. */
const TWO_LINES = /(^|\n)[^\n]+\n[^\n]+\n$/;
const STACK = /\n\s+at |undefined|\[object|Error:/;

/** Runs a command drawn from a seed. @returns its faults, in words */
async function wrongs(seed: number): Promise<object[]> {
  using folder = dataDirectory();
  const mistake = mistakeOf(seed, folder.path);
  const { code, stderr } = await outcome(mistake.args);
  const data = join(folder.path, 'data');
  const has = (kind: string): boolean => mistake.data === kind && !isLink(data) && existsSync(data);
  const wrong = {
    code: CODES.includes(code) ? [] : [code],
    stack: STACK.exec(stderr) ?? [],
    'not two lines': code === 1 && !TWO_LINES.test(stderr) ? [stderr] : [],
    unfinished: isLink(data) ? unfinished(folder.path) : unfinished(folder.path, data),
    'open to others': has('missing') ? pathsOpenToOthers(data) : [],
    problems: has('whole') ? problemsIn(data) : [],
  };
  const problems = Object.entries(wrong).filter(([, what]) => what.length > 0);
  return problems.map(([what, values]) => ({ ...mistake, stderr, [what]: values }));
}

/** Seeds that failed once: both rebuild an index. */
const FAILED_SEEDS = [54, 82];

const AT_ONCE = 2;
test.skipIf(process.platform === 'win32')(
  'a command with random mistakes does its work or names the problem in two lines',
  async () => {
    const drawn = Array.from({ length: casesOf(12) }, (_, number) => firstSeed + number);
    const seeds = [...new Set([...FAILED_SEEDS, ...drawn])];
    const problems: object[] = [];
    const work = async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) problems.push(...(await wrongs(seed)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(problems).toEqual([]);
  },
);
