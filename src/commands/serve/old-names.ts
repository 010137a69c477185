/** Reads the published export of the name system from before Stacks 2.0: four files, each with its hash in a `.sha256` file. */
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, pause } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { isTransient } from '../../base/system-errors.ts';
import { MAX_LIFETIME } from '../../chain/name-system.ts';
import { bitcoinToStacks } from '../../codec/bitcoin-address.ts';
import type { Log } from '../../log.ts';
import type { Settings } from '../../settings/config.ts';
import { type Commander, commandsOf } from '../../store/ingest/commands.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { type OldNameCommands, type OldNameRow, oldNameParts } from '../../store/ingest/old-names.ts';
import { openInput } from '../data/input.ts';

const FILES = {
  names: 'chainstate.txt',
  zonefiles: 'name_zonefiles.txt',
  subdomains: 'subdomains.csv',
  subdomainZonefiles: 'subdomain_zonefiles.txt',
} as const;

const REMEDY = 'Download the export again, with the .sha256 file of each of its four files, or omit the setting.';

const brokenError = (file: string, line: number, what: string): OperatorError =>
  new OperatorError(`${file}, line ${line}: ${what}.`, REMEDY);

function requireFile(path: string): void {
  if (!existsSync(path)) throw new OperatorError(`${path} doesn't exist.`, REMEDY);
}

function readPublishedHash(path: string): string {
  const file = `${path}.sha256`;
  requireFile(file);
  return readFileSync(file, 'utf8').trim().split(/\s/)[0]?.toLowerCase() ?? '';
}

/** Checks a file against its published hash. @throws OperatorError if the file or its hash is missing, or they differ */
async function checkFile(path: string): Promise<void> {
  requireFile(path);
  const hasher = new Bun.CryptoHasher('sha256');
  for await (const chunk of createReadStream(path)) hasher.update(chunk);
  if (hasher.digest('hex') !== readPublishedHash(path))
    throw new OperatorError(`${path} doesn't match the SHA-256 in its .sha256 file.`, REMEDY);
}

interface Line {
  text: string;
  /** Line number, counted from 1. */
  number: number;
}

async function* linesOf(path: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let number = 0;
  for await (const bytes of openInput(path).lines())
    yield { text: decoder.decode(bytes).replace(/\r$/, ''), number: ++number };
}

/** In the export, each zonefile is on one line. */
const unescapeLines = (text: string): string => text.replaceAll('\\n', '\n');

const isHash = (text: string | undefined): text is string => text !== undefined && /^([0-9a-fA-F]{2})*$/.test(text);

/** Header lines of a section, which are skipped. */
const HEADER_LINES = 1;

/** Namespaces and names; the file's other sections aren't about names. */
async function* namesOf(path: string): AsyncGenerator<OldNameRow> {
  let section = '';
  let inSection = 0;
  for await (const { text, number } of linesOf(path)) {
    const mark = /^-----(BEGIN|END) ([A-Z ]+)-----$/.exec(text);
    if (mark !== null) {
      section = mark[1] === 'BEGIN' ? (mark[2] ?? '') : '';
      inSection = 0;
      continue;
    }
    if ((section !== 'NAMESPACES' && section !== 'NAMES') || inSection++ < HEADER_LINES || text === '') continue;
    const row = section === 'NAMES' ? oldName(text) : oldNamespace(text);
    if (row === null) throw brokenError(path, number, `no row of ${section}`);
    yield row;
  }
}

function oldName(text: string): OldNameRow | null {
  const [name, owner, hash] = text.split(',');
  if (!name || !owner || !isHash(hash)) return null;
  return { kind: 'name', name, owner, zonefileHash: Uint8Array.fromHex(hash) };
}

function oldNamespace(text: string): OldNameRow | null {
  const [namespace, , exponents, ...numbers] = text.split(',');
  if (!namespace || exponents === undefined || numbers.length !== 5) return null;
  if (![...exponents.split(';'), ...numbers].every((number) => /^\d+$/.test(number))) return null;
  const [base = 0n, coefficient = 0n, nonalphaDiscount = 0n, noVowelDiscount = 0n, lifetime = 0n] = numbers.map(BigInt);
  const price = { base, coefficient, exponents: exponents.split(';').map(BigInt), nonalphaDiscount, noVowelDiscount };
  return { kind: 'namespace', namespace, lifetime: lifetime > MAX_LIFETIME ? MAX_LIFETIME : Number(lifetime), price };
}

