/**
 * Waiting for entries of the shared log. Hosts tell each other of entries by PostgreSQL's notifications, which may be lost,
 * so that a host that waits also looks from time to time.
 */
import type { SQL } from 'bun';
import { type Clock, pause } from '../../base/clock.ts';
import type { EngineTables } from './engine-tables.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { LogUnavailableError } from './shared-log.ts';

/** Milliseconds between two looks: where notifications come, and where they don't, as behind some poolers. */
const LOOK_MS = { listening: 1_000, polling: 20 };

/** Milliseconds before whoever waits is sent to look at an engine that is away. */
const AWAY_MS = 250;

export interface NewEntriesOptions {
  clock: Clock;
  /** Whether to listen to notifications at all. */
  listens: boolean;
}

export class NewEntries {
  readonly #engine: PostgresEngine;
  readonly #tables: EngineTables;
  readonly #clock: Clock;
  readonly #listens: boolean;
  /** The client whose notifications arrive, once that has begun. */
  #listening: { sql: SQL; begun: Promise<unknown> } | null = null;
  /** Everybody who waits, each with the number after which entries matter. */
  readonly #waiting = new Set<{ after: number; wake: () => void }>();
  #isClosed = false;
  /** The newest entry to tell others of; null where nothing is left to tell. */
  #toTell: number | null = null;
  #isTelling = false;

  constructor(engine: PostgresEngine, tables: EngineTables, { clock, listens }: NewEntriesOptions) {
    this.#engine = engine;
    this.#tables = tables;
    this.#clock = clock;
    this.#listens = listens;
  }

  /** See {@link SharedLog.wait}. */
  async wait(after: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const waiter = { after, wake: () => woken.abort() };
    this.#waiting.add(waiter);
    const early = AbortSignal.any([signal, woken.signal]);
    try {
      while (!early.aborted && !this.#isClosed) {
        const isListening = await this.#listen();
        if ((await this.#newest()) > after) return;
        await pause(this.#clock, isListening ? LOOK_MS.listening : LOOK_MS.polling, early);
      }
    } catch (error) {
      if (!(error instanceof LogUnavailableError)) throw error;
      if (!this.#isClosed) await pause(this.#clock, AWAY_MS, early);
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  /** Tells this host and others of an entry. Nobody waits for it. */
  announce(seq: number): void {
    this.#heard(seq);
    this.#toTell = seq;
    if (this.#listens && !this.#isTelling) void this.#tell();
  }

  /** Lets go whoever waits. */
  close(): void {
    this.#isClosed = true;
    for (const { wake } of this.#waiting) wake();
  }

  #heard(seq: number): void {
    for (const { after, wake } of this.#waiting) if (seq > after) wake();
  }

  async #newest(): Promise<number> {
    const [row] = await this.#engine.read((run) =>
      run<{ seq: string | null }>(`SELECT max(seq) AS seq FROM ${this.#tables.log}`),
    );
    return Number(row?.seq ?? 0);
  }

  /** @returns whether notifications arrive @throws LogUnavailableError */
  async #listen(): Promise<boolean> {
    if (!this.#listens) return false;
    const { sql } = await this.#engine.writable();
    if (this.#listening?.sql !== sql) {
      const heard = (seq: string) => this.#heard(Number(seq));
      this.#listening = { sql, begun: this.#engine.read(() => sql.listen(this.#tables.log, heard)) };
    }
    const listening = this.#listening;
    try {
      await listening.begun;
      return true;
    } catch (error) {
      if (this.#listening === listening) this.#listening = null;
      throw error;
    }
  }

  async #tell(): Promise<void> {
    this.#isTelling = true;
    try {
      for (let seq = this.#toTell; seq !== null; seq = this.#toTell) {
        this.#toTell = null;
        const told = [this.#tables.log, `${seq}`];
        await this.#engine.read((run) => run('SELECT pg_notify($1, $2)', told));
      }
    } catch (error) {
      // Hosts look for entries, too.
      if (!(error instanceof LogUnavailableError)) throw error;
    } finally {
      this.#isTelling = false;
    }
  }
}
