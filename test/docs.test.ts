/**
 * The pages' links are valid, and their examples work. A code block with the info string `sh` runs as printed, against
 * a demo. One with `sh not-run` or `http not-run` has placeholders, or needs something that the test lacks.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import manifest from '../package.json';
import { type Demo, demo } from './demo/demo.ts';
import { command } from './e2e/stackside.ts';
import { type DataDirectory, dataDirectory } from './support/data/data-directory.ts';
import { describeWith } from './support/servers/system-servers.ts';

const ROOT = join(import.meta.dir, '..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const pages = ['*.md', '{docs,bench,packaging}/**/*.md', 'examples/*/*.md', 'test/README.md']
  .flatMap((glob) => [...new Bun.Glob(glob).scanSync(ROOT)])
  .sort();

interface CodeBlock {
  /** Text after the fence, such as `sh not-run`. Empty for an indented block. */
  info: string;
  code: string;
}

const FENCED = /^```(.*)\n([\s\S]*?)^```$/gm;

function blocksOf(page: string): CodeBlock[] {
  return [...page.matchAll(FENCED)].map(([, info = '', code = '']) => ({ info, code }));
}

/** Returns the anchors that GitHub creates for headings. */
function anchorsOf(page: string): Set<string> {
  const headings = [...page.replace(FENCED, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replace(/\s/g, '-'),
    ),
  );
}

test('every link leads to a file, and to a heading of its page', () => {
  const broken = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)]
      .filter(([, path = '', anchor]) => {
        const target = path === '' ? page : join(dirname(page), path);
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && !anchorsOf(textOf(target)).has(anchor);
      })
      .map(([link]) => `${page} ${link}`),
  );
  expect(broken).toEqual([]);
});

test('every table has headings', () => {
  const headless = pages.flatMap((page) =>
    [
      ...textOf(page)
        .replace(FENCED, '')
        .matchAll(/(?<=(.*)\n)\|-.*/g),
    ]
      .filter(([, headings = '']) => !headings.startsWith('|'))
      .map(([line]) => `${page} ${line}`),
  );
  expect(headless).toEqual([]);
});

test('every test file that a page names exists', () => {
  const named = pages.flatMap((page) => {
    const files = [...textOf(page).matchAll(/`([\w/-]+\.test\.tsx?)`/g)].map(([, path = '']) => path);
    if (page === 'test/README.md') return files.map((path) => join('test', path));
    return files.filter((path) => path.startsWith('test/') && !page.startsWith('examples/'));
  });
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('every script that a page runs is in package.json', () => {
  const named = pages.flatMap((page) => [...textOf(page).matchAll(/\bbun@[\d.]+ run ([\w-]+)/g)]);
  expect(named.length).toBeGreaterThan(5);
  expect(named.map(([, name = '']) => name).filter((name) => !(name in manifest.scripts))).toEqual([]);
});

/** Pages without an example that runs here, or whose first example doesn't, each with the reason. */
const notRun: Record<string, string> = {
  'docs/architecture.md': 'has no example: it explains the source',
  'README.md': 'npx downloads Bun; test/demo and test/e2e start the same demo',
  'docs/cluster.md': 'needs PostgreSQL; test/e2e/cluster-tests.ts makes a log and starts hosts with it',
  'docs/upgrade.md': 'needs a node; test/commands/doctor.test.ts tests each check',
  'docs/testing-hooks.md': 'npm downloads the package; test/packaging/test-support.test.ts installs it from the source',
};

const guides = ['README.md', ...pages.filter((page) => /^docs\/[^/]+$/.test(page))].map((name) => ({
  name,
  blocks: blocksOf(textOf(name)),
}));

describe('the examples', () => {
  const LANGUAGES = new Set(['sh', 'http']);
  const isExample = ({ info }: CodeBlock): boolean => LANGUAGES.has(info.split(' ')[0] ?? '');

  test('the first of every page runs, or is named with the reason', () => {
    const firsts = guides.map(({ name, blocks }) => ({ name, first: blocks.find(isExample) }));
    const others = firsts.filter(({ first }) => first?.info !== 'sh');
    expect(others.map(({ name }) => name).sort()).toEqual(Object.keys(notRun).sort());
  });

  test('every block of commands has an info word', () => {
    const COMMAND = /^(\w+=\S* )*(stackside|curl|npx|npm|bun|podman|GET|POST|DELETE) /;
    for (const { name, blocks } of guides) {
      const unmarked = blocks.filter(
        ({ info, code }) => !LANGUAGES.has(info.split(' ')[0] ?? '') && COMMAND.test(code),
      );
      const indented =
        textOf(name)
          .replace(FENCED, '')
          .match(/(?<=\n\n) {4}.*/g) ?? [];
      expect([name, ...unmarked, ...indented.filter((line) => COMMAND.test(line.trim()))]).toEqual([name]);
    }
  });
});

describeWith('curl', Bun.which('curl') !== null, () => {
  let directory: DataDirectory;
  let server: Demo;
  let environment: Record<string, string>;

  beforeAll(async () => {
    directory = dataDirectory();
    server = await demo({ data: join(directory.path, 'stackside-data'), pastBlocks: '25' });
    // `stackside` is the program in STACKSIDE_BINARY, or the source. curl fails on an error status.
    const program = command.map((word) => `'${word}'`).join(' ');
    writeFileSync(join(directory.path, 'stackside'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
    writeFileSync(join(directory.path, '.curlrc'), 'fail-with-body\n');
    environment = {
      PATH: `${directory.path}:${process.env.PATH}`,
      HOME: directory.path,
      CURL_HOME: directory.path,
      TMPDIR: directory.path,
      STACKSIDE_URL: server.api,
      STACKSIDE_API_PORT: '0',
      STACKSIDE_EVENT_PORT: '0',
    };
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  /** Runs a block. A block that starts a server counts as run once the server is ready. */
  async function run(code: string): Promise<void> {
    const script = code.replaceAll('127.0.0.1:3999', new URL(server.api).host);
    // The block runs in a separate process group, which ends with the server that the block started.
    const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
      cwd: directory.path,
      env: environment,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
    });
    let printed = '';
    let isStopped = false;
    const complaints = new Response(child.stderr).text();
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      if (isStopped || !printed.includes('{"ready":true,"api":')) continue;
      isStopped = true;
      process.kill(-child.pid, 'SIGTERM');
    }
    const exitCode = await child.exited;
    expect([exitCode, exitCode === 0 ? '' : `${printed}${await complaints}`]).toEqual([0, '']);
  }

  for (const { name, blocks } of guides) {
    const examples = blocks.filter(({ info }) => info === 'sh');
    if (examples.length === 0) continue;
    test(`the examples of ${name} run as printed`, async () => {
      for (const { code } of examples) await run(code);
    });
  }
});
