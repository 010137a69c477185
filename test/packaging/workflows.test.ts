/** The CI workflows: actions pinned to commits, few permissions, and commands that exist. */
import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { releaseNotes } from '../../packaging/release-notes.ts';
import { targetNames } from '../../packaging/targets.ts';

const root = join(import.meta.dir, '../..');
const folder = join(root, '.github/workflows');

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}
interface Job {
  uses?: string;
  steps?: Step[];
  needs?: string | string[];
}
interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const workflows = readdirSync(folder).map((name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  return { name, text, workflow: Bun.YAML.parse(text) as Workflow };
});

describe.each(workflows)('$name', ({ text, workflow }) => {
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps ?? []);
  const scripts = steps.flatMap(({ run }) => (run === undefined ? [] : [run]));

  test('pins each action to a commit, with its version in a comment', () => {
    const uses = [...text.matchAll(/uses: (\S+)(.*)/g)];
    const used = uses.filter(([, action = '']) => !action.startsWith('./'));
    expect(uses.length).toBeGreaterThan(0);
    for (const [, path = ''] of uses.filter((use) => !used.includes(use)))
      expect(existsSync(join(root, path))).toBe(true);
    for (const [, action, comment] of used) {
      expect([action, comment]).toEqual([
        expect.stringMatching(/^[\w/-]+@[0-9a-f]{40}$/),
        expect.stringMatching(/^ # v\d/),
      ]);
    }
  });

  test('has only read permission unless a job needs more, and keeps no credentials', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const { with: options } of steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))) {
      expect(options?.['persist-credentials']).toBe(false);
    }
  });

  test('runs existing scripts of the project, without text that others can write', () => {
    for (const script of scripts) {
      // Any expression would become part of the script.
      expect(script).not.toContain('${{');
      for (const [file] of script.matchAll(/(?<=^|\s)(?:packaging\/[\w-]+\.ts|build\.ts|\.ci\/\w+)(?=\s|$)/g)) {
        expect([file, existsSync(join(root, file))]).toEqual([file, true]);
      }
    }
  });

  test('has scripts that bash can parse', () => {
    const { exitCode, stderr } = Bun.spawnSync(['bash', '-n'], { stdin: Buffer.from(scripts.join('\n')) });
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
  });

  test('has jobs that need jobs that exist', () => {
    for (const { needs = [] } of Object.values(workflow.jobs)) {
      for (const name of [needs].flat()) expect(Object.keys(workflow.jobs)).toContain(name);
    }
  });
});

test('dependabot covers every kind of dependency', () => {
  const { updates } = Bun.YAML.parse(readFileSync(join(root, '.github/dependabot.yml'), 'utf8')) as {
    updates: { 'package-ecosystem': string }[];
  };
  expect(updates.map((update) => update['package-ecosystem'])).toEqual(['bun', 'github-actions', 'docker']);
});

test('the pages name the version of Bun that package.json has', () => {
  for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/run.md', 'packaging/README.md']) {
    const named = [...readFileSync(join(root, page), 'utf8').matchAll(/\bbun@(\d[\d.]*\d)/g)].map(
      ([, version]) => version,
    );
    expect([page, ...new Set(named)]).toEqual([page, manifest.devDependencies.bun]);
  }
});

test('the README names every platform', () => {
  const page = readFileSync(join(root, 'README.md'), 'utf8');
  for (const name of targetNames) expect(page).toContain(`\`${name}\``);
});

test('the notes of a release are the section of its version', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0\n\n### Added\n\n- a\n\n## 0.1.0, 2026-01-01\n\n- b\n';
  expect(releaseNotes(changelog, '0.2.0')).toBe('### Added\n\n- a');
  expect(releaseNotes(changelog, '0.1.0')).toBe('- b');
  expect(() => releaseNotes(changelog, '0.3.0')).toThrow('CHANGELOG.md has nothing about 0.3.0');
});
