/** Reading a public archive through a mirror, which may be late, broken or hostile. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ArchiveDamagedError } from '../../src/archive/archive.ts';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import {
  type ArchiveHead,
  ArchiveUntrustedError,
  HEAD,
  HEAD_TYPE,
  headBytes,
  readHead,
} from '../../src/archive/head.ts';
import { loadSeenArchive, openArchive, saveSeenArchive, signedArchive, type Trust } from '../../src/archive/open.ts';
import { parseSegmentName, readSegment, segmentContent } from '../../src/archive/segment.ts';
import { envelopeBytes, newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { EXIT, OperatorError, TemporaryError } from '../../src/base/errors.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { compressPart } from '../../src/storage/object-store.ts';
import { webSource } from '../../src/storage/remote.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { openIngest } from '../../src/store/ingest/ingest.ts';
import { nextChain } from '../../src/store/log/entry.ts';
import { archive, restoredFrom } from '../support/data/archive.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { logWithCommands } from '../support/data/log-with-commands.ts';
import { journalRows, tables } from '../support/data/tables.ts';
import { failureOf } from '../support/failure.ts';
import { type WebServer, webServer } from '../support/servers/web-server.ts';
import { impatientClock, stallingClock } from '../support/time/impatient-clock.ts';
import { until } from '../support/time/until.ts';

const events = [...devnetEvents({ seed: 15, blocks: 10, accounts: 3, transactionsPerBlock: 1, forkEvery: 4 })];
const signer = parseSigner(newPrivateKey())!;
const KEY = signer.publicKey;
const { keep, folder } = keepToEnd();
const servers: WebServer[] = [];
afterAll(() => {
  for (const server of servers) server[Symbol.dispose]();
});

let source: string;
let original: string;
/** A private archive of the same log. */
let whole: string;
beforeAll(async () => {
  source = keep(await logWithCommands(events));
  original = folder();
  await archive(source, directoryFiles(original), 'one', { signer });
  whole = folder();
  await archive(source, directoryFiles(whole));
});

/** Returns a copy of the archive on a web server, which a test can damage. */
function mirror(origin = original): { path: string; web: WebServer; segments: string[] } {
  const path = folder();
  cpSync(origin, path, { recursive: true });
  const web = webServer(path);
  servers.push(web);
  return {
    path,
    web,
    segments: readdirSync(path)
      .filter((name) => name.startsWith('segment-'))
      .sort(),
  };
}

interface Overrides {
  trust?: Partial<Trust>;
  into?: string;
  lacked?: number[];
}

/** Restores from a location. @returns its last entry */
async function restore(
  location: string,
  { trust = { archivePublicKey: KEY }, into = folder(), lacked = [] }: Overrides = {},
) {
  const store = await openArchive({
    location,
    directory: into,
    trust: { archivePublicKey: null, archiveUnsigned: false, ...trust },
    clock: impatientClock,
    lacks: (_, entry) => lacked.push(entry),
  });
  return restoredFrom(store, into);
}

/** The message of the error that a restore fails with. */
const messageOf = async (kind: Parameters<typeof failureOf>[0], ...from: Parameters<typeof restore>) =>
  (await failureOf(kind, restore(...from))).message;

const entries = (): number => journalRows(source).length;
const sealed = (segments: readonly string[]): number => parseSegmentName(segments.at(-1)!)!.last;
const headOf = async (path: string): Promise<ArchiveHead> => (await readHead(directoryFiles(path), KEY))!;
const sign = (path: string, head: ArchiveHead): void => writeFileSync(join(path, HEAD), headBytes(head, signer));

test('restores from a static web server with a key', async () => {
  const { web } = mirror();
  const into = folder();
  expect(await restore(web.url, { into })).toBe(entries());
  expect(tables(into)).toEqual(tables(source));
  expect(web.requestedNames.filter((name) => name === IDENTITY)).toEqual([]);
  expect(loadSeenArchive(into)).toMatchObject({ location: web.url, entry: entries() });
  for (const location of [`${web.url}/`, `${web.url}/${HEAD}`, `${web.url}/${IDENTITY}`]) {
    expect(await restore(location)).toBe(entries());
  }
});

