/** Entries of the journal and digests of the index's tables, which other hosts import and compare. Stackside's own routes. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { ApiError, Problem } from '../../http/errors.ts';
import { route } from '../../http/route.ts';
import { Streamed } from '../../http/streamed.ts';
import { Hash, nullable } from '../shared/values.ts';
import type { OperatorFamily } from './server.ts';

const Entry = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    received_at: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Unix time in microseconds',
    }),
    path: Type.String({
      description: 'Path that the node posted the event to, such as `/new_block`; empty where the entry is withheld',
    }),
    chain: Hash,
    payload: Type.String({
      description:
        'JSON text of the event, compressed with zstd, in base64; of a withheld entry the SHA-256 of its path and of its text, in hex',
    }),
  },
  { $id: 'JournalEntry' },
);

/** Schema of a page of the journal. */
export const JournalPage = Type.Object(
  {
    after: Type.Integer({ minimum: 0 }),
    chain: Type.Union([Hash, Type.Null()], {
      description: 'Chain value of the entry that the page follows; null where the journal ends before it',
    }),
    last: Type.Integer({ minimum: 0, description: 'Number of the last event of the journal' }),
    entries: Type.Array(Entry),
    error: Type.Optional(Problem),
  },
  { $id: 'JournalPage' },
);
export type JournalPage = Static<typeof JournalPage>;

/** An entry as it is stored, unverified. */
export interface StoredEntry {
  id: number;
  /** Unix microseconds. */
  receivedAt: number;
  path: string;
  /** The JSON text, compressed with zstd. */
  payload: Uint8Array;
  chain: Uint8Array;
}

/** The entries of the journal after one. */
export interface JournalRange {
  /** Chain value of the entry; null if the journal ends before it, or begins after it. */
  chain: Uint8Array | null;
  /** Number of the last missing entry after it; null if the journal has the next entry. */
  lacksUpTo: number | null;
  last: number;
  /** The following entries without a gap, oldest first. */
  entries(): AsyncGenerator<StoredEntry>;
}

/** Limits of a page: bytes of payloads, and entries. */
const MOST_BYTES = 8_000_000;
const MOST_ENTRIES = 5_000;
/** Bytes of payloads that are read in one turn of the event loop. */
const BYTES_OF_PART = 250_000;

const entryText = ({ id, receivedAt, path, payload, chain }: StoredEntry): string =>
  JSON.stringify({ id, received_at: receivedAt, path, chain: toHex(chain), payload: payload.toBase64() });

/** The texts of a page's entries; small ones are joined. */
async function* entryTexts(range: JournalRange, limit: number): AsyncGenerator<string> {
  let [entries, bytes, part, ofPart] = [0, 0, '', 0];
  for await (const entry of range.entries()) {
    part += `${entries === 0 ? '' : ','}${entryText(entry)}`;
    entries += 1;
    bytes += entry.payload.length;
    ofPart += entry.payload.length;
    if (entries === limit || bytes >= MOST_BYTES) break;
    if (ofPart < BYTES_OF_PART) continue;
    yield part;
    [part, ofPart] = ['', 0];
  }
  yield part;
}

/** A page that is read while it is sent. */
function streamedPage(after: number, limit: number, range: JournalRange): Streamed {
  const { chain, last } = range;
  return new Streamed(
    'application/json',
    null,
    async function* () {
      yield `{"after":${after},"chain":${chain === null ? 'null' : `"${toHex(chain)}"`},"last":${last},"entries":[`;
      yield* entryTexts(range, limit);
      yield ']}';
    },
    (problem) => `],"error":${JSON.stringify(problem)}}`,
  );
}

/** The route of the journal. @param range reads the journal */
export const journalRoute = (family: OperatorFamily, range: (after: number) => Promise<JournalRange>) =>
  route({
    ...family,
    refusals: { ...family.refusals, 410: 'The journal was trimmed, and lacks the next event, and so does the archive' },
    path: '/stackside/v1/journal',
    operationId: 'getJournal',
    summary: 'Events of the journal after a number',
    description:
      'Returns the events that follow a number, oldest first, as `stackside import --from` takes them: up to 5,000 of them, or 8 MB. The next page follows the last entry of this one; a page without entries is the end. Entries are unverified: verify each by its chain value. Only the admin key may ask.',
    query: {
      after: Type.Integer({
        minimum: 0,
        default: 0,
        description: 'Number of the event that the page follows',
        examples: [0],
      }),
      limit: Type.Integer({
        minimum: 1,
        maximum: MOST_ENTRIES,
        default: MOST_ENTRIES,
        description: 'Maximum number of events in the page',
        examples: [100],
      }),
    },
    response: JournalPage,
    async handle({ query: { after, limit } }) {
      const found = await range(after);
      if (found.lacksUpTo === null) return streamedPage(after, limit, found);
      throw new ApiError(
        410,
        `The journal no longer has the entries up to number ${found.lacksUpTo}; restore a backup that has them`,
        'JOURNAL_TRIMMED',
      );
    },
  });

