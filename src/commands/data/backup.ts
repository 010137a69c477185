/** `stackside backup` and `stackside restore`: back up a data directory to an archive, and restore it. */
import { type Backup, backUp } from '../../archive/backup.ts';
import { ARCHIVE_KEY, loadOrCreateSigner } from '../../archive/key-file.ts';
import { archiveLocation, openArchive, UNSIGNED } from '../../archive/open.ts';
import { systemClock } from '../../base/clock.ts';
import { ADMIN_KEY } from '../../hooks/access/keys.ts';
import { SECRETS_KEY } from '../../hooks/delivery/sealing.ts';
import type { SettingsOf } from '../../settings/config.ts';
import { objectStoreAt } from '../../storage/location.ts';
import { interruptible } from '../cli/output.ts';
import { progressLines, sizeText } from '../cli/progress.ts';
import { serverVersion } from '../cli/this-program.ts';
import { type ArchiveChoice, lacksOpenPart, restoreFromArchive } from './archive.ts';

/** Files that no archive holds, so that an archive allows neither signing deliveries nor managing hooks. */
const KEYS = [ADMIN_KEY, SECRETS_KEY];

/** Describes a backup. */
const backupText = (location: string, { entry, base, sent }: Backup): string =>
  `${location}: entry ${entry}; base of height ${base.height}, entry ${base.entry}; ${sizeText(sent)} sent\n`;

/** Brings an archive up to date with a data directory. @param isPublic whether to omit chainhooks and faucet requests */
export async function runBackup(
  settings: SettingsOf<'backup'>,
  locationText: string,
  isPublic: boolean,
): Promise<void> {
  const { data: directory, archiveKeep: keepDays } = settings;
  const location = archiveLocation(locationText);
  const store = objectStoreAt(location, directory);
  const signer = isPublic ? loadOrCreateSigner(directory) : null;
  const progress = progressLines(process.stderr);
  const backup = await interruptible(
    () => {},
    () =>
      backUp({
        ...{ directory, store, signer, program: serverVersion, clock: systemClock },
        keepDays,
        archived: (entry, last) => progress.draw(() => `${store.location}: entry ${entry} of ${last}`),
        report: ({ table, number, of, sentBytes }) =>
          progress.draw(
            () => `${store.location}: base, table ${number} of ${of} (${table}), ${sizeText(sentBytes)} sent`,
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
  const archive = await openArchive({
    ...{ location, directory, trust: settings, clock: systemClock },
    lacks: lacksOpenPart,
  });
  process.stdout.write(await restoreFromArchive(settings, archive, choice));
  process.stdout.write(
    `Archives contain no keys: put ${KEYS.join(' and ')} of the old server into ${directory} before its first start. ` +
      `Without ${SECRETS_KEY}, deliveries that need a signature wait until each consumer creates a new secret.\n`,
  );
}