test('reads a directory with a key, without listing it', async () => {
  expect(await restore(original)).toBe(entries());
});

describe('trust:', () => {
  test('a public archive is read without a key only if the operator allows it', async () => {
    const { path, web } = mirror();
    for (const location of [web.url, path]) {
      const error = await failureOf(OperatorError, restore(location, { trust: {} }));
      expect(error.message).toBe(`The archive at ${location} is public, but no key is given to verify it.`);
      expect(error.remedy).toContain('may have invented blocks');
      expect(await restore(location, { trust: { archiveUnsigned: true } })).toBe(entries());
    }
    const trust = { archivePublicKey: KEY, archiveUnsigned: true };
    expect(await messageOf(OperatorError, web.url, { trust })).toBe(
      '--archive-public-key and --archive-unsigned are both given.',
    );
  });

  test('a private archive is read without a key, if the storage can list its objects', async () => {
    expect(await restore(whole, { trust: {} })).toBe(entries());
    for (const location of [whole, mirror(whole).web.url]) {
      const message = `No public archive found at ${location}: ${HEAD} is missing.`;
      expect(await messageOf(ArchiveUntrustedError, location)).toBe(message);
    }
  });

  test('rejects a public key that does not belong to the signature of the head', async () => {
    const { web } = mirror();
    const other = parseSigner(newPrivateKey())!.publicKey;
    const into = folder();
    const error = await failureOf(
      ArchiveUntrustedError,
      restore(web.url, { trust: { archivePublicKey: other }, into }),
    );
    expect(error.message).toBe(`${HEAD} of the archive at ${web.url} is signed with ${KEY}, not with ${other}.`);
    expect([existsSync(join(into, 'restore')), loadSeenArchive(into)]).toEqual([false, null]);
  });

  test('rejects a changed head, and one that was signed as another type', async () => {
    const { path, web } = mirror();
    const head = await headOf(path);
    const forged = { ...head, entry: head.entry - 1 };
    const { signatures } = JSON.parse(readFileSync(join(path, HEAD), 'utf8'));
    const payload = Buffer.from(JSON.stringify(forged));
    const another = parseSigner(newPrivateKey())!;
    const [{ sig }] = JSON.parse(envelopeBytes(HEAD_TYPE, payload, another).toString()).signatures;
    const envelope = { payloadType: HEAD_TYPE, payload: payload.toString('base64') };
    const spoiled = [
      JSON.stringify({ ...envelope, signatures }),
      // The key id is false.
      JSON.stringify({ ...envelope, signatures: [{ keyid: KEY, sig }] }),
      JSON.stringify({ ...envelope, signatures: [] }),
      envelopeBytes('text/plain', payload, signer),
    ];
    for (const bytes of spoiled) {
      writeFileSync(join(path, HEAD), bytes);
      expect(await messageOf(ArchiveUntrustedError, web.url)).toBe(
        `The signature of ${HEAD} in the archive at ${web.url} isn't valid for ${KEY}.`,
      );
    }
  });

  test('rejects a malformed head, one that contradicts itself, and one of a newer format', async () => {
    const { path, web, segments } = mirror();
    const head = await headOf(path);
    for (const text of ['nothing', '{}', '<html></html>']) {
      writeFileSync(join(path, HEAD), text);
      expect(await messageOf(ArchiveDamagedError, web.url)).toContain(`${HEAD} isn't a signed object`);
    }
    const contradictions: [Partial<Record<keyof ArchiveHead, unknown>>, string][] = [
      [{ entry: '1' }, "isn't a valid list of objects"],
      [{ segments: [...segments, 'part'] }, 'names an invalid segment'],
      [{ segments: ['../../etc/passwd'] }, 'names an invalid segment'],
      [{ open: '../../etc/passwd' }, 'names an invalid open part'],
      [{ segments: segments.slice(1) }, 'names segments that do not follow each other'],
      [{ segments: segments.toReversed() }, 'names segments that do not follow each other'],
      [{ entry: sealed(segments) }, 'names a last entry that differs from its objects'],
      [{ open: null }, 'names a last entry that differs from its objects'],
    ];
    for (const [change, fault] of contradictions) {
      sign(path, { ...head, ...change } as ArchiveHead);
      expect(await messageOf(ArchiveDamagedError, web.url)).toBe(
        `The archive at ${web.url} is damaged: ${HEAD} ${fault}.`,
      );
    }
    sign(path, { ...head, format: 2 } as unknown as ArchiveHead);
    expect(await messageOf(OperatorError, web.url)).toBe(
      `The archive at ${web.url} has format 2; this version reads formats up to 1.`,
    );
  });
});

