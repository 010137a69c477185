/** SQL for the operator: queries of the index's views, and the columns of these views. */
import { type Static, Type } from '@sinclair/typebox';
import { route } from '../../http/route.ts';
import { exampleQueries, someRows, views } from '../../store/views/views.ts';
import { named, words } from '../shared/fields.ts';
import type { OperatorFamily } from './server.ts';

export const SQL_LIMITS = {
  /** Maximum queries that run at the same time, each in a separate process. */
  atOnce: 2,
  seconds: 60,
  rows: 100_000,
  bytes: 20_000_000,
  /** Maximum memory of the process, in megabytes. */
  megabytes: 500,
} as const;

const DEFAULT_ROWS = 10_000;

const formats = ['json', 'csv', 'ndjson', 'parquet'] as const;

const Value = Type.Union(
  [
    Type.String(),
    Type.Number({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
    Type.Boolean(),
    Type.Null(),
  ],
  { rule: 'text, a number, a boolean or null; send numbers beyond 2^53 as text, and CAST them in the query' },
);

const SqlQuery = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      maxLength: 100_000,
      description: 'One `SELECT`, `VALUES` or `WITH` over the views, or `EXPLAIN` before one of these',
    }),
    parameters: Type.Optional(
      Type.Array(Value, { maxItems: 100, description: 'Values of the parameters of the query, from `?1` on' }),
    ),
    format: Type.Optional(words(...formats)),
    max_rows: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SQL_LIMITS.rows,
        default: DEFAULT_ROWS,
        description: 'Maximum number of rows',
      }),
    ),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: SQL_LIMITS.seconds,
        default: SQL_LIMITS.seconds,
        description: 'Seconds after which the query is cancelled',
      }),
    ),
  },
  { additionalProperties: false },
);

const SqlResult = named('SqlResult', {
  columns: Type.Array(Type.String()),
  rows: Type.Array(Type.Array(Type.Union([Type.String(), Type.Number(), Type.Null()])), {
    description: 'Values by column. Bytes are hex, and integers beyond 2^53 are texts.',
  }),
  cut: Type.Boolean({ description: 'Whether the result has more rows' }),
});

const SqlViews = named('SqlViews', {
  views: Type.Array(
    Type.Object({
      name: Type.String(),
      help: Type.String({ description: 'Meaning of a row' }),
      query: Type.String({ description: 'Example of a query' }),
      columns: Type.Array(
        Type.Object({
          name: Type.String(),
          type: Type.String({ description: 'Format of the values' }),
          help: Type.String(),
          indexed: Type.Boolean({ description: 'Whether an index finds rows by the value' }),
        }),
      ),
    }),
  ),
  queries: Type.Array(Type.Object({ title: Type.String(), query: Type.String() })),
});
type SqlViews = Static<typeof SqlViews>;

export interface QueryRequest {
  query: string;
  parameters: readonly Static<typeof Value>[];
  format: (typeof formats)[number];
  maxRows: number;
  /** Seconds after which it is cancelled. */
  timeout: number;
}

export interface Queries {
  /**
   * Runs a query to its end.
   * @param signal cancels it
   * @returns the body of the answer
   * @throws ApiError if the query is refused, fails, is cancelled or reaches a limit, or if too many queries are running
   */
  run(query: QueryRequest, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>>;
}

const TYPES: Readonly<Record<QueryRequest['format'], string>> = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

/** The views, without the forms of amounts for sums. */
const viewsAnswer = (): SqlViews => ({
  views: views.map(({ name, help, columns, indexed }) => ({
    name,
    help,
    query: someRows({ name }),
    columns: Object.entries(columns)
      .filter(([, { isDerived = false }]) => !isDerived)
      .map(([column, { type, help: meaning }]) => ({
        name: column,
        type,
        help: meaning,
        indexed: indexed.includes(column),
      })),
  })),
  queries: [...exampleQueries],
});

/** The routes of SQL. */
export function sqlRoutes(family: OperatorFamily<{ queries: Queries }>) {
  const path = '/stackside/v1/sql';
  return [
    route({
      ...family,
      path,
      operationId: 'getSqlViews',
      summary: 'Views that SQL can read',
      description:
        'Returns the views of the index with their columns, as docs/sql.md lists them. Requires the admin key.',
      response: SqlViews,
      handle: viewsAnswer,
    }),
    route({
      ...family,
      refusals: { ...family.refusals, 429: 'Too many requests with wrong keys came, or too many queries are running' },
      method: 'POST',
      path,
      operationId: 'runSql',
      summary: 'Query the index with SQL',
      description: `Runs one query that reads the views, as \`stackside sql\` does, in a separate process with low priority. The query ends when the client closes the connection. A result of more rows is cut in JSON, and refused in the other formats, as is an answer of more than ${SQL_LIMITS.bytes / 1e6} MB. Requires the admin key.`,
      body: SqlQuery,
      response: SqlResult,
      otherTypes: {
        'text/csv': 'The rows for `csv`',
        'application/x-ndjson': 'A JSON object in each line for `ndjson`',
        'application/vnd.apache.parquet': 'The rows for `parquet`',
      },
      async handle({ caller: { queries }, body, request: { signal } }) {
        const { query, parameters = [], format = 'json' } = body;
        const { max_rows: maxRows = DEFAULT_ROWS, timeout = SQL_LIMITS.seconds } = body;
        const bytes = await queries.run({ query, parameters, format, maxRows, timeout }, signal);
        return new Response(bytes, { headers: { 'content-type': TYPES[format] } });
      },
    }),
  ];
}
