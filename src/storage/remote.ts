/** Archives on other machines: on S3, or read-only on a web server. */
import { AwsV4Signer } from 'aws4fetch';
import { lazy } from '../base/cache.ts';
import { type Clock, systemRandom } from '../base/clock.ts';
import { withoutCredentials } from '../base/credentials.ts';
import { OperatorError } from '../base/errors.ts';
import { percentDecoded } from '../codec/utf8.ts';
import type { ObjectSource, ObjectStore } from './object-store.ts';
import { deleteFile, getFile, putFile, putNewFile, type Refusal, type Transfer } from './transfer.ts';

const MISSING: ReadonlySet<number> = new Set([404, 410]);

/** Returns a URL for messages, without user, password and query, which may be secrets. */
function urlText(url: URL): string {
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Returns the files below a URL. Each request includes the URL's query. */
export function webSource(url: URL, clock: Clock, random = systemRandom.number): ObjectSource {
  const location = urlText(url);
  const transferOf = (file: string): Transfer => ({
    location: file,
    clock,
    random,
    redirect: 'follow',
    toRefusalError: ({ status }) =>
      MISSING.has(status)
        ? null
        : new OperatorError(
            `The server refuses to send ${file}, with status ${status}.`,
            'Check the URL, and that the server lets this machine read the files below it.',
          ),
  });
  const fileUrl = (name: string): string => {
    const file = new URL(url);
    file.pathname = `${url.pathname.replace(/\/+$/, '')}/${name}`;
    return file.href;
  };
  return { location, read: (name, bounds) => getFile(transferOf(`${location}/${name}`), () => fileUrl(name), bounds) };
}

/** Validity of a signed request, in seconds. */
const SIGNATURE_SECONDS = 900;

const CREDENTIALS = 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to keys that may read and write the bucket.';
const REGION = 'Set AWS_REGION to the region of the bucket, or AWS_ENDPOINT_URL to the address of its server.';

/** Texts for S3's error codes. */
const refusals: Readonly<Record<string, readonly [problem: string, remedy: string]>> = {
  AccessDenied: ['S3 denies access', `${CREDENTIALS} Without s3:ListBucket, S3 denies objects that are not there.`],
  InvalidAccessKeyId: ['S3 rejects the access key', CREDENTIALS],
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

const parseCode = ({ text }: Refusal): string | null => /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? null;

const NOT_FOUND = 404;
/** Status if an object exists already and the request must not replace it. */
const PRECONDITION_FAILED = 412;

/** Codes of client errors that may pass: the body was incomplete, or another request for the object was running. */
const PASSING: ReadonlySet<string | null> = new Set([
  ...['BadDigest', 'IncompleteBody', 'RequestTimeout'],
  ...['ConditionalRequestConflict', 'OperationAborted'],
]);

function toRefusalError(location: string, refusal: Refusal): OperatorError | null {
  const code = parseCode(refusal);
  if (refusal.status === NOT_FOUND && code !== 'NoSuchBucket') return null;
  if (refusal.status === PRECONDITION_FAILED) return null;
  const [problem, remedy] = refusals[code ?? ''] ?? [
    'S3 refuses the request',
    'Look the code up in the documentation of the provider.',
  ];
  return new OperatorError(`${problem}: ${location} (${code ?? `status ${refusal.status}`}).`, remedy);
}

type Variables = Readonly<Record<string, string | undefined>>;

interface Bucket {
  /** Its URL, without a slash at the end. */
  address: string;
  keys: { accessKeyId: string; secretAccessKey: string; sessionToken?: string; region?: string };
}

/** Reads the variables that S3 tools usually read. @throws OperatorError if keys are missing or the endpoint isn't a URL */
function bucketOf(bucket: string, variables: Variables): Bucket {
  const firstSet = (...names: string[]) => names.map((name) => variables[name]).find((value) => value);
  const accessKeyId = firstSet('AWS_ACCESS_KEY_ID', 'S3_ACCESS_KEY_ID');
  const secretAccessKey = firstSet('AWS_SECRET_ACCESS_KEY', 'S3_SECRET_ACCESS_KEY');
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new OperatorError('The credentials for S3 are missing.', CREDENTIALS);
  const sessionToken = firstSet('AWS_SESSION_TOKEN', 'S3_SESSION_TOKEN');
  const region = firstSet('AWS_REGION', 'AWS_DEFAULT_REGION', 'S3_REGION');
  const server =
    firstSet('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL', 'AWS_ENDPOINT', 'S3_ENDPOINT') ??
    `https://s3.${region ?? 'us-east-1'}.amazonaws.com`;
  if (!/^https?:/.test(server) || !URL.canParse(server)) {
    // A scheme may be missing.
    const shown = withoutCredentials(`https://${server}`).slice('https://'.length);
    throw new OperatorError(
      `The address of the S3 server, ${shown}, isn't a URL.`,
      'Set AWS_ENDPOINT_URL to an address that begins with http:// or https://.',
    );
  }
  return {
    address: `${server.replace(/\/+$/, '')}/${bucket}`,
    keys: {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      ...(region === undefined ? {} : { region }),
    },
  };
}

type Method = 'GET' | 'PUT' | 'DELETE';

/** Percent-encodes a part of a path as in signatures (RFC 3986). */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Returns a signed URL (AWS Signature Version 4, in the query). @param object its key; empty for the bucket itself */
async function signedUrl(
  { address, keys }: Bucket,
  method: Method,
  object: string,
  query: Readonly<Record<string, string>> = {},
): Promise<string> {
  const url = new URL(`${address}/${object.split('/').map(percentEncode).join('/')}`);
  url.search = String(new URLSearchParams({ ...query, 'X-Amz-Expires': String(SIGNATURE_SECONDS) }));
  const signer = new AwsV4Signer({ ...keys, method, url: url.href, service: 's3', signQuery: true });
  const { origin, pathname, search } = (await signer.sign()).url;
  // The signer hashes spaces as %20, but writes them as +.
  return `${origin}${pathname}${search.replaceAll('+', '%20')}`;
}

/** Maximum bytes of a page of a list, which has at most a thousand names. */
const MAX_LIST = 16 * 1024 * 1024;

/** Maximum names in a list. An archive with one segment per 4 MB of entries reaches it after 4 TB. */
const MAX_NAMES = 1_000_000;

function readPage(page: string): { keys: string[]; isLast: boolean } {
  const texts = [...page.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, text = '']) => text);
  return {
    // If a key can't be decoded, the server doesn't encode keys.
    keys: texts.map((text) => percentDecoded(text) ?? text),
    isLast: !page.includes('<IsTruncated>true</IsTruncated>'),
  };
}

