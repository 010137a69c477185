/** What only a transaction's own bytes hold. */
import { decodeKnownParts, type Transaction } from './transaction.ts';

/** The index holds what was decoded when it came: bytes that no longer decode are a defect. */
export function decoded(raw: Uint8Array): Transaction {
  const result = decodeKnownParts(raw);
  if (!result.ok) throw result.error;
  return result.value;
}

type PayloadType = Transaction['payload']['type'];

/** The payload of a raw transaction. @throws Error where it is not of the type that the index has */
export function payloadOf<T extends PayloadType>(raw: Uint8Array, type: T) {
  const { payload } = decoded(raw);
  if (payload.type !== type) throw new Error(`a ${payload.type} is indexed as ${type}`);
  return payload as Extract<Transaction['payload'], { type: T }>;
}
