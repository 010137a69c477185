import type { Database, SQLQueryBindings } from 'bun:sqlite';

/**
 * A prepared query, compiled once.
 *
 * Where SQLite plans a query with a bare parameter in an `=` or a LIMIT, it looks at the value bound to it, and so
 * compiles the query anew whenever one is bound: up to ten times what the query itself costs. It doesn't look behind a
 * unary plus, which has no other effect.
 */
export const prepared = <Row, Values extends SQLQueryBindings[]>(db: Database, sql: string) =>
  db.prepare<Row, Values>(sql.replace(/\?\d+/g, '+$&'));