export const TableDigest = Type.Object(
  {
    name: Type.String({ description: 'Name of the table' }),
    rows: Type.Integer({ minimum: 0, description: 'Number of rows' }),
    range_rows: Type.Integer({ minimum: 1, description: 'Rows of each range but the last one; a power of two' }),
    ranges: Type.Array(Type.String({ pattern: '^[0-9a-f]{32}$' }), {
      description: 'Digest of each range, in the order of the rows: the sum of the hashes of its rows',
    }),
  },
  { $id: 'TableDigest' },
);

export const DigestPosition = Type.Object(
  {
    entry: Type.Integer({ minimum: 0, description: 'Last entry of the journal that the index holds' }),
    chain: Hash,
    chain_asked: Type.Union([Hash, Type.Null()], {
      description: 'Chain value of the entry that was asked for; null where the journal doesn’t hold it',
    }),
    schema: Type.Integer({ description: 'Version of the index’s schema' }),
  },
  { $id: 'DigestPosition' },
);

/** Schema of the digests. */
export const Digests = Type.Object(
  {
    tables: Type.Array(TableDigest, {
      description: 'Empty where the index is at another entry than the one asked for',
    }),
    stand: Type.Optional(nullable(DigestPosition)),
    error: Type.Optional(Problem),
  },
  { $id: 'Digests' },
);
export type Digests = Static<typeof Digests>;

/** Parts of the digests, in this order: the index's state, then the tables, with keep-alives between them. */
export type Digested =
  | { stand: Static<typeof DigestPosition> }
  | { table: Static<typeof TableDigest> }
  /** Some rows were read. */
  | 'alive';

/** A request for digests. */
export interface DigestQuery {
  /** The entry that the index must be at. */
  at: number;
  /** Seconds to wait for the entry. */
  wait: number;
}

/** Makes digests; returns null while another inspection runs. */
export type MakeDigests = (query: DigestQuery) => AsyncGenerator<Digested, void> | null;

/** Longest wait for an entry, in seconds. */
export const LONGEST_WAIT = 30;

/** The answer, sent while the tables are read. White space between its parts keeps the connection alive. */
async function* parts(digested: AsyncGenerator<Digested, void>): AsyncGenerator<string, void> {
  let stand = 'null';
  let comma = '';
  yield '{"tables":[';
  for await (const one of digested) {
    if (one === 'alive') yield ' ';
    else if ('stand' in one) stand = JSON.stringify(one.stand);
    else {
      yield `${comma}${JSON.stringify(one.table)}`;
      comma = ',';
    }
  }
  yield `],"stand":${stand}}`;
}

/** The route of digests. @param make makes the digests of this process's index */
export const digestRoute = (family: OperatorFamily, make: MakeDigests) =>
  route({
    ...family,
    refusals: { ...family.refusals, 409: 'An inspection is under way' },
    path: '/stackside/v1/digests',
    operationId: 'getDigests',
    summary: 'Digests of the index’s tables',
    description:
      'Returns digests of all tables that are functions of the journal, once the index is at an entry of it, as `stackside check --against` compares them. A process of low priority reads the whole index, which may take long; no other inspection runs meanwhile. It needs the admin key.',
    query: {
      at: Type.Integer({
        minimum: 0,
        description: 'Number of the entry that the index is to be at',
        examples: [0],
      }),
      wait: Type.Integer({
        minimum: 0,
        maximum: LONGEST_WAIT,
        default: 0,
        description: 'Seconds to wait until the index is at the entry',
        examples: [0],
      }),
    },
    response: Digests,
    handle({ query }) {
      const digested = make(query);
      if (digested === null) throw new ApiError(409, 'Another inspection is running; cancel it, or wait until it ends');
      return new Streamed(
        'application/json',
        null,
        () => parts(digested),
        (problem) => `],"error":${JSON.stringify(problem)}}`,
      );
    },
  });
