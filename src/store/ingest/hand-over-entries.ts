/** The entries by which the chainhooks of a single host go into a log. */

import type { Database } from 'bun:sqlite';
import type { Chance } from '../../base/chance.ts';
import { parsedJson } from '../../base/json-text.ts';
import { type JournalEntry, nextChain } from '../files/journal-entry.ts';
import type { Place } from '../files/journal-link.ts';
import { COMMAND_PATH } from './entry-commands.ts';
import { HAND_OVER, handOverCommands } from './hand-over.ts';

interface HandOver {
  /** The index of the host. */
  db: Database;
  /** The newest entry of the log. */
  head: Place;
  /** Unix microseconds of the entries. */
  receivedAt: number;
  chance: Pick<Chance, 'uuid'>;
}

/** Makes the entries that follow the head. */
export function* handOverEntries({ db, head, receivedAt, chance }: HandOver): Generator<JournalEntry> {
  let { id, chain } = head;
  for (const command of handOverCommands(db)) {
    const text = JSON.stringify({ uuid: chance.uuid(), ...command });
    const entry = { id: id + 1, receivedAt, path: COMMAND_PATH, text };
    id = entry.id;
    chain = nextChain(chain, entry);
    yield { ...entry, chain };
  }
}

/** Whether an entry is the first by which a host's chainhooks went into a log. */
export const beginsHandOver = ({ path, text }: Pick<JournalEntry, 'path' | 'text'>): boolean =>
  path === COMMAND_PATH && (parsedJson(text) as { type?: unknown } | null | undefined)?.type === HAND_OVER;
