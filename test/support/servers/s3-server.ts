/**
 * A small S3 for tests: keeps objects in memory, and answers only signed requests. It checks the signature as the protocol
 * defines (AWS Signature Version 4, in the query), and fails when a test tells it to.
 */
import { createHash, createHmac } from 'node:crypto';
import { systemClock } from '../../../src/base/clock.ts';

const S3_KEYS = { accessKeyId: 'AKEXAMPLE', secretAccessKey: 'secret/of+example', region: 'eu-test-1' };

/**
 * Fault that replaces a request's answer. `torn`: half of the body arrives. `unanswered`: it is done, and the answer is
 * lost. `late`: it is done after other work of the process.
 */
type S3Fault = { status: number; code: string } | 'cut' | 'stalled' | 'torn' | 'unanswered' | 'late';

interface S3Request {
  method: string;
  /** `bucket/key`. */
  path: string;
  /** Counted from 1. */
  number: number;
}

export interface S3Server extends Disposable {
  readonly url: string;
  /** The variables that name it, with the keys. */
  readonly variables: Readonly<Record<string, string>>;
  /** Objects by `bucket/key`. */
  readonly objects: Map<string, Uint8Array>;
  readonly requests: S3Request[];
  /** Removes all objects, also from lists that lack changes. */
  clear(): void;
  /** Number of the newest changes of objects that lists don't show yet. */
  listsLack: number;
  /** Chooses the fault of each following request, or null for none. */
  fail: (request: S3Request) => S3Fault | null;
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** As the protocol encodes a name or value. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** The signature that a request should have. */
function signatureOf(method: string, url: URL, host: string): string {
  const query = [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const canonical = [method, url.pathname, query, `host:${host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n');
  const time = url.searchParams.get('X-Amz-Date') ?? '';
  const scope = `${time.slice(0, 8)}/${S3_KEYS.region}/s3/aws4_request`;
  const digest = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', time, scope, digest].join('\n');
  const key = [S3_KEYS.region, 's3', 'aws4_request'].reduce(
    hmac,
    hmac(`AWS4${S3_KEYS.secretAccessKey}`, time.slice(0, 8)),
  );
  return hmac(key, text).toString('hex');
}

const refusal = (status: number, code: string): Response =>
  new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>as a test says</Message></Error>`, { status });

/** Returns the error for a request with a bad signature, or null if the signature is correct. */
function refuseUnsigned(request: Request, url: URL): Response | null {
  const [key, , region] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/');
  if (key === undefined || key === '') return refusal(403, 'AccessDenied');
  if (key !== S3_KEYS.accessKeyId) return refusal(403, 'InvalidAccessKeyId');
  if (region !== S3_KEYS.region) return refusal(400, 'AuthorizationQueryParametersError');
  const expected = signatureOf(request.method, url, request.headers.get('host') ?? '');
  return url.searchParams.get('X-Amz-Signature') === expected ? null : refusal(403, 'SignatureDoesNotMatch');
}

/** Half of a body, and no more: the connection is closed, or nothing else comes. */
const halfOf = (bytes: Uint8Array, fault: 'cut' | 'stalled'): Response =>
  new Response(
    new ReadableStream({
      type: 'direct',
      async pull(controller: { write(bytes: Uint8Array): void; flush(): unknown; close(): void }) {
        controller.write(bytes.subarray(0, bytes.length >> 1));
        await controller.flush();
        if (fault === 'stalled') await new Promise(() => {});
        controller.close();
      },
    } as never),
    { headers: { 'content-length': String(bytes.length) } },
  );

/** Turns of the event loop that a late answer waits. */
const LATE_TURNS = 20;

/** Names of a page of a list; few, so that tests meet several pages. */
const PAGE = 10;

/** Returns a page of a list, with its keys in the encoding that the client requested. */
function listObjects(paths: readonly string[], bucket: string, query: URLSearchParams): Response {
  const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? ''];
  const keys = paths
    .filter((path) => path.startsWith(`${bucket}/`))
    .map((path) => path.slice(bucket.length + 1))
    .filter((key) => key.startsWith(prefix) && key > after)
    .sort();
  const contents = keys.slice(0, PAGE).map((key) => `<Contents><Key>${encodeURIComponent(key)}</Key></Contents>`);
  return new Response(
    `<ListBucketResult><IsTruncated>${keys.length > PAGE}</IsTruncated>${contents.join('')}</ListBucketResult>`,
  );
}

/** @param bucket the one that there is */
export function s3Server(bucket: string): S3Server {
  const objects = new Map<string, Uint8Array>();
  /** Names of all objects after each change. */
  const names: string[][] = [];
  const requests: S3Request[] = [];
  const state: { fail: S3Server['fail']; listsLack: number } = { fail: () => null, listsLack: 0 };

  async function put(request: Request, path: string, fault: S3Fault | null): Promise<Response> {
    const sent = await request.bytes();
    const bytes = fault === 'torn' ? sent.subarray(0, sent.length >> 1) : sent;
    const digest = request.headers.get('content-md5');
    if (digest !== null && createHash('md5').update(bytes).digest('base64') !== digest)
      return refusal(400, 'BadDigest');
    if (request.headers.get('if-none-match') === '*' && objects.has(path)) return refusal(412, 'PreconditionFailed');
    objects.set(path, bytes);
    names.push([...objects.keys()]);
    return new Response();
  }

  function handle(request: Request, url: URL, path: string, fault: S3Fault | null): Response | Promise<Response> {
    if (request.method === 'PUT') return put(request, path, fault);
    if (request.method === 'DELETE') {
      objects.delete(path);
      names.push([...objects.keys()]);
      return new Response(null, { status: 204 });
    }
    if (url.searchParams.has('list-type')) {
      const keys = state.listsLack === 0 ? [...objects.keys()] : (names.at(-1 - state.listsLack) ?? []);
      return listObjects(keys, bucket, url.searchParams);
    }
    const object = objects.get(path);
    if (object === undefined) return refusal(404, 'NoSuchKey');
    return fault === 'cut' || fault === 'stalled'
      ? halfOf(object, fault)
      : new Response(object as Uint8Array<ArrayBuffer>);
  }

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const path = decodeURIComponent(url.pathname.slice(1));
    const entry = { method: request.method, path, number: requests.length + 1 };
    requests.push(entry);
    const fault = state.fail(entry);
    if (fault === 'late') for (let turn = 0; turn < LATE_TURNS; turn++) await systemClock.turn();
    if (fault !== null && typeof fault === 'object') return refusal(fault.status, fault.code);
    const refused = refuseUnsigned(request, url);
    if (refused !== null) return refused;
    if (!path.startsWith(`${bucket}/`)) return refusal(404, 'NoSuchBucket');
    const response = await handle(request, url, path, fault);
    return fault === 'unanswered' ? refusal(500, 'InternalError') : response;
  }

  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: answer });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    url,
    variables: {
      AWS_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
      AWS_REGION: S3_KEYS.region,
      AWS_ENDPOINT_URL: url,
    },
    objects,
    requests,
    clear() {
      objects.clear();
      names.splice(0);
    },
    get listsLack() {
      return state.listsLack;
    },
    set listsLack(changes) {
      state.listsLack = changes;
    },
    get fail() {
      return state.fail;
    },
    set fail(fail) {
      state.fail = fail;
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}
