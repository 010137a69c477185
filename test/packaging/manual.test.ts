/** The manual page and the completions contain every command, option and setting. */
import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandEntry, commandTree, withAllBelow } from '../../packaging/command-tree.ts';
import { bashCompletion } from '../../packaging/completions/bash.ts';
import { fishCompletion } from '../../packaging/completions/fish.ts';
import { zshCompletion } from '../../packaging/completions/zsh.ts';
import { manualPage } from '../../packaging/manual.ts';
import { createProgram } from '../../src/commands/program.ts';
import { settings } from '../../src/settings/config.ts';
import { variableNames } from '../../src/settings/describe.ts';
import type { Grouped } from '../../src/settings/setting.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

const entries = withAllBelow(commandTree());
const page = manualPage('1.2.3', new Date('2026-11-22T00:00:00Z'));
const nameOf = ({ words }: CommandEntry): string => words.join(' ');

/** Runs a tool on a text. @returns its exit code and its output */
function run(tool: string[], text: string): { code: number; printed: string } {
  using folder = dataDirectory();
  const file = join(folder.path, 'file');
  writeFileSync(file, text);
  const { exitCode, stdout, stderr } = Bun.spawnSync([...tool, file]);
  return { code: exitCode, printed: stdout.toString() + stderr.toString() };
}

test('the list of commands contains every command of the program, with its options', () => {
  const program = createProgram();
  const commands = [program, ...program.commands.flatMap((item) => [item, ...item.commands])];
  expect(entries.map(({ words }) => words.at(-1) ?? 'stackside')).toEqual(commands.map((item) => item.name()));
  for (const [index, command] of commands.entries()) {
    const long = entries[index]!.options.map((option) => option.long);
    const visible = command.options.filter(({ hidden }) => !hidden);
    expect(long).toEqual(expect.arrayContaining(visible.map((option) => option.long ?? '')));
  }
});

describe('the manual page', () => {
  const plain = page.replaceAll('\\-', '-').replaceAll('\\e', '\\');

  test('contains every command with its arguments, options and example', () => {
    for (const entry of entries.filter(({ commands }) => commands.length === 0)) {
      expect(plain).toContain(`.SS "stackside ${nameOf(entry)}`);
      for (const { flags } of entry.options) expect(plain).toContain(flags.split(' ')[0]!);
      if (entry.example !== null) expect(plain).toContain(entry.example);
    }
  });

  test('contains every setting with its flag, variables and help', () => {
    for (const declared of Object.values(settings) as Grouped[]) {
      const names = [...(declared.flag === null ? [] : [declared.flag]), ...variableNames(declared)];
      for (const name of names) expect(plain).toContain(`\\fB${name}\\fR`);
      expect(plain).toContain(declared.help);
    }
  });

  test('uses only the intended roff requests', () => {
    const requests = new Set([...page.matchAll(/^[.'](\w+)/gm)].map(([, name]) => name));
    expect([...requests].sort()).toEqual(['PP', 'SH', 'SS', 'TH', 'TP', 'nh']);
  });

  test.skipIf(Bun.which('mandoc') === null)('is well-formed by mandoc', () => {
    expect(run(['mandoc', '-Tlint', '-Wwarning'], page)).toEqual({ code: 0, printed: '' });
  });
});

describe('completions', () => {
  const bash = bashCompletion();

  test('contain every command, option and word for a value, for each shell', () => {
    for (const script of [bash, zshCompletion(), fishCompletion()]) {
      for (const { words, options } of entries) {
        if (words.length > 0) expect(script).toContain(words.at(-1)!);
        for (const { long, values } of options) {
          expect(script).toContain(script.startsWith('# fish') ? ` -l ${long.slice(2)} ` : long);
          if (values?.kind === 'words') expect(script).toContain(values.words.join(' '));
        }
      }
    }
  });

  /** Returns bash's completions for the last word. */
  function offeredOptions(...words: string[]): string[] {
    const script = `${bash}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
      compopt() { :; }; _stackside; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = Bun.spawnSync(['bash', '-c', script]);
    expect(stderr.toString()).toBe('');
    return stdout.toString().trim().split('\n');
  }

  test('for bash complete the word that was typed', () => {
    expect(offeredOptions('stackside', 'reb')).toEqual(['rebuild']);
    expect(offeredOptions('stackside', 'hooks', 'rede')).toEqual(['redeliver']);
    expect(offeredOptions('stackside', 'serve', '--mode', '')).toEqual(['full', 'read', 'write']);
    expect(offeredOptions('stackside', 'serve', '--mode', '=', 'r')).toEqual(['read']);
    expect(offeredOptions('stackside', 'serve', '--api-p')).toEqual(['--api-port']);
    // Without a command, the options are those of the default command.
    expect(offeredOptions('stackside', '--api-p')).toEqual(['--api-port']);
    expect(offeredOptions('stackside', '--mode', 're')).toEqual(['read']);
  });

  test('for bash complete values and directories, but no placeholders', () => {
    expect(offeredOptions('stackside', 'serve', '--threads', '')).toEqual(['auto']);
    expect(offeredOptions('stackside', 'serve', '--network', '')).toEqual(['']);
    const folders = [['serve', '--archive'], ['devnet', '--clarity'], ['restore']];
    for (const words of folders) {
      expect(offeredOptions('stackside', ...words, `${import.meta.dir}/../packag`)).toEqual([
        `${import.meta.dir}/../packaging`,
      ]);
    }
  });

  const shells = [
    ['bash', bash],
    ['zsh', zshCompletion()],
    ['fish', fishCompletion()],
  ] as const;
  for (const [shell, script] of shells) {
    test.skipIf(Bun.which(shell) === null)(`for ${shell} are valid`, () => {
      expect(run([shell, '-n'], script)).toEqual({ code: 0, printed: '' });
    });
  }
});
