/** Raw transactions (SIP-005) with numbers that no wallet makes: signed by nobody, but a mempool's event may hold them. */
import type { Prng } from '../../../src/devnet/prng.ts';

/** Offsets of 8-byte numbers: nonce and fee of the origin, and of a sponsor after one signature. */
const NUMBERS = [27, 35, 130, 138];
/** Numbers at the limits of 32, 53, 63 and 64 bits. */
const EXTREMES = [0n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n];

/** A transaction in the JSON of an event: version, chain id, and more than one signature takes. */
const RAW = /"0x([08]0[0-9a-f]{260,})"/g;

function mutatedTransaction(hex: string, prng: Prng): string {
  const bytes = Buffer.from(hex, 'hex');
  if (prng.chance(0.8)) {
    const offset = prng.pick(NUMBERS);
    if (offset + 8 <= bytes.length) bytes.writeBigUInt64BE(prng.pick(EXTREMES), offset);
  } else {
    bytes[prng.below(bytes.length)] = prng.below(256);
  }
  return bytes.toString('hex');
}

/** Returns the JSON of an event after mutating some of its transactions; unchanged if it has none. */
export const withMutatedTransactions = (body: string, prng: Prng): string =>
  body.replace(RAW, (whole, hex: string) => (prng.chance(0.5) ? `"0x${mutatedTransaction(hex, prng)}"` : whole));
