/** `stackside archive …`: what an archive has; and `stackside restore` of an archive. */
import {
  chainOfIdentity,
  contentsOf,
  endOf,
  IDENTITY,
  requireIdentity,
  sealedSegment,
  type Verified,
  verifiedArchive,
} from '../../archive/archive.ts';
import { basesOf, newestBase } from '../../archive/base.ts';
import { verifiedBases } from '../../archive/base-verify.ts';
import { type ArchiveRestoreOptions, restoreArchive, type Until } from '../../archive/restore.ts';
import { segmentName } from '../../archive/segment.ts';
import type { Place } from '../../backup/manifest.ts';
import { placeAt, withoutName } from '../../backup/place.ts';
import { systemClock } from '../../base/clock.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sendManyIn } from '../../settings/data.ts';
import { dataStateOf } from '../../store/files/backup.ts';
import type { OutputFormat } from '../cli/command.ts';
import { interruptible, printLines } from '../cli/output.ts';
import { duration, progressLines, secondaryIndexReport } from '../cli/progress.ts';

/** The archive at a location, or at the location of its identity. @throws OperatorError where there is none */
async function archiveAt(location: string): Promise<{ place: Place; chain: string }> {
  const place = placeAt(withoutName(location, IDENTITY), null);
  return { place, chain: chainOfIdentity(await requireIdentity(place)) };
}

/** Microseconds in a millisecond. */
const MILLISECOND = 1_000;
const timeText = (receivedAt: number): string => new Date(receivedAt / MILLISECOND).toISOString();

/** Shows where an archive ends. @returns whether its segments follow each other */
export async function reportArchive(location: string, format: OutputFormat): Promise<boolean> {
  const { place, chain } = await archiveAt(location);
  const { segments, open, trimmed, linked, last: sealed, fault, part } = await endOf(place);
  const newest = linked.at(-1);
  const end = part ?? (newest === undefined ? null : await sealedSegment(place, newest.range, newest.after));
  const last = end?.entries.at(-1);
  const bases = await basesOf(place);
  const base = await newestBase(place);
  if (format === 'json') {
    process.stdout.write(
      `${JSON.stringify({
        location: place.location,
        chain,
        segments: segments.length,
        trimmed_to: trimmed.id,
        sealed_entry: sealed.id,
        open_parts: open,
        bases: bases.length,
        base_entry: base?.position ?? null,
        base_height: base?.height ?? null,
        base_made_at: base?.created_at ?? null,
        last_entry: last?.id ?? 0,
        last_chain: last?.chain.toHex() ?? null,
        last_received_at: last === undefined ? null : timeText(last.receivedAt),
        fault,
      })}\n`,
    );
    return fault === null;
  }
  process.stdout.write(
    [
      `archive     ${place.location}`,
      `chain       ${chain}`,
      `sealed      ${segments.length} segments, entries up to ${sealed.id}`,
      `open        ${part === null ? 'nothing after them' : `${part.name}, entries ${part.first} to ${part.last}`}`,
      base === null
        ? `base        ${bases.length === 0 ? 'none' : 'none that is sound'}; a restore begins with entry 1`
        : `base        entry ${base.position}, height ${base.height}, made ${base.created_at}; ${bases.length} in all`,
      last === undefined ? 'last entry  none' : `last entry  ${last.id}, received ${timeText(last.receivedAt)}`,
      ...(trimmed.id === 0
        ? []
        : [`removed     entries up to ${trimmed.id}: no index can be rebuilt from this archive`]),
      ...(fault === null ? [] : [`fault       ${fault}`]),
      '',
    ].join('\n'),
  );
  return fault === null;
}

/** Lists the objects of an archive with their entries. */
export async function listArchive(location: string, format: OutputFormat): Promise<void> {
  const { place } = await archiveAt(location);
  const { segments, open } = await contentsOf(place);
  const rows = [
    ...segments.map((range) => ({ name: segmentName(range), first: range.first, last: range.last })),
    ...open.map((name) => ({ name, first: null, last: null })),
    ...(await basesOf(place)).reverse().map(({ name, id }) => ({ name, first: id, last: id })),
  ];
  const line = (row: (typeof rows)[number]): string => (format === 'json' ? JSON.stringify(row) : row.name);
  await printLines(rows.map(line));
}

async function* verifiedObjects(place: Place): AsyncGenerator<Verified> {
  yield* verifiedArchive(place);
  yield* verifiedBases(place);
}

/** Reads and verifies every object of an archive. @returns whether nothing is wrong */
export async function verifyArchive(location: string, format: OutputFormat): Promise<boolean> {
  const { place } = await archiveAt(location);
  const progress = progressLines(process.stderr);
  let [sound, isSound] = [0, true];
  for await (const found of verifiedObjects(place)) {
    const { name, fault, last } = found;
    if (format === 'json') process.stdout.write(`${JSON.stringify(found)}\n`);
    if (fault === null) {
      sound += 1;
      progress.draw(() => `${place.location}: verified up to entry ${last}, ${name}`);
      continue;
    }
    isSound = false;
    progress.erase();
    if (format === 'text') process.stdout.write(`DIFFERS ${fault}\n`);
  }
  progress.done();
  if (format === 'text')
    process.stdout.write(`${place.location}: ${sound} objects are sound${isSound ? '' : ', others are not'}\n`);
  return isSound;
}

/** How the restore of an archive begins. */
export type RestoreBeginning = Pick<ArchiveRestoreOptions, 'base' | 'wholeJournal'>;

/** Restores an archive into a data directory, or continues an interrupted restore. @returns what is printed */
export async function restoreFromArchive(
  settings: SettingsOf<'restore'>,
  place: Place,
  until: Until,
  beginning: RestoreBeginning,
): Promise<string> {
  const { data: directory, chainId } = settings;
  const lines = progressLines(process.stderr);
  const indexes = secondaryIndexReport();
  await interruptible(
    () => {},
    () =>
      restoreArchive({
        ...{ directory, place, chainId, until, machine: silentMachine, sendMany: sendManyIn(settings), ...beginning },
        skipped(name, why) {
          lines.erase();
          process.stderr.write(`${name} is skipped: ${why}.\n`);
        },
        loading: ({ name, entry, position, part, parts }) =>
          lines.draw(() =>
            parts === 0
              ? `${name}: entry ${entry} of ${position} is in the journal`
              : `${name}: part ${part} of ${parts}`,
          ),
        log: createLog('error'),
        report: ({ entry, from, last, height }) =>
          lines.draw((seconds) => {
            const rate = (entry - from) / seconds;
            const eta = duration((last - entry) / rate);
            return `${place.location}: entry ${entry} of ${last}, ${Math.round(rate)} entries/s, height ${height}, ETA ${eta}`;
          }),
        making: indexes.making,
        turn: systemClock.turn,
      }),
  );
  lines.done();
  indexes.done();
  const { tip, position } = dataStateOf(directory);
  return `${directory}: height ${tip?.height ?? 0}, entry ${position.id}\n`;
}