describe('a mirror with an older state:', () => {
  test('rejects a head that is older than the newest head that this directory used', async () => {
    const { path, web } = mirror();
    const into = folder();
    const head = await headOf(path);
    const seen = { location: 'elsewhere', archive: head.archive, entry: head.entry + 1, chain: head.chain };
    saveSeenArchive(into, seen);
    const error = await failureOf(TemporaryError, restore(web.url, { into }));
    expect(error.exitCode).toBe(EXIT.temporary);
    expect(error.message).toBe(
      `${HEAD} of the archive at ${web.url} ends with entry ${head.entry}, but an earlier version had entry ${head.entry + 1}.`,
    );
    // An emptied directory and another archive aren't affected.
    saveSeenArchive(into, { ...seen, archive: { ...head.archive, identity: 'ab'.repeat(16) } });
    expect(await restore(web.url, { into })).toBe(head.entry);
  });

  test('rejects a head that contradicts an earlier head of the same key', async () => {
    const { path, web } = mirror();
    const into = folder();
    const { archive: identity, entry } = await headOf(path);
    saveSeenArchive(into, { location: 'elsewhere', archive: identity, entry, chain: 'ab'.repeat(32) });
    expect(await messageOf(ArchiveUntrustedError, web.url, { into })).toBe(
      `${HEAD} of the archive at ${web.url} has another entry ${entry} than an earlier version of it.`,
    );
  });

  test('rejects a head that becomes older during a restore', async () => {
    const { path } = mirror();
    const store = signedArchive({ source: directoryFiles(path), key: KEY, seen: null, saw: () => {}, lacks: () => {} });
    await store.list('');
    const half = folder();
    await archive(await dataUpTo(0.5), directoryFiles(half), 'one', { signer });
    cpSync(join(half, HEAD), join(path, HEAD));
    await failureOf(TemporaryError, store.list(''));
  });

  test('restores an earlier state from objects of two moments, or names the missing object', async () => {
    const moments = [];
    for (const share of [0.3, 0.5, 0.55, 1]) {
      const path = folder();
      await archive(await dataUpTo(share), directoryFiles(path), 'one', { signer });
      moments.push(path);
    }
    const last = journalRows(source);
    let older = 0;
    for (const [a, heads] of moments.entries()) {
      for (const [b, rest] of moments.entries()) {
        const path = folder();
        cpSync(rest, path, { recursive: true });
        cpSync(join(heads, HEAD), join(path, HEAD));
        const { entry, segments } = await headOf(heads);
        const into = folder();
        const lacked: number[] = [];
        if (b < a && segments.some((name) => !existsSync(join(path, name)))) {
          const error = await failureOf(ArchiveDamagedError, restore(path, { into }));
          expect(error.message).toMatch(/segment-.* is missing\.$/);
          // Once the mirror catches up, the same command continues.
          cpSync(heads, path, { recursive: true });
          expect(await restore(path, { into })).toBe(entry);
        } else {
          const restoredEntry = await restore(path, { into, lacked });
          older += lacked.length;
          const end = segments.length === 0 ? 0 : sealed(segments);
          expect(restoredEntry).toBe(lacked.length === 0 ? entry : end);
        }
        const rows = journalRows(into);
        expect(rows.map(({ id, receivedAt }) => [id, receivedAt])).toEqual(
          last.slice(0, rows.length).map(({ id, receivedAt }) => [id, receivedAt]),
        );
      }
    }
    expect(older).toBeGreaterThan(2);
  });
});

