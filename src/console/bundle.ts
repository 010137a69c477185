/** Bundles the console for the browser: scripts and styles with their hash in the name, compressed once. */
import { type Coding, packed } from '../http/content-coding.ts';

/** A compressed file of the bundle. The bytes are base64, so that the compiled executable contains them as a text. */
export interface BundledFile extends Record<Coding, string> {
  name: string;
  /** Media type of the file. */
  type: string;
}

/** The bundle, with the names of its entry script and its style sheet. */
export interface ConsoleBundle {
  script: string;
  style: string;
  files: BundledFile[];
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

async function compressFile(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<BundledFile> {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (type === undefined) throw new Error(`the console's bundle has ${name}, whose file type has no content type`);
  const { zstd, gzip, br } = await packed(bytes);
  return { name, type, zstd: base64(zstd), gzip: base64(gzip), br: base64(br) };
}

/** The entry points of the bundle. */
export const consoleBuild = {
  entrypoints: [new URL('./app/main.tsx', import.meta.url).pathname],
  target: 'browser' as const,
  splitting: true,
  minify: true,
  define: { 'process.env.NODE_ENV': '"production"' },
  naming: { entry: 'console-[hash].[ext]', chunk: 'part-[hash].[ext]', asset: 'asset-[hash].[ext]' },
} satisfies Bun.BuildConfig;

/** Bundles `src/console/app`. Names and bytes depend only on the source. @throws AggregateError of the bundler */
export async function bundleConsole(): Promise<ConsoleBundle> {
  const { outputs } = await Bun.build(consoleBuild);
  const nameOf = ({ path }: Bun.BuildArtifact): string => path.slice(path.lastIndexOf('/') + 1);
  const files = await Promise.all(
    outputs.map(async (output) => compressFile(nameOf(output), new Uint8Array(await output.arrayBuffer()))),
  );
  const script = outputs.find(({ kind }) => kind === 'entry-point');
  const style = outputs.find(({ path }) => path.endsWith('.css'));
  if (script === undefined || style === undefined)
    throw new Error('the bundle of the console lacks its script or style');
  return { script: nameOf(script), style: nameOf(style), files };
}
