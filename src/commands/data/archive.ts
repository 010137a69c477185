/** `stackside archive …`: what an archive has; and `stackside restore` of an archive. */
import {
  chainOfIdentity,
  contentsOf,
  endOf,
  requireIdentity,
  sealedSegment,
  timelinesIn,
  type Verified,
  verifiedArchive,
} from '../../archive/archive.ts';
import { basesOf, newestBase } from '../../archive/base.ts';
import { verifiedBases } from '../../archive/base-verify.ts';
import { madeSigner } from '../../archive/key-file.ts';
import { archiveLocation, isWeb, openArchive, type Trust } from '../../archive/open.ts';
import { type ArchiveRestoreOptions, restoreArchive, type Until } from '../../archive/restore.ts';
import { segmentName } from '../../archive/segment.ts';
import { originName, type Timeline, timelineName } from '../../archive/timeline.ts';
import { systemClock } from '../../base/clock.ts';
import { silentMachine } from '../../hooks/machine.ts';
import { createLog } from '../../log.ts';
import type { PlaceReads } from '../../places/files.ts';
import { placeAt } from '../../places/place.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { dataStateOf } from '../../store/files/data-state.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import { leaveIn } from '../../store/ingest/timelines.ts';
import type { OutputFormat } from '../cli/command.ts';
import { interruptible, printLines } from '../cli/output.ts';
import { duration, progressLines, secondaryIndexReport } from '../cli/progress.ts';

/** What is printed where the open part is missing behind the head that was signed. */
export const lacksOpenPart = (name: string, entry: number): void =>
  void process.stderr.write(
    `${name} is not there as it was signed, so that the last entries up to ${entry} are missing; they may arrive later.\n`,
  );

/** Opens an archive to look at it, which needs no key: what is shown of it may be wrong then. @throws OperatorError where there is none */
async function archiveAt(
  { archiveKey, archiveUnsigned }: Trust,
  given: string,
): Promise<{ place: PlaceReads; chain: string }> {
  const location = archiveLocation(given);
  const isSigned = archiveKey !== null || isWeb(location);
  const trust = { archiveKey, archiveUnsigned };
  const place = isSigned
    ? await openArchive({ location, directory: null, trust, clock: systemClock, lacks: lacksOpenPart })
    : placeAt(location, null);
  return { place, chain: chainOfIdentity(await requireIdentity(place)) };
}

/** Microseconds in a millisecond. */
const MILLISECOND = 1_000;
const timeText = (receivedAt: number): string => new Date(receivedAt / MILLISECOND).toISOString();

/** Where a timeline begins and ends: for JSON, and in lines. */
async function timelineReport(place: PlaceReads, timeline: Timeline) {
  const { segments, open, linked, last: sealed, fault, part } = await endOf(place, timeline);
  const { name, origin } = timeline;
  const newest = linked.at(-1);
  const end = part ?? (newest === undefined ? null : await sealedSegment(place, newest.range, newest.after, timeline));
  const last = end?.entries.at(-1);
  const left = origin === null ? null : { parent: origin.parent, after: origin.left.id, at: timeText(origin.beganAt) };
  const json = {
    name,
    leaves: left?.parent ?? null,
    leaves_after_entry: left?.after ?? null,
    began_at: left?.at ?? null,
    segments: segments.length,
    sealed_entry: sealed.id,
    open_parts: open,
    last_entry: last?.id ?? 0,
    last_chain: last?.chain.toHex() ?? null,
    last_received_at: last === undefined ? null : timeText(last.receivedAt),
    fault,
  };
  const lines = [
    `timeline    ${name}${left === null ? '' : `, which left ${left.parent} after entry ${left.after}, ${left.at}`}`,
    `sealed      ${segments.length} segments, entries up to ${sealed.id}`,
    `open        ${part === null ? 'nothing after them' : `${part.name}, entries ${part.first} to ${part.last}`}`,
    last === undefined ? 'last entry  none' : `last entry  ${last.id}, received ${timeText(last.receivedAt)}`,
    ...(fault === null ? [] : [`fault       ${fault}`]),
  ];
  return { json, lines };
}