/** Returns the source's data up to a share of its entries. */
async function dataUpTo(share: number): Promise<string> {
  const into = folder();
  const journal = openJournalReader(source);
  const ingest = openIngest({ directory: into, chainId: null, machine: silentMachine, log: () => {} });
  try {
    const first = [...journal.after(0)].slice(0, Math.ceil(entries() * share));
    await ingest.entries.follow(first, 'each', false, systemClock.turn);
  } finally {
    ingest.close();
    journal.close();
  }
  return into;
}

test('a restore includes entries that are archived meanwhile', async () => {
  const path = folder();
  await archive(await dataUpTo(0.4), directoryFiles(path), 'one', { signer });
  const start = (await headOf(path)).entry;
  const { web } = mirror(path);
  const served = servers.at(-1)!;
  let grown = false;
  served.answer = async (name) => {
    if (!grown && name.startsWith('segment-')) {
      grown = true;
      await archive(source, directoryFiles(path), 'one', { signer });
    }
    return existsSync(join(path, name)) ? new Response(readFileSync(join(path, name))) : null;
  };
  expect(start).toBeLessThan(entries());
  expect(await restore(web.url)).toBe(entries());
});

describe('a mirror that is broken or hostile is refused, with the name of the object:', () => {
  const cases: [string, (copy: ReturnType<typeof mirror>) => void | Promise<void>, RegExp][] = [
    ['a segment is missing', ({ path, segments }) => rmSync(join(path, segments[1]!)), /segment-\S+\.zst is missing/],
    [
      'a segment is forged, with a valid checksum',
      async ({ path, segments }) => {
        const file = join(path, segments[1]!);
        const segment = await readSegment(readFileSync(file), parseSegmentName(segments[1]!));
        let chain = segment.previousChain;
        const forged = segment.entries.map((entry) => {
          const changed = { ...entry, text: entry.text.replace('"', '" ') };
          chain = nextChain(chain, changed);
          return { ...changed, chain };
        });
        writeFileSync(file, await compressPart(segmentContent(segment.previousChain, forged)));
      },
      /segment-\S+\.zst is a damaged segment: .* which doesn't match its name/,
    ],
  ];
  test.each(cases)('%s', async (_, spoil, fault) => {
    const copy = mirror();
    await spoil(copy);
    const into = folder();
    const error = await failureOf(ArchiveDamagedError, restore(copy.web.url, { into }));
    expect(error.message).toMatch(fault);
    expect(error.message).toContain(copy.web.url);
    // Another mirror has the segment, and the same restore continues there.
    expect(await restore(mirror().web.url, { into })).toBe(entries());
  });

  test('an open part that continues after the head, or is forged, adds nothing', async () => {
    const { path, web, segments } = mirror();
    const file = join(path, 'open-one.zst');
    const { previousChain, entries: list } = await readSegment(readFileSync(file), null);
    let chain = previousChain;
    const forge = (index: number) => {
      chain = previousChain;
      return list.map((entry, place) => {
        const changed = place === index ? { ...entry, text: `${entry.text} ` } : entry;
        chain = nextChain(chain, changed);
        return { ...changed, chain };
      });
    };
    for (const index of [0, list.length - 1]) {
      writeFileSync(file, await compressPart(segmentContent(previousChain, forge(index))));
      const lacked: number[] = [];
      expect(await restore(web.url, { lacked })).toBe(sealed(segments));
      expect(lacked).toEqual([entries()]);
    }
    // If unproven entries follow the proven ones, only the proven ones count.
    const extra = { ...list.at(-1)!, id: list.at(-1)!.id + 1 };
    extra.chain = nextChain(list.at(-1)!.chain, extra);
    writeFileSync(file, await compressPart(segmentContent(previousChain, [...list, extra])));
    expect(await restore(web.url)).toBe(entries());
  });

  test('an endless body', async () => {
    const { web } = mirror();
    const chunk = new Uint8Array(1024 * 1024);
    let isCancelled = false;
    web.answer = (name) =>
      name === HEAD
        ? new Response(
            new ReadableStream({
              pull: (controller) => controller.enqueue(chunk),
              cancel() {
                isCancelled = true;
              },
            }),
          )
        : null;
    expect(await messageOf(OperatorError, web.url)).toMatch(
      new RegExp(`^${web.url}/${HEAD} is larger than the \\d+ bytes that are allowed\\.$`),
    );
    await until(() => isCancelled, 'the server notices that nobody reads on');
  });

  test("redirects may lead to other hosts, whose files are verified like the mirror's", async () => {
    const { path, web } = mirror();
    const other = webServer(path);
    servers.push(other);
    web.answer = (name) => Response.redirect(`${other.url.replace('127.0.0.1', 'localhost')}/${name}`);
    expect(await restore(web.url)).toBe(entries());
    other.answer = (name) => (name.startsWith('segment-') ? new Response('something else') : null);
    expect(await messageOf(ArchiveDamagedError, web.url)).toMatch(/is a damaged segment/);
    web.answer = (name) => Response.redirect(`${web.url}/${name}`);
    const looping = webFilesWith(web.url, stallingClock());
    expect(await failureOf(TemporaryError, looping.read(HEAD, { min: 1, max: 1_000 }))).toBeInstanceOf(TemporaryError);
  });

  test('a URL of another machine without TLS', async () => {
    for (const location of ['http://example.com/stacks', 'http://192.0.2.1/stacks', 'http://[2001:db8::1]/stacks']) {
      expect(await messageOf(OperatorError, location)).toBe(
        `${location} doesn't use TLS, so anyone on the network path can withhold or delay data.`,
      );
    }
    expect(await messageOf(OperatorError, 'http://user:secret@example.com/stacks?token=secret')).toStartWith(
      "http://user:***@example.com/stacks?*** doesn't use TLS",
    );
  });
});

