/**
 * Appends of this process that were cut off. A session that ends while it waits for standbys leaves its entry in the table,
 * though only the disk of the primary has it: whoever reads it then must not take it for durable. Commits reach the standbys
 * in their order, so that a later one which was waited for shows that the entry is there as well.
 */
import type { EngineTables } from './engine-tables.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { LogUnavailableError, LogUnknownOutcomeError } from './shared-log.ts';

interface Access {
  engine: PostgresEngine;
  tables: EngineTables;
}

export class CutOffAppends {
  readonly #access: Access;
  /** Numbers of entries of which nobody knows what became of them. */
  #numbers: number[] = [];

  constructor(access: Access) {
    this.#access = access;
  }

  /** Remembers an append whose outcome is unknown. @param last the last entry that was to be appended */
  async noting<T>(last: number, appending: Promise<T>): Promise<T> {
    try {
      return await appending;
    } catch (error) {
      if (error instanceof LogUnknownOutcomeError) this.#numbers.push(last);
      throw error;
    }
  }

  /**
   * Resolves once all that was read is durable.
   * @param newest the newest entry that was read @throws LogUnavailableError where nobody knows
   */
  async settle(newest: number): Promise<void> {
    if (!this.#numbers.some((number) => number <= newest)) return;
    const { engine, tables } = this.#access;
    try {
      await engine.write(({ run }) => run(`UPDATE ${tables.meta} SET format = format`));
    } catch (cause) {
      if (!(cause instanceof LogUnknownOutcomeError)) throw cause;
      throw new LogUnavailableError(`whether entry ${newest} is on a second disk is not known: ${cause.message}`, {
        cause,
      });
    }
    this.#numbers = this.#numbers.filter((number) => number > newest);
  }
}
