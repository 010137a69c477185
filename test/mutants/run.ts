/**
 * `bun run mutants`: changes lines of the source at random, one at a time, and lists the changes that no test notices.
 *
 *     bun run mutants --count 200 --seed 7    tries 200, or continues a seed that was stopped
 *     bun run mutants --seed 7 --survivors    tries the survivors again
 *     bun run mutants --seed 7 --list         prints the results so far, and tries nothing
 *
 * Tests run in copies of the tree, one for each of `--jobs`. `.mutants/SEED.json` stores the results. equivalent.json lists
 * changes with no effect that a test could see, each with the reason. They don't count.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { dataDirectory } from '../support/data/data-directory.ts';
import equivalents from './equivalent.json';
import { isSame, type Mutant, Mutants, placeOf } from './mutant.ts';
import { groupsOf, Project, withChange } from './project.ts';

const ROOT = join(import.meta.dir, '../..');

interface Outcome {
  /**
   * The check that noticed the mutant, or `nobody` if it survived. `gone` means that the tree no longer contains its
   * line.
   */
  by: 'types' | 'test' | 'hang' | 'nobody' | 'gone';
  /** The error, or the test that failed. */
  what: string;
  /** Duration of the run. */
  seconds: number;
}

interface TriedMutant extends Mutant {
  outcome?: Outcome;
  /** Test files of the state's tree that didn't notice the mutant. */
  passed?: string[];
}

interface State {
  tried: TriedMutant[];
  /** Hash of the tree that these tests belong to. */
  digest: string;
  /** Milliseconds of each test file in the unchanged tree, and the files that fail there. */
  durations: Record<string, number>;
  failing: string[];
}

/** Number of groups of the nearest tests. Every mutant runs against these before any runs against the others. */
const NEAR = 3;
/** Assumed milliseconds of a file that wasn't measured. */
const UNMEASURED = 1_000;
/** A run hangs if it takes longer than this factor times its duration without the change, plus this number of milliseconds. */
const [PATIENCE, PATIENCE_MS] = [10, 180_000];
/** Memory limit in bytes. A run that exceeds it counts as endless. */
const MAX_MEMORY = 6 * 1024 ** 3;
const PAGE = 4096;
/** Nanoseconds per millisecond. */
const NANOSECONDS = 1_000_000;
/** Milliseconds between two looks at a run. */
const LOOK_EVERY = 2_000;

/** A copy of the tree in which tests run. */
class Copy {
  readonly root: string;
  /** Directory for the tests' files. It identifies the processes of this copy. */
  readonly #temporary: string;

