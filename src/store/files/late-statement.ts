/** Statements that are compiled when they are used first. */
import type { SQLQueryBindings, Statement } from 'bun:sqlite';

/** What the store does with a statement. */
type Used = Pick<Statement, 'get' | 'all' | 'values' | 'run' | 'iterate' | 'finalize'>;

/**
 * A statement that SQLite compiles for its first use. A process that starts names hundreds of statements, and uses few of
 * them before it is ready.
 */
class LateStatement implements Used {
  #compiled: Statement | null = null;
  readonly #compile: () => Statement;

  constructor(compile: () => Statement) {
    this.#compile = compile;
  }

  get #statement(): Statement {
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }

  get(...values: Parameters<Statement['get']>) {
    return this.#statement.get(...values);
  }
  all(...values: Parameters<Statement['all']>) {
    return this.#statement.all(...values);
  }
  values(...values: Parameters<Statement['values']>) {
    return this.#statement.values(...values);
  }
  run(...values: Parameters<Statement['run']>) {
    return this.#statement.run(...values);
  }
  iterate(...values: Parameters<Statement['iterate']>) {
    return this.#statement.iterate(...values);
  }
  finalize() {
    this.#compiled?.finalize();
  }
}

/**
 * Names a statement of a connection.
 * @param compile compiles it; called once, when the statement is used
 * @returns the statement, of whose methods those of `Used` are there
 */
export const late = <Row, Values extends SQLQueryBindings[]>(
  compile: () => Statement<Row, Values>,
): Statement<Row, Values> => new LateStatement(compile as () => Statement) as unknown as Statement<Row, Values>;