/** Shows where the timelines of an archive end. @returns whether all can be read, and their segments follow each other */
export async function reportArchive(trust: Trust, location: string, format: OutputFormat): Promise<boolean> {
  const { place, chain } = await archiveAt(trust, location);
  const { timelines, faults } = await timelinesIn(place);
  const reports = [];
  for (const timeline of timelines) reports.push(await timelineReport(place, timeline));
  const unread = faults.map(({ fault }) => fault);
  const bases = await basesOf(place);
  const base = await newestBase(place);
  if (format === 'json') {
    const about = {
      location: place.location,
      chain,
      bases: bases.length,
      base_entry: base?.position ?? null,
      base_height: base?.height ?? null,
      base_made_at: base?.created_at ?? null,
      timelines: reports.map(({ json }) => json),
      faults: unread,
    };
    process.stdout.write(`${JSON.stringify(about)}\n`);
  } else {
    const lines = [
      [
        `archive     ${place.location}`,
        `chain       ${chain}`,
        base === null
          ? `base        ${bases.length === 0 ? 'none' : 'none that is sound'}; a restore begins with entry 1`
          : `base        entry ${base.position}, height ${base.height}, made ${base.created_at}; ${bases.length} in all`,
        ...unread.map((fault) => `fault       ${fault}`),
      ],
      ...reports.map((report) => report.lines),
    ];
    process.stdout.write(lines.map((some) => `${some.join('\n')}\n`).join(timelines.length > 1 ? '\n' : ''));
  }
  return unread.length === 0 && reports.every(({ json }) => json.fault === null);
}

/** Lists the objects of an archive with their entries. */
export async function listArchive(trust: Trust, location: string, format: OutputFormat): Promise<void> {
  const { place } = await archiveAt(trust, location);
  const { timelines } = await timelinesIn(place);
  const rows: { name: string; timeline: string | null; first: number | null; last: number | null }[] = [];
  for (const timeline of timelines) {
    const { name: of, origin } = timeline;
    const { segments, open } = await contentsOf(place, timeline);
    if (origin !== null)
      rows.push({ name: originName(of), timeline: of, first: origin.begins.id, last: origin.begins.id });
    for (const range of segments) {
      if (range.timeline !== of) continue;
      rows.push({ name: segmentName(range), timeline: of, first: range.first, last: range.last });
    }
    for (const name of open) rows.push({ name, timeline: of, first: null, last: null });
  }
  // A base is of every timeline that has its entry.
  for (const { name, id } of (await basesOf(place)).reverse()) rows.push({ name, timeline: null, first: id, last: id });
  const line = (row: (typeof rows)[number]): string => (format === 'json' ? JSON.stringify(row) : row.name);
  await printLines(rows.map(line));
}

async function* verifiedObjects(place: PlaceReads): AsyncGenerator<Verified> {
  yield* verifiedArchive(place);
  yield* verifiedBases(place);
}

/** Reads and verifies every object of an archive. @returns whether nothing is wrong */
export async function verifyArchive(trust: Trust, location: string, format: OutputFormat): Promise<boolean> {
  const { place } = await archiveAt(trust, location);
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

/** What is restored of an archive: up to where, of which timeline, the newest one if null, and how it begins. */
export interface ArchiveChoice extends Pick<ArchiveRestoreOptions, 'base'> {
  until: Until;
  timeline: string | null;
}

/** What is said of a log whose last entry begins a timeline; nothing for any other. */
function timelineText(directory: string, last: number): string {
  const journal = openJournalReader(directory);
  const entry = journal.read(last);
  journal.close();
  if (entry === undefined || leaveIn(entry) === null) return '';
  return (
    `Entry ${last} begins the timeline ${timelineName(entry)}, which leaves the archive's after entry ${last - 1}. Chainhooks are ` +
    'paused until stackside hooks enable --paused.\n'
  );
}

/** Restores an archive into a data directory, or continues an interrupted restore. @returns what is printed */
export async function restoreFromArchive(
  settings: SettingsOf<'restore'>,
  place: PlaceReads,
  choice: ArchiveChoice,
): Promise<string> {
  const { data: directory, network: chainId } = settings;
  using lines = progressLines(process.stderr);
  await interruptible(
    () => {},
    () =>
      restoreArchive({
        ...{ directory, place, chainId, machine: silentMachine, ...choice },
        skipped(name, why) {
          lines.erase();
          process.stderr.write(`${name} is skipped: ${why}.\n`);
        },
        loading: ({ name, entry, position, part, parts }) =>
          lines.draw(() =>
            parts === 0
              ? `${name}: the journal has entry ${entry} of ${position}`
              : `${name}: part ${part} of ${parts}`,
          ),
        log: createLog('error'),
        report: ({ entry, from, last, height }) =>
          lines.draw((seconds) => {
            const rate = (entry - from) / seconds;
            const eta = duration((last - entry) / rate);
            return `${place.location}: entry ${entry} of ${last}, ${Math.round(rate)} entries/s, height ${height}, ETA ${eta}`;
          }),
        making: secondaryIndexReport(lines).making,
        turn: systemClock.turn,
        now: systemClock.now,
      }),
  );
  const { tip, position } = dataStateOf(directory);
  return `${directory}: height ${tip?.height ?? 0}, entry ${position.id}\n${timelineText(directory, position.id)}`;
}

/** Prints the public key of a data directory, which readers of its public archive give. */
export function printArchiveKey(directory: string, json: boolean): void {
  const { publicKey } = madeSigner(directory);
  process.stdout.write(`${json ? JSON.stringify({ public_key: publicKey }) : publicKey}\n`);
}
