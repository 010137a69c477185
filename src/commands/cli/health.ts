/** `stackside health`: asks a running server whether it lives or is ready, for supervisors without an HTTP client. */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../../base/errors.ts';
import { askServer } from './client.ts';

const OK = 200;
const Unready = Type.Object({ reason: Type.String() });

/**
 * Asks for `/health`, or for `/ready`, which knows whether the index can be read and is up to date.
 * @returns the word to print where the answer is 200
 * @throws OperatorError with the server's reason otherwise, or where it can't be reached
 */
export async function askHealth(url: string, word: 'alive' | 'ready'): Promise<string> {
  const path = word === 'ready' ? '/ready' : '/health';
  const { status, body } = await askServer({ url, key: null }, 'GET', path);
  if (status === OK) return word;
  const reason = Value.Check(Unready, body) ? body.reason : `${path} answers ${status}`;
  throw new OperatorError(`${url} is not ${word}: ${reason}.`, "The server's log has more.");
}