const webFilesWith = (url: string, clock: Clock) => webSource(new URL(url), clock);

test('stops reading a mirror that sends a byte now and then, but not a mirror that is only slow', async () => {
  const path = folder();
  cpSync(original, path, { recursive: true });
  const body = Buffer.alloc(200_000, 'a');
  const clock = stallingClock();
  let [sent, arrived] = [0, 0];
  const direct = fetch;
  using _ = spyOn(globalThis, 'fetch').mockImplementation((async (...request: Parameters<typeof fetch>) => {
    const response = await direct(...request);
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        arrived += chunk.length;
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body?.pipeThrough(count), response);
  }) as typeof fetch);
  /** Bytes that the server sends before each look at the clock. */
  for (const [isFast, step] of [
    [false, 10],
    [true, 70_000],
  ] as const) {
    let tries = 0;
    let go = Promise.withResolvers<void>();
    [sent, arrived] = [0, 0];
    using web = webServer(path);
    web.answer = () => {
      tries += 1;
      let offset = 0;
      return new Response(
        new ReadableStream({
          async pull(controller) {
            const part = body.subarray(offset, offset + step);
            controller.enqueue(part);
            offset += part.length;
            sent += part.length;
            if (offset === body.length) return controller.close();
            await go.promise;
          },
        }),
      );
    };
    const reading = webFilesWith(web.url, clock)
      .read(HEAD, { min: 1, max: 1_000_000 })
      .then(
        (bytes) => bytes?.length ?? 0,
        (error: unknown) => error,
      );
    let isDone = false;
    void reading.then(() => {
      isDone = true;
    });
    for (let seen = 0; !isDone; seen = sent) {
      const isWaiting = () => sent > seen && arrived === sent && sent < body.length;
      await until(() => isDone || isWaiting(), 'the server waits, and the client has all that was sent');
      // The bytes that arrived are counted.
      await systemClock.turn();
      clock.stall();
      // The server continues only the response that the client still reads.
      if (isFast) go.resolve();
      go = Promise.withResolvers();
    }
    const outcome = await reading;
    if (isFast) expect([outcome, tries]).toEqual([body.length, 1]);
    else {
      expect(outcome).toBeInstanceOf(TemporaryError);
      expect((outcome as TemporaryError).message).toContain(`${web.url}/${HEAD} can't be reached`);
      expect(tries).toBe(6);
    }
  }
});
