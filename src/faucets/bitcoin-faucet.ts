/** BTC of a regtest chain: outputs of the faucet's key, spent by what it signs. */
import { Address, p2pkh, Transaction } from '@scure/btc-signer';
import { pubECDSA } from '@scure/btc-signer/utils.js';
import { Type } from '@sinclair/typebox';
import { fromHex } from '../codec/hex.ts';
import type { BitcoinRpc } from './bitcoin-rpc.ts';
import { failed, outOfFunds } from './faucet-error.ts';

/** Address versions and prefix of regtest (as `regtest` in Bitcoin Core's chainparams). */
const REGTEST = { bech32: 'bcrt', pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef };

const SATS = 100_000_000;
/** Satoshi for each virtual byte. */
const FEE_RATE = 50n;
/** Virtual bytes: of all but inputs and outputs, of an input of ours, of the longest kind of output. */
const BYTES = { base: 10n, input: 148n, output: 43n };
/** Sats below which an output is dust, which nodes don't relay. */
const DUST = 546n;

const Scan = Type.Object({
  success: Type.Boolean(),
  total_amount: Type.Number(),
  unspents: Type.Array(Type.Object({ txid: Type.String(), vout: Type.Integer(), amount: Type.Number() })),
});
/** Null where it is spent, in the mempool too. */
const Output = Type.Union([
  Type.Null(),
  Type.Object({ confirmations: Type.Integer(), coinbase: Type.Boolean(), value: Type.Number() }),
]);
const TransactionId = Type.String({ pattern: '^[0-9a-f]{64}$' });

const satsOf = (btc: number): bigint => BigInt(Math.round(btc * SATS));

/** Whether it is an address of a regtest chain. */
export function isRegtestAddress(text: string): boolean {
  try {
    Address(REGTEST).decode(text);
    return true;
  } catch {
    return false;
  }
}

/** A transaction that was sent: its id and bytes, in hex. */
export interface SentBitcoin {
  txid: string;
  raw_tx: string;
}

interface Unspent {
  txid: string;
  vout: number;
  sats: bigint;
}

/** The BTC faucet. @param key private key in hex: 32 bytes, or 33 with the mark of a compressed public key */
export function bitcoinFaucet(rpc: BitcoinRpc, key: string) {
  const secret = new Uint8Array(fromHex(key.slice(0, 64)));
  const own = p2pkh(pubECDSA(secret, true), REGTEST);

  const scan = (address: string) => rpc('scantxoutset', ['start', [`addr(${address})`]], Scan);

  /** Outputs of enough worth, the greatest first: few are asked for. */
  async function enough(sats: bigint): Promise<Unspent[]> {
    const { unspents } = await scan(own.address ?? '');
    const chosen: Unspent[] = [];
    let left = sats + FEE_RATE * (BYTES.base + 2n * BYTES.output);
    for (const { txid, vout } of unspents.toSorted((a, b) => b.amount - a.amount)) {
      const output = await rpc('gettxout', [txid, vout, true], Output);
      if (output === null || output.confirmations <= (output.coinbase ? 100 : 1)) continue;
      const worth = satsOf(output.value);
      chosen.push({ txid, vout, sats: worth });
      left -= worth - FEE_RATE * BYTES.input;
      if (left <= 0n) return chosen;
    }
    throw outOfFunds();
  }

  return {
    /** The balance of an address, in BTC. */
    balance: async (address: string): Promise<number> => (await scan(address)).total_amount,

    /** Sends BTC to an address. @param sats the amount @throws FaucetError */
    async send(address: string, sats: bigint): Promise<SentBitcoin> {
      const unspents = await enough(sats);
      // The values of what it spends are known from the node itself, so whole transactions are not needed.
      const transaction = new Transaction({ allowLegacyWitnessUtxo: true });
      for (const { txid, vout, sats: amount } of unspents) {
        transaction.addInput({ txid, index: vout, witnessUtxo: { script: own.script, amount } });
      }
      transaction.addOutputAddress(address, sats, REGTEST);
      const fee = FEE_RATE * (BYTES.base + 2n * BYTES.output + BYTES.input * BigInt(unspents.length));
      const change = unspents.reduce((sum, { sats: worth }) => sum + worth, 0n) - sats - fee;
      if (change > DUST && own.address !== undefined) transaction.addOutputAddress(own.address, change, REGTEST);
      try {
        transaction.sign(secret);
        transaction.finalize();
      } catch (cause) {
        throw failed(cause);
      }
      const raw_tx = transaction.hex;
      return { txid: await rpc('sendrawtransaction', [raw_tx], TransactionId), raw_tx };
    },
  };
}