/** Zonefiles with their hashes; each line has one or the other. */
async function* zonefilesOf(path: string): AsyncGenerator<{ hash: string; content: string }> {
  let hash: string | null = null;
  for await (const { text, number } of linesOf(path)) {
    if (hash !== null) {
      yield { hash, content: unescapeLines(text) };
      hash = null;
    } else if (text !== '') {
      if (!isHash(text)) throw brokenError(path, number, 'no hash of a zonefile');
      hash = text.toLowerCase();
    }
  }
}

/** Subdomains with their zonefiles, which another file has in the same order. */
async function* subdomainsOf(path: string, zonefilesPath: string): AsyncGenerator<OldNameRow> {
  const zonefiles = zonefilesOf(zonefilesPath);
  for await (const { text, number } of linesOf(path)) {
    if (number <= HEADER_LINES || text === '') continue;
    const [hash, , subdomain, owner, , , , resolver = ''] = text.split(',');
    if (!isHash(hash) || !subdomain || !owner) throw brokenError(path, number, 'no row of a subdomain');
    const { value: zonefile } = await zonefiles.next();
    if (zonefile?.hash !== hash.toLowerCase())
      throw brokenError(path, number, `its zonefile is not next in ${zonefilesPath}`);
    yield {
      kind: 'subdomain',
      subdomain,
      // Owners that are not legacy Bitcoin addresses stay unchanged.
      owner: bitcoinToStacks(owner) ?? owner,
      resolver,
      zonefileHash: Uint8Array.fromHex(hash),
      zonefile: zonefile.content,
    };
  }
}

async function* oldNames(directory: string): AsyncGenerator<OldNameRow> {
  const pathOf = (file: keyof typeof FILES): string => join(directory, FILES[file]);
  for (const file of Object.values(FILES)) await checkFile(join(directory, file));
  for await (const { hash, content } of zonefilesOf(pathOf('zonefiles'))) {
    yield { kind: 'zonefile', hash: Uint8Array.fromHex(hash), content };
  }
  yield* subdomainsOf(pathOf('subdomains'), pathOf('subdomainZonefiles'));
  // Last, so that a stored name implies that its subdomains and zonefiles are stored.
  yield* namesOf(pathOf('names'));
}

function readSource(directory: string): string {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const file of Object.values(FILES)) hasher.update(readPublishedHash(join(directory, file)));
  return `old names ${hasher.digest('hex')}`;
}

/** Milliseconds until a command is sent again after the log of a cluster refused it. */
const RETRY_MS = 1_000;

export interface OldNamesOptions {
  commander: Commander;
  ingest: Pick<Ingest, 'imported' | 'setImported' | 'commit' | 'queue'>;
  clock: Clock;
  log: Log;
}

/**
 * Adds the names of the export in the settings, once. Commands that the shared log can't accept now are sent again later.
 * @returns a function that ends the work, and the work's end
 * @throws OperatorError if the export is incomplete; then nothing is added
 */
export async function importOldNames(
  { bnsImport: directory }: Pick<Settings, 'bnsImport'>,
  { commander, ingest, clock, log }: OldNamesOptions,
): Promise<{ stop: () => Promise<void>; done: Promise<void> }> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { run } = commandsOf<OldNameCommands>(commander);

  async function send(part: Parameters<typeof run<'names.add'>>[1]): Promise<number> {
    while (!signal.aborted) {
      try {
        return await run('names.add', part);
      } catch (error) {
        if (!isTransient(error)) throw error;
        await pause(clock, RETRY_MS, signal);
      }
    }
    return 0;
  }

  async function work(from: string, source: string): Promise<void> {
    let rows = 0;
    for await (const part of oldNameParts(oldNames(from))) {
      if (signal.aborted) return;
      rows += await send(part);
      await clock.turn();
    }
    await ingest.queue.run(() => {
      ingest.setImported(source, { rows: 1, digest: '' });
      ingest.commit();
    });
    log({ event: 'old_names_imported', rows });
  }

  let done = Promise.resolve();
  const source = directory === null ? '' : readSource(directory);
  if (directory !== null && ingest.imported(source).rows === 0) {
    // Reads all rows before the first is added, because an incomplete export must add nothing.
    for await (const _ of oldNames(directory));
    done = work(directory, source).catch((cause: unknown) => log({ event: 'old_names_failed', cause }));
  }
  return {
    done,
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
