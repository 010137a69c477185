/** Who may manage which hooks: keys, each of a consumer, as the operator lists them in a file. */
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { OperatorError } from '../errors.ts';
import { HookProblem } from './problem.ts';

/** Of whoever asks from this machine while there are no keys. */
const LOCAL_CONSUMER = 'default';

interface Key {
  /** SHA-256: what is compared has always the same length. */
  digest: Uint8Array;
  consumer: string;
}

const digestOf = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest();

/**
 * The keys of a file: a line for each, consumer and key; the key may be given as `sha256:` and its digest in hex. Empty
 * lines and those that begin with # don't count.
 * @throws OperatorError naming the line
 */
export function readKeys(text: string, file: string): Key[] {
  const keys: Key[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const [consumer, key, ...more] = trimmed.split(/\s+/);
    if (consumer === undefined || key === undefined || more.length > 0 || key.length < 8) {
      throw new OperatorError(
        `Line ${index + 1} of ${file} is no consumer and key.`,
        'Each line holds the name of a consumer, a blank, and a key of at least 8 characters.',
      );
    }
    const hashed = /^sha256:([0-9a-f]{64})$/i.exec(key)?.[1];
    keys.push({ consumer, digest: hashed === undefined ? digestOf(key) : Uint8Array.fromHex(hashed) });
  }
  if (keys.length === 0) throw new OperatorError(`${file} has no keys.`, 'Add one, or leave --hook-keys out.');
  return keys;
}

/** @throws OperatorError where the file can't be read */
export function keysOf(file: string): Key[] {
  try {
    return readKeys(readFileSync(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`${file} can't be read.`, 'Check --hook-keys.', { cause: error });
  }
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;
const LOCAL_NAME = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i;
/** A proxy on this machine asks for somebody else. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

/** Not a page in a browser either, which may be anybody's: those say their origin. */
function isLocal({ headers }: Request, peer: string): boolean {
  if (!LOOPBACK.test(peer)) return false;
  if (headers.has('origin') || FORWARDED.some((name) => headers.has(name))) return false;
  return LOCAL_NAME.test(headers.get('host') ?? '');
}

/** @param peer address that the request came from, empty where it isn't known */
export type ConsumerOf = (request: Request, peer: string) => string;

/** @returns a function from a request to its consumer, which throws HookProblem 401 */
export function access(keys: readonly Key[]): ConsumerOf {
  if (keys.length === 0) {
    return (request, peer) => {
      if (isLocal(request, peer)) return LOCAL_CONSUMER;
      throw new HookProblem(401, 'Without API keys only programs on this machine are answered (see --hook-keys)');
    };
  }
  return ({ headers }) => {
    const bearer = /^Bearer\s+(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
    const digest = digestOf(headers.get('x-api-key') ?? bearer ?? '');
    let consumer: string | null = null;
    for (const key of keys) if (timingSafeEqual(key.digest, digest)) consumer = key.consumer;
    if (consumer === null) throw new HookProblem(401, 'Missing or invalid API key');
    return consumer;
  };
}
