/** Commands reject an archive as their data directory. */
import { expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { OwnCommand } from '../../src/commands/cli/command.ts';
import { createProgram } from '../../src/commands/program.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

/** The words of all commands with a data directory, and the arguments and options that each must have. */
function commandsOf(command: Command, words: readonly string[] = []): { words: readonly string[]; needed: string[] }[] {
  const below = command.commands.flatMap((child) => commandsOf(child, [...words, child.name()]));
  if ((command as OwnCommand).settingsOf === null || !command.options.some(({ long }) => long === '--data'))
    return below;
  const needed = [
    ...command.registeredArguments.filter(({ required }) => required).map(() => 'any'),
    ...command.options
      .filter(({ mandatory }) => mandatory)
      .flatMap(({ long, required }) => [long ?? '', ...(required ? ['1'] : [])]),
  ];
  return [{ words, needed }, ...below];
}

test('every command with a data directory rejects an archive in two lines and writes nothing into it', async () => {
  const commands = commandsOf(createProgram());
  const named = commands.map(({ words }) => words.join(' '));
  expect(named).toEqual(expect.arrayContaining(['serve', 'demo', 'import', 'rebuild', 'restore', 'archive key']));
  using directory = dataDirectory();
  writeFileSync(join(directory.path, 'archive.json'), '{}');
  for (const { words, needed } of commands) {
    const args = [...words, ...needed, '--data', directory.path];
    const refused = await createProgram(words[0])
      .parseAsync(args, { from: 'user' })
      .then(
        () => null,
        ({ message, remedy }) => ({ message, remedy }),
      );
    expect([words, refused]).toEqual([
      words,
      {
        message: `${directory.path} is an archive, and not a data directory.`,
        remedy: expect.stringContaining(`stackside restore ${directory.path} --data DIR`),
      },
    ]);
  }
  expect(readdirSync(directory.path)).toEqual(['archive.json']);
});
