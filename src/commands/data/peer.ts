/** Another Stackside, from which a command requests what only its operator may read. */
import { existsSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { isSamePath } from '../../base/files.ts';
import { getFile, type Refusal, type Transfer } from '../../places/transfer.ts';
import { journalPath } from '../../store/files/database.ts';

/** A request to a peer. */
interface PeerQuestion {
  path: string;
  query: Readonly<Record<string, string>>;
  /** Maximum bytes of the answer. */
  most: number;
  /** The error for a refusal other than of the key; null if it means that there is no answer. */
  refused: (refusal: Refusal) => OperatorError | null;
}

export interface Peer {
  /** Its name in messages. */
  readonly location: string;
  /** @returns null if the peer has no answer @throws OperatorError, PassingError */
  get(question: PeerQuestion): Promise<Uint8Array | null>;
}

/** Whether a location is a server's URL, not a directory. */
export const isUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** Checks that an option names another data directory than this one. @throws OperatorError */
export function requireAnother(option: string, other: string, directory: string): void {
  const remedy = 'Give another data directory, or the URL of the API of another Stackside.';
  if (isSamePath(other, directory)) {
    throw new OperatorError(`${option} names the data directory itself, ${directory}.`, remedy);
  }
  if (!existsSync(journalPath(other))) {
    throw new OperatorError(`${option} names ${other}, which has no journal.`, remedy);
  }
}

/** @throws OperatorError */
export function peerUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new OperatorError(`${text} is no URL.`, 'Give the URL of the API of another Stackside.');
  return url;
}

/** Path of a request, which is removed from a URL to get that of the API. */
const QUESTION = /\/*(?:\/stackside\/v1\/.*)?$/;

/** @param url of the API @param key the server's admin key; null for none */
export function peerAt(url: URL, key: string | null, clock: Clock): Peer {
  const { origin: location } = url;
  const base = url.pathname.replace(QUESTION, '');
  const transfer: Omit<Transfer, 'refused'> = {
    location,
    clock,
    // The key is for this server only.
    redirect: 'manual',
    headers: key === null ? {} : { 'x-api-key': key },
  };
  return {
    location,
    get({ path, query, most, refused }) {
      const asked = new URL(`${base}${path}`, url);
      for (const [name, value] of Object.entries(query)) asked.searchParams.set(name, value);
      const refusedOrKey = (refusal: Refusal): OperatorError | null =>
        refusal.status === 401 || refusal.status === 403 ? wrongKey(location) : refused(refusal);
      return getFile({ ...transfer, refused: refusedOrKey }, () => asked.href, { least: 0, most });
    },
  };
}

const wrongKey = (location: string): OperatorError =>
  new OperatorError(
    `${location} does not accept the key.`,
    'Set STACKSIDE_PEER_KEY to the admin key of that server, which is in the file admin.key of its data directory, or give its file with --admin-key.',
  );
