/** The index made anew from the journal, beside the one that is there until the new one is whole. */

import { existsSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';
import { indexPath, journalPath } from '../files/database.ts';
import { renewEarlierJournal } from '../files/earlier-journal.ts';
import { type JournalReads, openJournal } from '../files/journal.ts';
import { fitOf, placeOfFile } from '../files/journal-link.ts';
import type { ListIndexStep } from '../files/list-indexes.ts';
import { lockWriter } from '../files/lock.ts';
import { snapshotHolding } from '../files/newest-snapshot.ts';
import { clearWorkshop, openWorkshop, takeWorkshopsIndex } from '../files/workshop.ts';
import { hooksLostWith, type LostHook } from '../hooks/earlier-hooks.ts';
import type { Head } from '../log/entry.ts';
import { type IngestOptions, openIngest } from './ingest.ts';

/** @throws OperatorError where the journal is not the whole of what happened */
function requireWholeJournal(directory: string, journal: JournalReads): void {
  const [gap] = journal.gaps();
  if (gap === undefined) return;
  const snapshot = snapshotHolding(directory, gap);
  throw new OperatorError(
    `The journal in ${directory} lacks the events from ${gap.first} to ${gap.last}: the index can't be built from it.`,
    snapshot === null
      ? 'Restore a journal that has these events, or import a recording of the chain into another directory.'
      : `Restore the snapshot at ${snapshot.location} into another directory, and bring it the events that follow: stackside import --from ${directory}`,
  );
}

/** What the present index holds that a new one would not, in words; null where nothing. */
function wouldBeLost(place: Head, journal: JournalReads): string | null {
  switch (fitOf(place, journal)) {
    case 'fits':
      return null;
    case 'behind':
      return `The index holds ${place.id} events and its journal ${journal.lastId()}: the others would be lost.`;
    case 'other':
      return `The journal is not that of the index: event ${place.id} is another in each.`;
  }
}

function requireNothingLost(directory: string, journal: JournalReads): void {
  const path = indexPath(directory);
  const place = existsSync(path) ? placeOfFile(path) : null;
  const lost = place === null ? null : wouldBeLost(place, journal);
  if (lost !== null) throw new OperatorError(lost, 'Add --force to rebuild from the journal all the same.');
}

export interface RebuildOptions extends Omit<IngestOptions, 'workshop'> {
  /** Whether data that the journal lacks may be lost. */
  force: boolean;
  /** Told of each index of lists before it is made. */
  making?: (step: ListIndexStep) => void;
  /** Told of the chainhooks that stand in an old index alone, before it goes. */
  lost?: (hooks: readonly LostHook[]) => void;
}

/** Replays the journal into the index of a workshop. @returns the height of its tip */
function makeIndex({ making = () => {}, ...options }: RebuildOptions, workshop: string): number {
  const ingest = openIngest({ ...options, load: 'bulk', workshop });
  try {
    for (const step of ingest.listIndexSteps()) making(step);
    return ingest.tipHeight();
  } finally {
    ingest.close();
  }
}

/**
 * Replays the journal into a new index, and puts it in the place of the old one. Where it fails or is stopped, the old index
 * is as it was.
 * @throws OperatorError where the journal is not whole, or the index holds what it lacks, unless that may be lost
 */
export function rebuildIndex(options: RebuildOptions): { tipHeight: number } {
  const { directory, force } = options;
  if (!existsSync(journalPath(directory))) {
    throw new OperatorError(
      `There is no journal in ${directory} to rebuild the index from.`,
      'Import a recording of the chain, or let a node that starts from an empty chainstate send its events.',
    );
  }
  const unlock = lockWriter(directory);
  try {
    renewEarlierJournal(directory, (entries) => options.log({ event: 'journal_upgraded', entries }), options.connect);
    const journal = openJournal(directory);
    try {
      requireWholeJournal(directory, journal);
      if (!force) requireNothingLost(directory, journal);
    } finally {
      journal.close();
    }
    const workshop = openWorkshop(directory, force);
    const tipHeight = makeIndex(options, workshop);
    // Before the old index goes: whoever is told of them must not miss them.
    const lost = hooksLostWith(directory, workshop, force);
    if (lost.length > 0) options.lost?.(lost);
    takeWorkshopsIndex(directory);
    return { tipHeight };
  } finally {
    clearWorkshop(directory);
    unlock();
  }
}
