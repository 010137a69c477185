/** Runs every program of this folder, so that all generated files are up to date: `bun run generate`. */
import { join } from 'node:path';
import { Glob } from 'bun';

const programs = [...new Glob('*.ts').scanSync(import.meta.dir)].filter((name) => !/^(all|example-.*)\.ts$/.test(name));

/** Writes the declarations of tables, which the other programs import. */
const FIRST = 'table-shapes.ts';

for (const name of [FIRST, ...programs.filter((program) => program !== FIRST)]) {
  const { exitCode } = Bun.spawnSync([process.execPath, join(import.meta.dir, name)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (exitCode !== 0) process.exit(1);
}