  constructor(parent: string, files: readonly string[]) {
    this.root = join(parent, 'tree');
    this.#temporary = join(parent, 'tmp');
    for (const file of files) {
      mkdirSync(dirname(join(this.root, file)), { recursive: true });
      cpSync(join(ROOT, file), join(this.root, file), { verbatimSymlinks: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.root, 'node_modules'));
  }

  /** Returns the processes that this copy's tests started, except this one. Works only on Linux. */
  #processes(): number[] {
    if (!existsSync('/proc/self/environ')) return [];
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
        return environment.includes(`TMPDIR=${this.#temporary}`) ? [Number(name)] : [];
      } catch {
        return []; // It ended meanwhile.
      }
    });
  }

  /**
   * Returns the memory of this copy's processes in bytes, and the milliseconds for which they waited for a processor.
   */
  #used(): { memory: number; waited: number } {
    const numberIn = (pid: number, file: string, place: number): number => {
      try {
        return Number(readFileSync(`/proc/${pid}/${file}`, 'utf8').split(' ')[place]);
      } catch {
        return 0; // It ended meanwhile, or the system doesn't say.
      }
    };
    const processes = this.#processes();
    return {
      memory: processes.reduce((sum, pid) => sum + numberIn(pid, 'statm', 1) * PAGE, 0),
      waited: processes.reduce((sum, pid) => sum + numberIn(pid, 'schedstat', 1) / NANOSECONDS, 0),
    };
  }

  /** Kills this copy's processes. */
  end(): void {
    for (const pid of this.#processes()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {}
    }
  }

  /**
   * Runs test files, up to the first failure or all of them.
   * @param timeoutMs milliseconds after which a run hangs, without those for which it waits for a processor
   * @returns the output, and whether each file's tests ran and passed
   */
  async test(
    files: readonly string[],
    timeoutMs: number,
    ...options: string[]
  ): Promise<{ printed: string; result: 'passed' | 'failed' | 'hung' }> {
    rmSync(this.#temporary, { recursive: true, force: true });
    mkdirSync(this.#temporary, { recursive: true });
    const command = ['bun', 'test', ...options, ...files.map((file) => `./${file}`)];
    const child = Bun.spawn(command, {
      cwd: this.root,
      env: { ...process.env, TMPDIR: this.#temporary },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    let hung = false;
    let [time, before, looked] = [0, 0, performance.now()];
    const watch = setInterval(() => {
      const { memory, waited } = this.#used();
      const now = performance.now();
      // On a busy machine, only the time that these processes had a processor counts.
      time += Math.max(0, now - looked - Math.max(0, waited - before));
      [before, looked] = [waited, now];
      if (time < timeoutMs && memory < MAX_MEMORY) return;
      hung = true;
      child.kill('SIGKILL');
      this.end();
    }, LOOK_EVERY);
    const printing = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const code = await child.exited;
    clearInterval(watch);
    this.end();
    const printed = (await printing).join('\n');
    rmSync(this.#temporary, { recursive: true, force: true });
    // A change may end the process before all tests ran.
    const ran = new RegExp(`Ran \\d+ tests? across ${files.length} files?`).test(printed);
    return { printed, result: hung ? 'hung' : code === 0 && ran ? 'passed' : 'failed' };
  }
}

/** Returns a hash of the tree's files. If it changes, the tests must be measured again. */
function digestOf(files: readonly string[]): string {
  const hash = new Bun.CryptoHasher('sha256');
  for (const file of files) hash.update(file).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}

/** Returns the tree's files that git tracks or would add. */
function filesOfTree(): string[] {
  const { stdout } = Bun.spawnSync(['git', 'ls-files', '-z', '-co', '--exclude-standard'], { cwd: ROOT });
  return stdout
    .toString()
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(ROOT, file)))
    .sort();
}

/** Returns the test files with failures in a run's output. */
function failingFiles(printed: string): string[] {
  let file = '';
  const failing = new Set<string>();
  for (const line of printed.split('\n')) {
    const [, header] = /^(\S+\.test\.ts):$/.exec(line) ?? [];
    if (header) file = header;
    if (/^\(fail\)|^error: /.test(line)) failing.add(file);
  }
  return [...failing];
}

const isEquivalent = (mutant: Mutant): boolean => equivalents.some((entry) => isSame(entry, mutant));

/** Describes a mutant in one line. */
function toLine({ file, line, kind, before, after, text, outcome }: TriedMutant): string {
  const short = (long: string) => long.replace(/\s+/g, ' ').slice(0, 100);
  const change = `${short(before) || `before «${short(text.trim())}»`} → ${short(after)}`;
  return `${file}:${line} ${kind}: ${change}${outcome ? ` · ${outcome.by}: ${short(outcome.what)} · ${outcome.seconds} s` : ''}`;
}

/** Summarizes the outcomes of all mutants. */
function summary(tried: readonly TriedMutant[]): string {
  const judged = tried.filter(({ outcome }) => outcome !== undefined && outcome.by !== 'gone');
  const judgedBy = (...by: Outcome['by'][]) => judged.filter(({ outcome }) => by.includes(outcome!.by));
  const [survivors, equivalent] = [
    judgedBy('nobody').filter((mutant) => !isEquivalent(mutant)),
    judgedBy('nobody').filter((mutant) => isEquivalent(mutant)),
  ];
  const counted = judged.length - equivalent.length;
  const noticed = counted - survivors.length;
  return [
    `${noticed} of ${counted} noticed (${((100 * noticed) / counted).toFixed(1)} %): ${judgedBy('types').length} by the compiler, ` +
      `${judgedBy('test').length} by tests, ${judgedBy('hang').length} by hanging; ${equivalent.length} are equivalent, ` +
      `${tried.length - judged.length} not tried or gone`,
    ...survivors.map((mutant) => `survived  ${toLine(mutant)}`),
  ].join('\n');
}

/** Runs the program. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '200' },
      seed: { type: 'string', default: String(crypto.getRandomValues(new Uint16Array(1))[0]) },
      jobs: { type: 'string', default: String(availableParallelism()) },
      survivors: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const seed = Number(values.seed);
  const path = join(ROOT, '.mutants', `${seed}.json`);
  const state: State = existsSync(path)
    ? JSON.parse(readFileSync(path, 'utf8'))
    : { tried: [], digest: '', durations: {}, failing: [] };
  if (values.list) return say(summary(state.tried));
  const save = () => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(state, null, 1));
  };

  using directory = dataDirectory();
  // Servers that tests start run as another user, who needs access to their files.
  chmodSync(directory.path, 0o755);
  const files = filesOfTree();
  const copies = Array.from(
    { length: Number(values.jobs) },
    (_, n) => new Copy(join(directory.path, String(n)), files),
  );
  // The tool itself reads an unchanged copy.
  const project = new Project(new Copy(join(directory.path, 'source'), files).root);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      for (const copy of copies) copy.end();
      directory[Symbol.dispose]();
      process.exit(1);
    });
  }
  /** Gives each copy one task after the other. */
  async function share<Work>(works: Work[], take: (copy: Copy, work: Work) => Promise<void>): Promise<void> {
    const rest = works.values();
    await Promise.all(
      copies.map(async (copy) => {
        for (const work of rest) await take(copy, work);
      }),
    );
  }
  const cost = (file: string) => state.durations[file] ?? UNMEASURED;

  const digest = digestOf(files);
  if (state.digest !== digest) {
    say(`The tests of the tree as it is, file by file; seed ${seed}`);
    Object.assign(state, { durations: {}, failing: [] });
    const tests = project.tests();
    const size = Math.ceil(tests.length / (copies.length * 6));
    const batches = Array.from({ length: Math.ceil(tests.length / size) }, (_, n) =>
      tests.slice(n * size, (n + 1) * size),
    );
    await share(batches, async (copy, batch) => {
      const timings = join(dirname(copy.root), 'timings.json');
      rmSync(timings, { force: true });
      const { printed, result } = await copy.test(batch, 3_600_000, `--timings=${timings}`, '--update-timings');
      Object.assign(state.durations, JSON.parse(readFileSync(timings, 'utf8')).files);
      if (result !== 'passed') state.failing.push(...failingFiles(printed));
    });
    for (const mutant of state.tried) delete mutant.passed;
    state.digest = digest;
    save();
  }
  if (state.failing.length > 0) say(`Fail without any change, and are left out: ${state.failing.join(' ')}`);

  const source = new Mutants(
    project.mutated().map((file) => ({ file, text: project.textOf(file), changes: project.mutationsOf(file) })),
  );
  while (state.tried.length < Number(values.count)) state.tried.push(source.draw(seed, state.tried));
  if (values.survivors) for (const mutant of state.tried) if (mutant.outcome?.by === 'nobody') delete mutant.outcome;
  const due = state.tried.filter(({ outcome }) => outcome === undefined);
  say(`${due.length} mutants of ${source.size} lines; seed ${seed}`);

  /** Runs tests on a mutant. @returns the outcome, or null if other tests remain */
  async function outcomeOf(
    copy: Copy,
    mutant: TriedMutant,
    scope: 'near' | 'all',
  ): Promise<Pick<Outcome, 'by' | 'what'> | null> {
    const { file } = mutant;
    const text = files.includes(file) ? project.textOf(file) : '';
    const place = placeOf(mutant, text);
    if (place === null) return { by: 'gone', what: 'its line is another' };
    const changed = withChange(text, place);
    const error = project.typeError(file, changed, false);
    if (error !== null) return { by: 'types', what: error };
    const tests = project.testsFor(file, cost).filter((test) => !state.failing.includes(test));
    const near = groupsOf(tests, cost).slice(0, NEAR).flat();
    mutant.passed ??= [];
    const left = new Set(scope === 'near' ? near : tests).difference(new Set(mutant.passed));
    writeFileSync(join(copy.root, file), changed);
    try {
      for (const group of groupsOf([...left], cost)) {
        const timeoutMs = PATIENCE_MS + PATIENCE * group.reduce((sum, test) => sum + cost(test), 0);
        const { printed, result } = await copy.test(group, timeoutMs, '--bail');
        if (result === 'hung') return { by: 'hang', what: group.join(' ') };
        if (result === 'failed') {
          return { by: 'test', what: /^\(fail\) .*$/m.exec(printed)?.[0] ?? printed.slice(-300) };
        }
        mutant.passed.push(...group);
        save();
      }
    } finally {
      writeFileSync(join(copy.root, file), text);
    }
    if (scope === 'near') return null;
    const elsewhere = project.typeError(file, changed, true);
    return elsewhere === null ? { by: 'nobody', what: '' } : { by: 'types', what: elsewhere };
  }

  for (const scope of ['near', 'all'] as const) {
    const waiting = due.filter(({ outcome }) => outcome === undefined);
    await share(waiting, async (copy, mutant) => {
      const began = performance.now();
      const outcome = await outcomeOf(copy, mutant, scope);
      const seconds = Math.round((performance.now() - began) / 1000);
      if (outcome !== null) mutant.outcome = { ...outcome, seconds };
      save();
      const judged = state.tried.filter((mutant) => mutant.outcome !== undefined).length;
      const word = outcome === null ? 'not yet' : outcome.by === 'nobody' ? 'SURVIVED' : 'noticed';
      say(`${judged}/${state.tried.length} ${word}  ${toLine(mutant)}`);
    });
  }
  say(summary(state.tried));
}

await main();
