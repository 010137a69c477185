/** `stackside backup` and `stackside restore`: backups of a data directory. */
import { join } from 'node:path';
import { IDENTITY, identityIn } from '../../archive/archive.ts';
import { HEAD } from '../../archive/head.ts';
import { archiveLocation, isWeb, openArchive, UNSIGNED } from '../../archive/open.ts';
import { makeBackup } from '../../backup/backup.ts';
import { directorySource, directoryTarget } from '../../backup/directory.ts';
import {
  type BackupSource,
  type BackupTarget,
  LONGEST_MANIFEST,
  MANIFEST,
  type PlaceReads,
} from '../../backup/manifest.ts';
import { placeAt, requireOutside, schemeOf, withoutName } from '../../backup/place.ts';
import { s3Place, webSource } from '../../backup/remote.ts';
import { restoreBackup } from '../../backup/restore.ts';
import { systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { ADMIN_KEY } from '../../hooks/access/keys.ts';
import { SECRETS_KEY } from '../../hooks/delivery/sealing.ts';
import { silentMachine } from '../../hooks/machine.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { sizeReport, sizeText } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import { type ArchiveChoice, lacksOpenPart, restoreFromArchive } from './archive.ts';

/** Name of the staging directory inside the data directory, from which a backup is sent to S3. */
const WORKSHOP = 'backup';

/** Files that no backup contains, so that a backup allows neither signing deliveries nor managing hooks. */
const KEYS = [ADMIN_KEY, SECRETS_KEY];

const notServed = (location: string, remedy: string): OperatorError =>
  new OperatorError(`${location} is not a location for a backup.`, remedy);

/** @throws OperatorError for a location that can't be written */
function targetAt(location: string, directory: string): BackupTarget {
  switch (schemeOf(location)) {
    case null:
      requireOutside(location, directory);
      return directoryTarget(location);
    case 's3':
      return s3Place({
        url: location,
        variables: process.env,
        clock: systemClock,
        staging: join(directory, WORKSHOP),
      });
    default:
      throw notServed(location, 'Give a path, or a bucket and key of S3: s3://bucket/key');
  }
}

/** @throws OperatorError for a location that can't be read */
function sourceAt(given: string, directory: string): BackupSource {
  const location = withoutName(given, MANIFEST);
  switch (schemeOf(location)) {
    case null:
      requireOutside(location, directory);
      return directorySource(location);
    case 's3':
      return s3Place({ url: location, variables: process.env, clock: systemClock, staging: '' });
    case 'http':
    case 'https': {
      const url = URL.parse(location);
      if (url !== null) return webSource(url, systemClock);
      throw notServed(given, 'Correct the URL.');
    }
    default:
      throw notServed(given, 'Give a path, a URL, or a bucket and key of S3: s3://bucket/key');
  }
}

/** Makes a backup of a data directory. @param isPublic whether to omit chainhooks and faucet requests */
export async function runBackup(settings: SettingsOf<'backup'>, location: string, isPublic: boolean): Promise<void> {
  const progress = sizeReport(location, process.stderr);
  const manifest = await makeBackup({
    directory: settings.data,
    target: targetAt(location, settings.data),
    public: isPublic,
    machine: silentMachine,
    neededElsewhere: isPublic ? [] : KEYS,
    program: serverVersion,
    now: systemClock.now,
    report: progress.update,
  });
  progress.done();
  const { height, position, bytes, compressed_bytes } = manifest;
  process.stdout.write(
    `${location}: height ${height ?? 0}, event ${position}; ${sizeText(bytes)} in ${sizeText(compressed_bytes)}\n`,
  );
  if (!isPublic) {
    process.stdout.write(`The backup holds no keys: keep ${KEYS.join(' and ')} of ${settings.data} elsewhere.\n`);
  }
}

const noKeysText = (what: string, directory: string): string =>
  `The ${what} holds no keys: put ${KEYS.join(' and ')} of the old server into ${directory} before its first start. ` +
  `Without ${SECRETS_KEY}, deliveries of consumers with a signing secret wait until they make a new one.\n`;

/** Whether a place has a file of a name, which begins a backup or an archive. */
const has = async (source: BackupSource, name: string): Promise<boolean> =>
  (await source.read(name, { least: 0, most: LONGEST_MANIFEST })) !== null;

/** Whether there is an archive at a location, and not a backup, or nothing. @throws OperatorError where there are both */
async function isArchive(location: string, directory: string): Promise<boolean> {
  if (location.endsWith(`/${MANIFEST}`)) return false;
  const isNamed = archiveLocation(location) !== location;
  if (isWeb(location)) {
    // Some servers deny what they lack: a backup is found, as it always was, before an archive is asked for.
    const source = sourceAt(location, directory);
    return isNamed || (!(await has(source, MANIFEST)) && (await has(source, HEAD)));
  }
  if (![null, 's3'].includes(schemeOf(location))) return false;
  const place = placeAt(archiveLocation(location), directory);
  if ((await identityIn(place)) === null) return false;
  if (isNamed || !(await has(place, MANIFEST))) return true;
  throw new OperatorError(
    `There are a backup and an archive at ${place.location}.`,
    `Give ${place.location}/${MANIFEST} for the backup, or ${place.location}/${IDENTITY} for the archive.`,
  );
}

/** The archive at a location; null where there is a backup, or nothing. @throws OperatorError */
async function archiveAt(settings: SettingsOf<'restore'>, location: string): Promise<PlaceReads | null> {
  const { data: directory, archiveKey, archiveUnsigned } = settings;
  // Who gives a key wants nothing else than what is signed with it.
  const isMeant = archiveKey !== null || (archiveUnsigned && isWeb(location));
  if (!isMeant && !(await isArchive(location, directory))) return null;
  if (archiveUnsigned) process.stderr.write(`${UNSIGNED}\n`);
  return openArchive({ location, directory, trust: settings, clock: systemClock, lacks: lacksOpenPart });
}

/** Restores a backup or an archive into a data directory, or continues an interrupted restore. */
export async function runRestore(
  settings: SettingsOf<'restore'>,
  location: string,
  choice: ArchiveChoice = { until: null, timeline: null },
): Promise<void> {
  const archive = await archiveAt(settings, location);
  if (archive !== null) {
    process.stdout.write(await restoreFromArchive(settings, archive, choice));
    process.stdout.write(noKeysText('archive', settings.data));
    return;
  }
  const { until, timeline, base = null, wholeJournal = false } = choice;
  if (until !== null || timeline !== null || base !== null || wholeJournal) {
    throw new OperatorError(
      `There is no archive at ${location}, and a backup is of one moment.`,
      'Omit --until-height, --until-time, --until-entry, --timeline, --base and --whole-journal, or give the location of an archive.',
    );
  }
  const { data: directory, chainId } = settings;
  const progress = sizeReport(location, process.stderr);
  const { manifest, found } = await restoreBackup({
    directory,
    source: sourceAt(location, directory),
    chainId,
    report: progress.update,
  });
  progress.done();
  const { height, position, bytes } = manifest;
  const before = found === 0 ? '' : `, ${sizeText(found)} of them by a restore before`;
  process.stdout.write(`${directory}: height ${height ?? 0}, event ${position}; ${sizeText(bytes)}${before}\n`);
  if (!manifest.public) {
    process.stdout.write(noKeysText('backup', directory));
  }
}
