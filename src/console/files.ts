/** The files of the console as they are served. */
import type { ConsoleBundle } from './bundle.ts';

/** A file, compressed in both codings that browsers take. */
export interface ConsoleFile {
  type: string;
  gzip: Uint8Array<ArrayBuffer>;
  brotli: Uint8Array<ArrayBuffer>;
}

export interface ConsoleFiles {
  /** The name of the entry script. */
  script: string;
  /** The name of the style sheet. */
  style: string;
  byName: ReadonlyMap<string, ConsoleFile>;
}

/** The bundle that `build.ts` made, in a compiled executable alone. */
declare const STACKSIDE_CONSOLE: ConsoleBundle | undefined;

function filesOf({ script, style, files }: ConsoleBundle): ConsoleFiles {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
  const byName = files.map(
    ({ name, type, gzip, brotli }) => [name, { type, gzip: bytes(gzip), brotli: bytes(brotli) }] as const,
  );
  return { script, style, byName: new Map(byName) };
}

/** The bundle: from the executable, or made of the source, which takes a moment. */
async function bundle(): Promise<ConsoleBundle> {
  if (typeof STACKSIDE_CONSOLE !== 'undefined') return STACKSIDE_CONSOLE;
  return (await import('./bundle.ts')).bundleConsole();
}

let files: Promise<ConsoleFiles> | null = null;

/** The files of the console. The first call makes them; later calls return the same promise, unless it failed. */
export function consoleFiles(): Promise<ConsoleFiles> {
  files ??= bundle().then(filesOf);
  files.catch(() => {
    files = null;
  });
  return files;
}
