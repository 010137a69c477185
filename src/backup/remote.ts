/** Backups on other machines: on S3, or (for reading) on a web server with the files. */
import { rmSync } from 'node:fs';
import { S3Client } from 'bun';
import type { Clock } from '../base/clock.ts';
import { hasCode, OperatorError } from '../base/errors.ts';
import { type BackupSource, type BackupTarget, LONGEST_MANIFEST, MANIFEST } from './manifest.ts';
import { getFile, putFile, type Refusal, type SizeBounds, type Transfer } from './transfer.ts';

/** Statuses for a file that doesn't exist. */
const MISSING: ReadonlySet<number> = new Set([404, 410]);

/** A URL for messages, without user, password and query, which may be secrets. */
function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/** A backup below a URL, whose query is sent with each request. */
export function webSource(url: URL, clock: Clock): BackupSource {
  const location = shownUrl(url);
  const transfer: Transfer = {
    location,
    clock,
    redirect: 'follow',
    refused: ({ status }) =>
      MISSING.has(status)
        ? null
        : new OperatorError(
            `The server of ${location} refuses to send the backup, with status ${status}.`,
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

const MISSING_CREDENTIALS = 'ERR_S3_MISSING_CREDENTIALS';
/** Validity of a signed request in seconds. */
const SIGNED_FOR = 900;

const CREDENTIALS =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to those of a user who may read and write the bucket.';
const REGION = 'Set AWS_REGION to the region of the bucket, or AWS_ENDPOINT_URL to the address of its server.';

/** Errors of S3 by their code. */
const refusals: Readonly<Record<string, readonly [problem: string, remedy: string]>> = {
  AccessDenied: ['S3 denies access', `${CREDENTIALS} Without s3:ListBucket, S3 denies objects that are not there.`],
  InvalidAccessKeyId: ['S3 does not know the access key', CREDENTIALS],
  SignatureDoesNotMatch: ['S3 does not accept the secret key', CREDENTIALS],
  ExpiredToken: ['The session token has expired', 'Set AWS_SESSION_TOKEN, and both keys, to new ones.'],
  InvalidToken: ['S3 does not accept the session token', 'Set AWS_SESSION_TOKEN, and both keys, to new ones.'],
  NoSuchBucket: ['There is no such bucket', 'Create the bucket, or correct its name.'],
  PermanentRedirect: ['The bucket is in another region', REGION],
  TemporaryRedirect: ['The bucket is in another region', REGION],
  AuthorizationQueryParametersError: ['The bucket is in another region', REGION],
  AuthorizationHeaderMalformed: ['The bucket is in another region', REGION],
  RequestTimeTooSkewed: ['The clock of this machine is wrong', 'Set the clock, and run the command again.'],
  QuotaExceeded: ['The bucket is full', 'Make room in the bucket, or raise its quota.'],
};

const codeOf = ({ text }: Refusal): string | null => /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? null;

const NOT_FOUND = 404;

function refused(location: string, refusal: Refusal): OperatorError | null {
  const code = codeOf(refusal);
  if (refusal.status === NOT_FOUND && code !== 'NoSuchBucket') return null;
  const known = refusals[code ?? ''];
  const [problem, remedy] = known ?? [
    'S3 refuses the request',
    'Look the code up in the documentation of the provider.',
  ];
  return new OperatorError(`${problem}: ${location} (${code ?? `status ${refusal.status}`}).`, remedy);
}

type Variables = Readonly<Record<string, string | undefined>>;

const optional = <K extends string>(name: K, value: string | undefined): { [N in K]?: string } =>
  (value === undefined ? {} : { [name]: value }) as { [N in K]?: string };

/** Makes a client from the variables that S3 tools usually read. */
function clientOf(bucket: string, variables: Variables): S3Client {
  const named = (...names: string[]) => names.map((name) => variables[name]).find((value) => value);
  return new S3Client({
    bucket,
    accessKeyId: named('AWS_ACCESS_KEY_ID', 'S3_ACCESS_KEY_ID') ?? '',
    secretAccessKey: named('AWS_SECRET_ACCESS_KEY', 'S3_SECRET_ACCESS_KEY') ?? '',
    ...optional('sessionToken', named('AWS_SESSION_TOKEN', 'S3_SESSION_TOKEN')),
    ...optional('region', named('AWS_REGION', 'AWS_DEFAULT_REGION', 'S3_REGION')),
    ...optional('endpoint', named('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL', 'AWS_ENDPOINT', 'S3_ENDPOINT')),
  });
}

export interface S3Options {
  /** `s3://bucket/key`. */
  url: string;
  /** Environment variables with the credentials, region and endpoint. */
  variables: Variables;
  clock: Clock;
  /** The staging directory of a new backup. */
  staging: string;
}

/** A backup on S3. @throws OperatorError for a URL without a key, or without credentials */
export function s3Place({ url, variables, clock, staging }: S3Options): BackupTarget {
  const match = /^s3:\/\/([^/]+)\/+(.*[^/])\/*$/.exec(url);
  if (match === null) throw new OperatorError(`${url} names no key.`, 'Give a bucket and a key: s3://bucket/key');
  const [, bucket = '', key = ''] = match;
  const location = `s3://${bucket}/${key}`;
  const client = clientOf(bucket, variables);
  const transfer: Transfer = {
    location,
    clock,
    redirect: 'manual',
    refused: (refusal) => refused(location, refusal),
  };

  function signed(method: 'GET' | 'PUT', name: string): string {
    try {
      return client.presign(`${key}/${name}`, { method, expiresIn: SIGNED_FOR });
    } catch (error) {
      if (!hasCode(error, MISSING_CREDENTIALS)) throw error;
      throw new OperatorError('There are no credentials for S3.', CREDENTIALS, { cause: error });
    }
  }

  const read = (name: string, bounds: SizeBounds) => getFile(transfer, () => signed('GET', name), bounds);

  return {
    location,
    staging,
    read,
    async begin() {
      if ((await read(MANIFEST, { least: 0, most: LONGEST_MANIFEST })) === null) return;
      throw new OperatorError(`A backup already exists at ${location}.`, 'Give another key, or remove the backup.');
    },
    write: (name, bytes) => putFile(transfer, () => signed('PUT', name), bytes),
    // The manifest is written last and completes the backup.
    async finish() {},
    async discard() {
      rmSync(staging, { recursive: true, force: true });
    },
  };
}
