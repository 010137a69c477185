/** Digests of the index's tables, by which another host compares its own. Stackside's own. */
import { type Static, Type } from '@sinclair/typebox';
import { ApiError, Problem } from '../../http/errors.ts';
import { route } from '../../http/route.ts';
import { Streamed } from '../../http/streamed.ts';
import { Hash, nullable } from '../shared/values.ts';
import type { OperatorFamily } from './operator-family.ts';

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

export const DigestStand = Type.Object(
  {
    entry: Type.Integer({ minimum: 0, description: 'Last entry of the journal that the index holds' }),
    chain: Hash,
    chain_asked: Type.Union([Hash, Type.Null()], {
      description: 'Chain value of the entry that was asked for; null where the journal doesn’t hold it',
    }),
    schema: Type.Integer({ description: 'Version of the index’s schema' }),
  },
  { $id: 'DigestStand' },
);

/** Digests as the route answers them. */
export const Digests = Type.Object(
  {
    tables: Type.Array(TableDigest, {
      description: 'Empty where the index is at another entry than the one asked for',
    }),
    stand: Type.Optional(nullable(DigestStand)),
    error: Type.Optional(Problem),
  },
  { $id: 'Digests' },
);
export type Digests = Static<typeof Digests>;

/** What is made of digests, in this order: where the index is, then the tables, with signs of life between them. */
export type Digested =
  | { stand: Static<typeof DigestStand> }
  | { table: Static<typeof TableDigest> }
  /** Some rows were read. */
  | 'alive';

/** What is asked for. */
export interface DigestQuery {
  /** The entry that the index is to be at. */
  at: number;
  /** Seconds to wait for it. */
  wait: number;
}

/** Makes digests; null while another inspection runs. */
export type MakeDigests = (query: DigestQuery) => AsyncGenerator<Digested, void> | null;

/** Longest wait for an entry, in seconds. */
export const LONGEST_WAIT = 30;

/** The answer, which is sent while the tables are read. Space between its parts keeps the connection alive. */
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

/** @param make makes the digests of this process's index */
export const digestRoute = (family: OperatorFamily, make: MakeDigests) =>
  route({
    ...family,
    refusals: { ...family.refusals, 409: 'An inspection is under way' },
    path: '/stackside/v1/digests',
    operationId: 'getDigests',
    summary: 'Digests of the index’s tables',
    description:
      'Returns digests of all tables that are functions of the journal, once the index is at an entry of it, as `stackside check --against` compares them with those of another host. A process of its own with low priority reads the whole index for it, which may take long; no other inspection runs meanwhile. Only the admin key may ask.',
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
