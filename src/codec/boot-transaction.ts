/** Transactions that nodes create: contracts of an epoch, token unlocks. They are unsigned, with chain ID 0. */
import { u32 } from './clarity-encode.ts';
import { utf8Bytes } from './utf8.ts';

/**
 * The bytes after the version: chain ID 0, standard authorization, and a condition of zeros with an uncompressed key
 * (SIP-005).
 */
const UNSIGNED = Buffer.concat([
  new Uint8Array(4),
  Uint8Array.of(0x04, 0x00),
  new Uint8Array(20 + 8 + 8),
  Uint8Array.of(0x01),
  new Uint8Array(65),
]);
/** Anchor mode "any", post-condition mode "deny", and no post-conditions. */
const UNBOUND = Uint8Array.of(0x03, 0x02, 0, 0, 0, 0);

const TESTNET_VERSION = 0x80;
const MEMO_LENGTH = 34;

/** Returns the bytes of a transaction with this payload. */
export const bootTransaction = (isMainnet: boolean, payload: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(isMainnet ? 0 : TESTNET_VERSION), UNSIGNED, UNBOUND, payload]);

/**
 * Returns the payload that deploys a contract.
 * @param clarityVersion null for a contract without a version, which uses the version of its epoch
 */
export function deploymentPayload(name: string, source: string, clarityVersion: number | null): Uint8Array {
  const [nameBytes, sourceBytes] = [utf8Bytes(name), utf8Bytes(source)];
  const type = clarityVersion === null ? [1] : [6, clarityVersion];
  return Buffer.concat([Uint8Array.of(...type, nameBytes.length), nameBytes, u32(sourceBytes.length), sourceBytes]);
}

/**
 * Returns the payload of token unlocks: a transfer of nothing from the boot address to itself.
 * @param boot the boot address with its version, 21 bytes
 */
export function unlockPayload(boot: Uint8Array, height: number): Uint8Array {
  const memo = new Uint8Array(MEMO_LENGTH);
  memo.set(utf8Bytes(`Block ${height} token unlocks`));
  return Buffer.concat([Uint8Array.of(0x00, 0x05), boot, new Uint8Array(8), memo]);
}
