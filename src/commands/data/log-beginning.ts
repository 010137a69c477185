/**
 * The log that a directory has before an import. An import continues the log only if the recording starts with the log's
 * entries, compared by path and text. Otherwise the directory would mix two histories.
 */
import { hash } from 'bun';
import { isRecordedPath, readPayload } from '../../chain/payload-reader.ts';
import type { ReceivedEvent } from '../../store/ingest/event.ts';
import type { HostEntries } from '../../store/ingest/ingest.ts';
import type { Entry } from '../../store/log/entry.ts';

/** Number of newest rows that a row may repeat: several nodes may post an event, each of them twice. */
const LOOK_BACK = 1_000;

/** Reads the entries that a recording must begin with. Commands and withheld entries aren't among them: recordings lack those. */
export class LogBeginning {
  readonly #log: Pick<HostEntries, 'after' | 'pathsAfter'>;
  readonly #entries: IteratorObject<Entry, undefined>;
  #next: Entry | null;
  /** Number of the last entry that a row was equal to. */
  #lastMatch: number;
  #isCompared = false;
  /** Hashes of the newest rows, oldest first. */
  readonly #rows = new Set<bigint>();

  /**
   * @param lastMatch number of the last entry that is already found in the recording
   * @param last number of the log's last entry before the import
   */
  constructor(
    log: Pick<HostEntries, 'after' | 'pathsAfter'>,
    lastMatch: number,
    readonly last: number,
  ) {
    this.#log = log;
    this.#lastMatch = lastMatch;
    this.#entries = log.after(lastMatch).filter(({ path }) => isRecordedPath(path));
    this.#next = this.#readNext();
  }

  /** The entry that must be the recording's next event; null if the recording has all of them. */
  get next(): Entry | null {
    return this.#next;
  }

  /** Number of the last entry up to which the recording has all entries. */
  get lastMatch(): number {
    return this.#next === null ? this.last : this.#lastMatch;
  }

  /** Whether an event was compared with an entry. */
  get isCompared(): boolean {
    return this.#isCompared;
  }

  /** The number of entries that must be the recording's next events. */
  left(): number {
    if (this.#next === null) return 0;
    return this.#log
      .pathsAfter(this.#lastMatch)
      .reduce((sum, { path, entries }) => sum + (isRecordedPath(path) ? entries : 0), 0);
  }

  /**
   * Accepts the recording's next event.
   * @returns whether the event is the next entry, or one that an import leaves out: no log has it, or it repeats a row
   * @throws PayloadError if it is another event that can't be read
   */
  accepts(event: ReceivedEvent): boolean {
    const { path, text } = event;
    const row = hash.wyhash(text, hash.wyhash(path));
    const next = this.#next;
    this.#isCompared = true;
    if (next !== null && path === next.path && text === next.text) {
      this.#lastMatch = next.id;
      this.#next = this.#readNext();
    } else if (!this.#rows.has(row)) {
      const payload = readPayload(path, text);
      return payload.kind === 'other' && !payload.journaled;
    }
    this.#remember(row);
    return true;
  }

  #readNext(): Entry | null {
    const { done, value } = this.#entries.next();
    return done === true || value.id > this.last ? null : value;
  }

  #remember(row: bigint): void {
    this.#rows.delete(row);
    this.#rows.add(row);
    const [oldest] = this.#rows;
    if (oldest !== undefined && this.#rows.size > LOOK_BACK) this.#rows.delete(oldest);
  }
}
