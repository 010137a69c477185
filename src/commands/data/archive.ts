/** `stackside archive …`, `stackside backup` and `stackside restore`. */

import { join } from 'node:path';
import {
  faultIn,
  findEnd,
  type Identity,
  listContents,
  readSealedSegment,
  type VerifiedObject,
  verifySegments,
} from '../../archive/archive.ts';
import { type Backup, backUp } from '../../archive/backup.ts';
import { listBases, readNewestBase, verifyBases } from '../../archive/base.ts';
import {
  archiveLocation,
  filesAt,
  isWeb,
  openArchive,
  openPatiently,
  type Trust,
  UNSIGNED,
} from '../../archive/open.ts';
import { type ArchiveRestoreOptions, restoreArchive, timeText, type Until } from '../../archive/restore.ts';
import { segmentName } from '../../archive/segment.ts';
import { ARCHIVE_KEY, loadOrCreateSigner } from '../../archive/signing.ts';
import { systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { isPresent } from '../../base/files.ts';
import { bytes, plural } from '../../base/format.ts';
import { chainWords } from '../../chain/network.ts';
import { ADMIN_KEY } from '../../hooks/access/keys.ts';
import { SECRETS_KEY } from '../../hooks/delivery/sealing.ts';
import { silentMachine } from '../../hooks/machine.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { objectStoreAt } from '../../storage/location.ts';
import type { ObjectStoreReads } from '../../storage/object-store.ts';
import { interruptible, printLines } from '../cli/output.ts';
import { etaText, progressLines, secondaryIndexReport } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import { commandLog } from './command-log.ts';

const lackText = (name: string, entry: number): string =>
  `${name} is missing or differs from the signed list, so the last entries up to ${entry} are missing`;

const lacksOpenPart = (name: string, entry: number): void =>
  void process.stderr.write(`${lackText(name, entry)}. They may arrive later.\n`);

/** Opens an archive. Prints a line on stderr while it does not answer. */
function openWithNotice(locationText: string, open: () => Promise<ObjectStoreReads>) {
  const { location } = filesAt(locationText, null, systemClock);
  const late = (reason: string): void => void process.stderr.write(`${reason}. Still waiting.\n`);
  return openPatiently({ location, clock: systemClock, late }, open);
}

interface ShownArchive {
  store: ObjectStoreReads;
  identity: Identity;
  /** The archive's objects as they are listed, even if a signed list names them; null for a URL, which lists nothing. */
  files: ObjectStoreReads | null;
  /** Fault of the open part that a signed list names, once it was read; null if there is none. */
  openFault: () => string | null;
}

/**
 * Opens an archive to show it. This needs no key, but without a key, the shown content may be wrong.
 * @throws OperatorError if there is no archive
 */
async function archiveAt({ archivePublicKey, archiveUnsigned }: Trust, locationText: string): Promise<ShownArchive> {
  const location = archiveLocation(locationText);
  const isSigned = archivePublicKey !== null || isWeb(location);
  const trust = { archivePublicKey, archiveUnsigned };
  const files = isWeb(location) ? null : objectStoreAt(location, null);
  let openFault: string | null = null;
  const lacks = (name: string, entry: number): void => {
    openFault = lackText(name, entry);
  };
  const opened = await openWithNotice(location, async () =>
    files !== null && !isSigned
      ? files
      : await openArchive({ location, directory: null, trust, clock: systemClock, lacks }),
  );
  return { ...opened, files, openFault: () => openFault };
}

/** Returns the fault of the first sealed segment that the list of an archive names but its storage lacks; null if there is none. */
async function findMissingSegment({ store, files }: ShownArchive): Promise<string | null> {
  if (files === null || files === store) return null;
  // Segments are never removed, so list the storage last.
  const named = (await listContents(store)).segments.map(segmentName);
  const stored = new Set((await listContents(files)).segments.map(segmentName));
  const missing = named.find((name) => !stored.has(name));
  return missing === undefined ? null : `${missing} is missing`;
}

async function endReport(archive: ShownArchive) {
  const { store, openFault } = archive;
  const { segments, open, linked, last: sealed, fault: faultOfList, part } = await findEnd(store);
  const newest = linked.at(-1);
  const end =
    part ??
    (newest === undefined ? null : await readSealedSegment(store, newest.range, newest.previous).catch(faultIn));
  const faultOfEnd = typeof end === 'string' ? end : null;
  const fault = faultOfList ?? (await findMissingSegment(archive)) ?? faultOfEnd ?? openFault();
  const last = typeof end === 'string' ? undefined : end?.entries.at(-1);
  const json = {
    segments: segments.length,
    sealed_entry: sealed.id,
    open_parts: open,
    last_entry: last?.id ?? 0,
    last_chain: last?.chain.toHex() ?? null,
    last_received_at: last === undefined ? null : timeText(last.receivedAt),
    fault,
  };
  const lines = [
    `sealed      ${plural(segments.length, 'segment')}, entries up to ${sealed.id}`,
    `open        ${part === null ? 'nothing after them' : `${part.name}, entries ${part.first} to ${part.last}`}`,
    last === undefined ? 'last entry  none' : `last entry  ${last.id}, received ${timeText(last.receivedAt)}`,
    ...(fault === null ? [] : [`fault       ${fault}`]),
  ];
  return { json, lines };
}

/** Prints where an archive ends. @returns whether it has no gap and the objects at its end are sound */
export async function reportArchive(trust: Trust, location: string, json: boolean): Promise<boolean> {
  const archive = await archiveAt(trust, location);
  const { store, identity } = archive;
  const chain = chainWords(identity.chain_id);
  const end = await endReport(archive);
  const bases = await listBases(store);
  const base = await readNewestBase(store);
  if (json) {
    const summary = {
      location: store.location,
      chain,
      log_identity: identity.identity,
      bases: bases.length,
      base_entry: base?.position ?? null,
      base_height: base?.height ?? null,
      base_made_at: base?.created_at ?? null,
      ...end.json,
    };
    process.stdout.write(`${JSON.stringify(summary)}\n`);
  } else {
    const lines = [
      `archive     ${store.location}`,
      `chain       ${chain}`,
      `log         ${identity.identity}`,
      base === null
        ? `base        ${bases.length === 0 ? 'none' : 'none that is undamaged'}; a restore begins with entry 1`
        : `base        entry ${base.position}, height ${base.height}, made ${base.created_at}; ${bases.length} in all`,
      ...end.lines,
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  }
  return end.json.fault === null;
}

/** Lists the objects of an archive with their entries. */
export async function listArchive(trust: Trust, location: string, json: boolean): Promise<void> {
  const { store } = await archiveAt(trust, location);
  const { segments, open } = await listContents(store);
  const rows: { name: string; first: number | null; last: number | null }[] = [
    ...segments.map((range) => ({ name: segmentName(range), first: range.first, last: range.last })),
    ...open.map((name) => ({ name, first: null, last: null })),
  ];
  for (const { name, id } of (await listBases(store)).reverse()) rows.push({ name, first: id, last: id });
  const line = (row: (typeof rows)[number]): string => (json ? JSON.stringify(row) : row.name);
  await printLines(rows.map(line));
}

async function* verifiedObjects({ store, openFault }: ShownArchive): AsyncGenerator<VerifiedObject> {
  yield* verifySegments(store);
  const fault = openFault();
  if (fault !== null) yield { name: '', first: 0, last: 0, fault };
  yield* verifyBases(store);
}

/** Reads and verifies every object of an archive. @returns whether nothing is wrong */
export async function verifyArchive(trust: Trust, location: string, json: boolean): Promise<boolean> {
  const archive = await archiveAt(trust, location);
  const { store } = archive;
  const progress = progressLines(process.stderr);
  let [sound, isSound] = [0, true];
  for await (const object of verifiedObjects(archive)) {
    const { name, fault, last } = object;
    if (json) process.stdout.write(`${JSON.stringify(object)}\n`);
    if (fault === null) {
      sound += 1;
      progress.draw(() => `${store.location}: verified up to entry ${last}, ${name}`);
      continue;
    }
    isSound = false;
    progress.erase();
    if (!json) process.stdout.write(`DIFFERS ${fault}\n`);
  }
  progress.done();
  if (!json)
    process.stdout.write(
      `${store.location}: ${plural(sound, 'object')} ${sound === 1 ? 'is' : 'are'} sound${isSound ? '' : ', others are not'}\n`,
    );
  return isSound;
}

/** Options of a restore: its end, and how it starts. */
export interface ArchiveChoice extends Pick<ArchiveRestoreOptions, 'base'> {
  until: Until;
}

const identityText = (store: ObjectStoreReads, last: number, identity: string | null): string =>
  `Entry ${last} gives the log a new identity, ${identity}: archive it to another location than ${store.location}. Chainhooks are paused ` +
  'until stackside hooks enable --paused.\n';

/** Restores an archive into a data directory, or continues an interrupted restore. @returns the text to print */
async function restoreFromArchive(
  settings: SettingsOf<'restore'>,
  store: ObjectStoreReads,
  choice: ArchiveChoice,
): Promise<string> {
  const { data: directory, network: chainId } = settings;
  using lines = progressLines(process.stderr);
  const { tip, position, identity } = await interruptible(
    () => {},
    () =>
      restoreArchive({
        directory,
        store,
        chainId,
        machine: silentMachine,
        ...choice,
        skipped(name, reason) {
          lines.erase();
          process.stderr.write(`${name} is skipped: ${reason}.\n`);
        },
        loading: ({ name, entry, position, part, parts }) =>
          lines.draw(() =>
            parts === 0
              ? `${name}: the journal has entry ${entry} of ${position}`
              : `${name}: part ${part} of ${parts}`,
          ),
        log: commandLog('error'),
        report: ({ entry, from, last, height }) =>
          lines.draw((seconds) => {
            const rate = Math.round((entry - from) / seconds);
            const eta = etaText(seconds, entry - from, last - entry);
            return `${store.location}: entry ${entry} of ${last}, ${rate} entries/s, height ${height}${eta}`;
          }),
        making: secondaryIndexReport(lines).making,
        clock: systemClock,
      }),
  );
  const text = `${directory}: height ${tip?.height ?? 0}, entry ${position.id}\n`;
  return choice.until === null ? text : text + identityText(store, position.id, identity);
}

/**
 * Prints the public key of a data directory, which readers of its public archive give.
 * @throws OperatorError if there is no such directory
 */
export function printArchiveKey(directory: string, json: boolean): void {
  if (!isPresent(directory)) {
    throw new OperatorError(`No data directory found at ${directory}.`, 'Check --data, or create the directory first.');
  }
  const path = join(directory, ARCHIVE_KEY);
  const isNew = !isPresent(path);
  const { publicKey } = loadOrCreateSigner(directory);
  if (isNew) process.stderr.write(`Created ${path}.\n`);
  process.stdout.write(`${json ? JSON.stringify({ public_key: publicKey }) : publicKey}\n`);
}

/** Files that no archive holds, so that an archive allows neither signing deliveries nor managing hooks. */
const KEYS = [ADMIN_KEY, SECRETS_KEY];

const privateKeysText = (directory: string): string =>
  `Archives contain no keys: put ${KEYS.join(' and ')} of the old server into ${directory} before its first start. ` +
  `Without ${SECRETS_KEY}, deliveries that need a signature wait until each consumer creates a new secret.\n`;

/** A public archive has no chainhooks, so only its owner needs a key. */
const publicKeysText = (directory: string): string =>
  `If this archive is yours, put ${ARCHIVE_KEY} of the old server into ${directory} to continue it.\n`;

const backupText = (location: string, { entry, base, sent }: Backup): string =>
  `${location}: entry ${entry}; base of height ${base.height}, entry ${base.entry}; ${bytes(sent)} sent\n`;

/** Brings an archive up to date with a data directory. @param isPublic whether to omit chainhooks and faucet requests */
export async function runBackup(
  settings: SettingsOf<'backup'>,
  locationText: string,
  isPublic: boolean,
): Promise<void> {
  const { data: directory, archiveKeep: keepDays } = settings;
  const location = archiveLocation(locationText);
  const progress = progressLines(process.stderr);
  const store = objectStoreAt(location, directory, isPublic);
  const signer = isPublic ? loadOrCreateSigner(directory) : null;
  const backup = await interruptible(
    () => {},
    () =>
      backUp({
        directory,
        store,
        signer,
        program: serverVersion,
        clock: systemClock,
        keepDays,
        archived: (entry, last) => progress.draw(() => `${store.location}: entry ${entry} of ${last}`),
        report: ({ table, number, total, sentBytes }) =>
          progress.draw(
            () => `${store.location}: base, table ${number} of ${total} (${table}), ${bytes(sentBytes)} sent`,
          ),
      }),
  );
  progress.done();
  process.stdout.write(backupText(store.location, backup));
  if (signer === null) {
    process.stdout.write(`Archives contain no keys: keep copies of ${KEYS.join(' and ')} of ${directory} elsewhere.\n`);
    return;
  }
  process.stdout.write(
    `It is signed for --archive-public-key ${signer.publicKey}. Keep ${ARCHIVE_KEY} of ${directory} elsewhere.\n`,
  );
}

/** Restores an archive into a data directory, or continues an interrupted restore. */
export async function runRestore(
  settings: SettingsOf<'restore'>,
  location: string,
  choice: ArchiveChoice = { until: null },
): Promise<void> {
  const { data: directory, archiveUnsigned } = settings;
  if (archiveUnsigned) process.stderr.write(`${UNSIGNED}\n`);
  const { store, identity } = await openWithNotice(location, () =>
    openArchive({ location, directory, trust: settings, clock: systemClock, lacks: lacksOpenPart }),
  );
  process.stdout.write(await restoreFromArchive(settings, store, choice));
  process.stdout.write(identity.public === true ? publicKeysText(directory) : privateKeysText(directory));
}
