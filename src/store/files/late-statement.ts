/** Statements that are compiled when they are used first. */
import type { SQLQueryBindings, Statement } from 'bun:sqlite';

/** What the store does with a statement. */
type Used = Pick<Statement, 'get' | 'all' | 'values' | 'run' | 'iterate' | 'finalize'>;

/** Is told what is iterated: of all that is done with statements, only this can leave one in the middle of its rows. */
type Iterated = (statement: object, rows: ReturnType<Statement['iterate']>) => void;

/**
 * A statement that SQLite compiles for its first use. A process that starts names hundreds of statements, and uses few of
 * them before it is ready.
 */
class LateStatement implements Used {
  #compiled: Statement | null = null;
  readonly #compile: () => Statement;
  readonly #iterated: Iterated;

  constructor(compile: () => Statement, iterated: Iterated) {
    this.#compile = compile;
    this.#iterated = iterated;
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
    const rows = this.#statement.iterate(...values);
    this.#iterated(this, rows);
    return rows;
  }
  finalize() {
    this.#compiled?.finalize();
  }
}

/**
 * Names a statement of a connection.
 * @param compile compiles it; called once, when the statement is used
 * @param iterated is told each time the statement is iterated
 * @returns the statement, of whose methods those of `Used` are there
 */
export const late = <Row, Values extends SQLQueryBindings[]>(
  compile: () => Statement<Row, Values>,
  iterated: Iterated,
): Statement<Row, Values> =>
  new LateStatement(compile as () => Statement, iterated) as unknown as Statement<Row, Values>;
