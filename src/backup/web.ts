/** A snapshot on a web server, which needs nothing but files. */
import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import type { SnapshotSource } from './place.ts';
import { getFile, type Transfer } from './transfer.ts';

/** Statuses that say that there is no such file. */
const MISSING: ReadonlySet<number> = new Set([404, 410]);

/** A URL as messages may show it: user, password and query may be secrets. */
function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** A snapshot below a URL. A query of the URL goes with each request. */
export function webSource(url: URL, clock: Clock): SnapshotSource {
  const location = shownUrl(url);
  const transfer: Transfer = {
    location,
    clock,
    redirect: 'follow',
    refused: ({ status }) =>
      MISSING.has(status)
        ? null
        : new OperatorError(
            `The server of ${location} refuses to send the snapshot, with status ${status}.`,
            'Check the URL, and that the server lets this machine read the files below it.',
          ),
  };
  const fileUrl = (name: string): string => {
    const file = new URL(url);
    file.pathname = `${url.pathname.replace(/\/+$/, '')}/${name}`;
    return file.href;
  };
  return { location, read: (name, bounds) => getFile(transfer, () => fileUrl(name), bounds) };
}
