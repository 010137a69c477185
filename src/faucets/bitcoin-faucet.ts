/** The BTC faucet of regtest chains, which spends the outputs of its key. */
import { Address, p2pkh, Transaction } from '@scure/btc-signer';
import { pubECDSA } from '@scure/btc-signer/utils.js';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parsedJson } from '../base/json.ts';
import { fromHex } from '../codec/hex.ts';
import { wholeAnswer } from '../http/direct-fetch.ts';
import { failed, outOfFunds, unavailable } from './faucet-error.ts';

export interface BitcoinRpcOptions {
  /** URL without a trailing slash. */
  url: string;
  user: string;
  password: string;
}

/** Timeout of a call, in milliseconds. A scan of all outputs takes long. */
const TIMEOUT_MS = 120_000;

const Answer = Type.Object({
  result: Type.Unknown(),
  error: Type.Union([Type.Null(), Type.Object({ message: Type.String() })]),
});

/** Calls a method. Throws FaucetError if there is no answer, or the answer has another form. */
export type BitcoinRpc = <Result extends TSchema>(
  method: string,
  parameters: readonly unknown[],
  result: Result,
) => Promise<Static<Result>>;

/** Returns a client of a Bitcoin node's JSON-RPC interface. */
export function bitcoinRpc({ url, user, password }: BitcoinRpcOptions): BitcoinRpc {
  const authorization = `Basic ${btoa(`${user}:${password}`)}`;

  async function post(body: string): Promise<unknown> {
    const headers = { 'content-type': 'application/json', authorization };
    const limits = { server: 'the Bitcoin node', timeoutMs: TIMEOUT_MS };
    const response = await wholeAnswer(url, { method: 'POST', headers, body }, limits).catch((cause) => {
      throw unavailable(cause);
    });
    const text = await response.text();
    const answer = parsedJson(text === '' ? 'null' : text);
    // A proxy in between sent an answer that isn't JSON.
    if (answer === undefined) throw unavailable(new Error("The Bitcoin node's answer isn't JSON"));
    return answer;
  }

  return async (method, parameters, result) => {
    const answer = await post(JSON.stringify({ jsonrpc: '1.0', id: 'stackside', method, params: parameters }));
    if (!Value.Check(Answer, answer))
      throw failed(new Error(`The Bitcoin node's answer to ${method} has an unknown form`));
    if (answer.error !== null) throw failed(new Error(`${method} of the Bitcoin node: ${answer.error.message}`));
    if (!Value.Check(result, answer.result)) throw failed(new Error(`${method} answered in another form`));
    return answer.result;
  };
}

/** Address versions and prefix of regtest (as `regtest` in Bitcoin Core's chainparams). */
const REGTEST = { bech32: 'bcrt', pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef };

const SATS = 100_000_000;
/** Fee in satoshi per virtual byte. */
const FEE_RATE = 50n;
/** Virtual bytes of the transaction's fixed part, of an input, and of the longest kind of output. */
const VBYTES = { base: 10n, input: 148n, output: 43n };
/** Minimum sats of an output. Smaller outputs are dust, which nodes don't relay. */
const DUST = 546n;

const Scan = Type.Object({
  success: Type.Boolean(),
  total_amount: Type.Number(),
  unspents: Type.Array(Type.Object({ txid: Type.String(), vout: Type.Integer(), amount: Type.Number() })),
});
/** Null for spent outputs, even if they were spent in the mempool. */
const Output = Type.Union([
  Type.Null(),
  Type.Object({ confirmations: Type.Integer(), coinbase: Type.Boolean(), value: Type.Number() }),
]);
const TransactionId = Type.String({ pattern: '^[0-9a-f]{64}$' });

const satsOf = (btc: number): bigint => BigInt(Math.round(btc * SATS));

/** Reports whether a text is an address of a regtest chain. */
export function isRegtestAddress(text: string): boolean {
  try {
    Address(REGTEST).decode(text);
    return true;
  } catch {
    return false;
  }
}

/** A broadcast transaction: its id and bytes, in hex. */
export interface SentBitcoin {
  txid: string;
  raw_tx: string;
}

interface Unspent {
  txid: string;
  vout: number;
  sats: bigint;
}

/** Returns the BTC faucet. @param key private key in hex: 32 bytes, or 33 with the suffix of compressed public keys */
export function bitcoinFaucet(rpc: BitcoinRpc, key: string) {
  const secret = new Uint8Array(fromHex(key.slice(0, 64)));
  const account = p2pkh(pubECDSA(secret, true), REGTEST);

  const scan = (address: string) => rpc('scantxoutset', ['start', [`addr(${address})`]], Scan);

  /** Returns unspent outputs with enough value. The largest come first, so that few are needed. */
  async function selectOutputs(sats: bigint): Promise<Unspent[]> {
    const { unspents } = await scan(account.address);
    const outputs: Unspent[] = [];
    let missingSats = sats + FEE_RATE * (VBYTES.base + 2n * VBYTES.output);
    for (const { txid, vout } of unspents.toSorted((a, b) => b.amount - a.amount)) {
      const output = await rpc('gettxout', [txid, vout, true], Output);
      if (output === null || output.confirmations <= (output.coinbase ? 100 : 1)) continue;
      const worth = satsOf(output.value);
      outputs.push({ txid, vout, sats: worth });
      missingSats -= worth - FEE_RATE * VBYTES.input;
      if (missingSats <= 0n) return outputs;
    }
    throw outOfFunds();
  }

  return {
    /** Returns the balance of an address, in BTC. */
    balance: async (address: string): Promise<number> => (await scan(address)).total_amount,

    /** Sends BTC to an address. @param sats the amount @throws FaucetError */
    async send(address: string, sats: bigint): Promise<SentBitcoin> {
      const unspents = await selectOutputs(sats);
      // The node returns the values of the spent outputs, so the transaction doesn't need their transactions.
      const transaction = new Transaction({ allowLegacyWitnessUtxo: true });
      for (const { txid, vout, sats: amount } of unspents) {
        transaction.addInput({ txid, index: vout, witnessUtxo: { script: account.script, amount } });
      }
      transaction.addOutputAddress(address, sats, REGTEST);
      const fee = FEE_RATE * (VBYTES.base + 2n * VBYTES.output + VBYTES.input * BigInt(unspents.length));
      const change = unspents.reduce((sum, { sats: worth }) => sum + worth, 0n) - sats - fee;
      if (change > DUST) transaction.addOutputAddress(account.address, change, REGTEST);
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
