// Transactions put together by hand from hex, field by field, for forms no library makes.
import { fromHex } from '../../src/codec/hex.ts';

/** Hex of the fields of a transaction, in the order of the wire. */
export interface RawFields {
  version: string;
  chainId: string;
  auth: string;
  conditions: string;
  anchorMode: string;
  postConditions: string;
  payload: string;
}

export const hash160 = 'a46ff88886c2ef9762d970b4d2c63678835bd39d';
export const signer = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';
export const nonceAndFee = '0000000000000007' + '00000000000000b4';

/** P2PKH, compressed, nonce 7, fee 180, a signature of zeros. */
export const singleCondition = `00${hash160}${nonceAndFee}00${'00'.repeat(65)}`;

/** A transfer of one micro-STX from an account to itself. */
export const transferPayload = `000516${hash160}0000000000000001${'00'.repeat(34)}`;

const fields: RawFields = {
  version: '00',
  chainId: '00000001',
  auth: '04',
  conditions: singleCondition,
  anchorMode: '03',
  postConditions: '0200000000',
  payload: transferPayload,
};

export const rawTransaction = (changed: Partial<RawFields> = {}): Uint8Array =>
  fromHex(Object.values({ ...fields, ...changed }).join(''));