/** Reports whether S3 lists a name after another one: by the order of their bytes. */
const comesAfter = (name: string, last: string): boolean => Buffer.compare(Buffer.from(name), Buffer.from(last)) > 0;

export interface S3Options {
  /** URL: `s3://bucket/prefix`. */
  url: string;
  /** Environment variables with the credentials, region and endpoint. */
  variables: Variables;
  clock: Clock;
  /** Returns a number from 0 to 1, for the waits after failures. */
  random?: () => number;
}

/** Returns the objects below a key of S3. @throws OperatorError for a URL without a key */
export function s3Objects({ url, variables, clock, random = systemRandom.number }: S3Options): ObjectStore {
  const match = /^s3:\/\/([^/]+)\/+(.*[^/])\/*$/.exec(url);
  if (match === null)
    throw new OperatorError(
      `${withoutCredentials(url)} has no prefix.`,
      'Give a bucket and a prefix: s3://bucket/prefix',
    );
  const [, bucket = '', key = ''] = match;
  const location = `${withoutCredentials(`s3://${bucket}`)}/${key}`;
  const bucketAccess = lazy(() => bucketOf(bucket, variables));
  const transfer: Transfer = {
    location,
    clock,
    random,
    redirect: 'manual',
    toRefusalError: (refusal) => toRefusalError(location, refusal),
    mayPass: (refusal) => PASSING.has(parseCode(refusal)),
  };

  const urlOf = (method: Method, name: string) => () => signedUrl(bucketAccess(), method, `${key}/${name}`);

  const listError = (problem: string): OperatorError =>
    new OperatorError(
      `${location} can't be listed: ${problem}.`,
      'Use a server that supports ListObjectsV2 with start-after, and a key that only this archive uses.',
    );

  async function requestPage(prefix: string, lastName: string): Promise<ReturnType<typeof readPage>> {
    const query = {
      'list-type': '2',
      'encoding-type': 'url',
      prefix: `${key}/${prefix}`,
      'start-after': `${key}/${lastName}`,
    };
    const listUrl = () => signedUrl(bucketAccess(), 'GET', '', query);
    const bytes = await getFile(transfer, listUrl, { min: 0, max: MAX_LIST });
    if (bytes !== null) return readPage(new TextDecoder().decode(bytes));
    throw new OperatorError(`${location} can't be listed.`, 'Check the address of the server.');
  }

  return {
    location,
    async check() {
      await requestPage('', '');
    },
    read: (name, bounds) => getFile(transfer, urlOf('GET', name), bounds),
    async list(prefix) {
      const names: string[] = [];
      let last = '';
      for (let isLast = false; !isLast; ) {
        const listPage = await requestPage(prefix, last);
        isLast = listPage.isLast;
        if (!isLast && listPage.keys.length === 0) {
          throw listError('the server announces another page, and sends an empty one');
        }
        // A server may encode a space in the key as a plus, so only the key's length counts.
        for (const name of listPage.keys.map((listedKey) => listedKey.slice(key.length + 1))) {
          if (!comesAfter(name, last))
            throw listError(`the server sends ${name} after ${last}, so the list doesn't advance`);
          names.push(name);
          last = name;
        }
        if (names.length > MAX_NAMES) throw listError(`more than ${MAX_NAMES} names begin with ${prefix}`);
      }
      return names.sort();
    },
    create: (name, bytes) => putNewFile(transfer, urlOf('PUT', name), bytes),
    write: (name, bytes) => putFile(transfer, urlOf('PUT', name), bytes),
    remove: (name) => deleteFile(transfer, urlOf('DELETE', name)),
  };
}
