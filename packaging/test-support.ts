/** The files of `stackside/test`: one module that runs in Node and in Bun, and its types. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { type ArchivedFile, textFile } from './archive.ts';

const source = join(import.meta.dir, '../src/testing');
/** The files with the types that users see. */
const TYPED = ['index', 'types', 'filters', 'errors', 'matchers', 'values'];

/** Returns the declarations of a file, with imports that fit the file names in the package. */
function declarationsOf(name: string): ArchivedFile {
  const { outputText } = ts.transpileDeclaration(readFileSync(join(source, `${name}.ts`), 'utf8'), {
    fileName: `${name}.ts`,
    compilerOptions: { isolatedDeclarations: true, target: ts.ScriptTarget.ESNext },
  });
  return textFile(`test/${name}.d.mts`, outputText.replaceAll(/(from '\.\/\w+)\.ts'/g, "$1.mjs'"));
}

/** Bundles the module. @throws AggregateError if that fails */
export async function testSupport(): Promise<ArchivedFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: [join(source, 'index.ts')],
    target: 'node',
    format: 'esm',
    // Hashes without Bun's functions, which Node doesn't have.
    conditions: ['browser'],
  });
  const [module] = outputs;
  if (module === undefined) throw new Error('test support has no module');
  return [textFile('test/index.mjs', await module.text()), ...TYPED.map(declarationsOf)];
}
