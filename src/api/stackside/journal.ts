/** The journal, as another server reads it to take the events that it lacks. Stackside's own. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { ApiError, Problem } from '../../http/errors.ts';
import { route } from '../../http/route.ts';
import { Streamed } from '../../http/streamed.ts';
import { Hash } from '../shared/values.ts';
import type { OperatorFamily } from './operator-family.ts';

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

/** A page of the journal, as the route answers it. */
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

/** An entry as it is stored. Nobody has verified it. */
export interface StoredEntry {
  id: number;
  /** Unix microseconds. */
  receivedAt: number;
  path: string;
  /** The JSON text, compressed with zstd. */
  payload: Uint8Array;
  chain: Uint8Array;
}

/** What of the journal follows an entry. */
export interface JournalStretch {
  /** Chain value of the entry; null where the journal ends before it, or begins after it. */
  chain: Uint8Array | null;
  /** The last event that the journal lacks of those that follow; null where it has the next one. */
  lacksUpTo: number | null;
  last: number;
  /** The entries that follow without a gap, oldest first. */
  entries(): Generator<StoredEntry>;
}

/** Bytes of payloads, and entries, after which a page ends. */
const MOST_BYTES = 8_000_000;
const MOST_ENTRIES = 5_000;
/** Bytes of payloads that are read in one turn of the event loop. */
const BYTES_OF_PART = 250_000;

const entryText = ({ id, receivedAt, path, payload, chain }: StoredEntry): string =>
  JSON.stringify({ id, received_at: receivedAt, path, chain: toHex(chain), payload: payload.toBase64() });

/** The texts of a page's entries, several of small ones together. */
function* entryTexts(stretch: JournalStretch, limit: number): Generator<string> {
  let [entries, bytes, part, ofPart] = [0, 0, '', 0];
  for (const entry of stretch.entries()) {
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

/** A page, which is read while it is sent. */
function streamedPage(after: number, limit: number, stretch: JournalStretch): Streamed {
  const { chain, last } = stretch;
  return new Streamed(
    'application/json',
    null,
    async function* () {
      yield `{"after":${after},"chain":${chain === null ? 'null' : `"${toHex(chain)}"`},"last":${last},"entries":[`;
      yield* entryTexts(stretch, limit);
      yield ']}';
    },
    (problem) => `],"error":${JSON.stringify(problem)}}`,
  );
}

/** @param stretch reads the journal */
export const journalRoute = (family: OperatorFamily, stretch: (after: number) => JournalStretch) =>
  route({
    ...family,
    refusals: { ...family.refusals, 410: 'The journal was trimmed, and lacks the next event' },
    path: '/stackside/v1/journal',
    operationId: 'getJournal',
    summary: 'Events of the journal after a number',
    description:
      'Returns the events that follow a number, oldest first, as `stackside import --from` takes them: up to 5,000 of them, or 8 MB. The next page follows the last entry of this one; a page without entries is the end. Entries are sent as they are stored: who takes them verifies each by its chain value. Only the admin key may ask.',
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
    handle({ query: { after, limit } }) {
      const found = stretch(after);
      if (found.lacksUpTo === null) return streamedPage(after, limit, found);
      throw new ApiError(
        410,
        `The journal no longer has the entries up to number ${found.lacksUpTo}; restore a snapshot that has them`,
        'JOURNAL_TRIMMED',
      );
    },
  });
