/** The STX and sBTC faucet: signs transactions with its keys, and has the node broadcast them. */
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { STACKS_TESTNET, type StacksNetwork } from '@stacks/network';
import {
  Cl,
  getAddressFromPrivateKey,
  makeContractCall,
  makeSTXTokenTransfer,
  Pc,
  type StacksTransactionWire,
  serializePayload,
} from '@stacks/transactions';
import { parsedJson } from '../base/json.ts';
import { fromHex } from '../codec/hex.ts';
import { UnreachableError } from '../http/direct-fetch.ts';
import { failed, outOfFunds, unavailable } from './faucet-error.ts';

/** A broadcast transaction: its id with 0x, and its bytes in hex without 0x. */
export interface BroadcastTransaction {
  txId: string;
  txRaw: string;
}

interface FaucetNode {
  /** Sends a request to the node. @param path with the query @throws UnreachableError */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Returns a JSON value from the node; undefined for any other answer. @param path with the query @throws UnreachableError */
  json(path: string): Promise<unknown>;
  /** Returns the chain that the node follows. @throws UnreachableError */
  info(): Promise<{ chainId: number }>;
}

export interface StacksFaucetOptions {
  /** Private keys in hex, one per account. */
  keys: readonly string[];
  node: FaucetNode;
  /** Returns the next nonce of an account, according to the index. */
  nextNonce(address: string): bigint;
}

const Fees = Type.Object({ estimations: Type.Array(Type.Object({ fee: Type.Number() }), { minItems: 1 }) });
const MinimumStake = Type.Object({ min_amount_ustx: Type.Number() });

/** Rejection reasons after which the faucet tries another account. */
const TRY_ANOTHER = ['ConflictingNonceInMempool', 'TooMuchChaining', 'NotEnoughFunds'];

/** Makes a signed transaction. @param fee in micro-STX */
type Make = (sender: {
  key: string;
  nonce: bigint;
  fee: bigint;
  network: StacksNetwork;
}) => Promise<StacksTransactionWire>;

/** Returns the faucet of STX and sBTC, which signs with the accounts of the given keys. */
export function stacksFaucet({ keys, node, nextNonce }: StacksFaucetOptions) {
  /** Returns the node's middle fee estimate, or the fallback if there is no estimate. */
  async function feeFor(transaction: StacksTransactionWire, fallback: bigint): Promise<bigint> {
    const response = await node.request('/v2/fees/transaction', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        transaction_payload: serializePayload(transaction.payload),
        estimated_len: transaction.serialize().length / 2,
      }),
    });
    const body = response.ok ? parsedJson(await response.text()) : null;
    if (!Value.Check(Fees, body)) return fallback;
    const { estimations } = body;
    return BigInt(Math.ceil(estimations[Math.floor(estimations.length / 2)]?.fee ?? Number(fallback)));
  }

  /** Signs with one account and broadcasts. @returns the transaction, or the node's reason for rejecting it */
  async function sendFrom(
    key: string,
    make: Make,
    fallbackFee: bigint,
  ): Promise<BroadcastTransaction | { reason: string }> {
    const { chainId } = await node.info();
    const network: StacksNetwork = { ...STACKS_TESTNET, chainId };
    const nonce = nextNonce(getAddressFromPrivateKey(key, network));
    const draft = await make({ key, nonce, fee: fallbackFee, network });
    const transaction = await make({ key, nonce, fee: await feeFor(draft, fallbackFee), network });
    const txRaw = transaction.serialize();
    const response = await node.request('/v2/transactions', {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(fromHex(txRaw)),
    });
    if (!response.ok) return { reason: await response.text() };
    await response.body?.cancel();
    return { txId: `0x${transaction.txid()}`, txRaw };
  }

  /** Sends from the first account that can. @throws FaucetError if none can */
  async function send(accounts: readonly string[], make: Make, fallbackFee: bigint): Promise<BroadcastTransaction> {
    let reason = '';
    try {
      for (const key of accounts) {
        const sent = await sendFrom(key, make, fallbackFee);
        if ('txId' in sent) return sent;
        reason = sent.reason;
        if (!TRY_ANOTHER.some((word) => reason.includes(word))) break;
      }
    } catch (cause) {
      throw cause instanceof UnreachableError ? unavailable(cause) : failed(cause);
    }
    throw reason.includes('NotEnoughFunds') ? outOfFunds() : failed(new Error(`the node refused it: ${reason}`));
  }

  return {
    /** Returns the minimum for solo stacking plus a fifth, in micro-STX; null if the node doesn't return it. */
    async stackingAmount(): Promise<bigint | null> {
      try {
        const body = await node.json('/v2/pox');
        if (!Value.Check(MinimumStake, body)) return null;
        return BigInt(body.min_amount_ustx) + BigInt(Math.round(body.min_amount_ustx / 5));
      } catch (error) {
        if (!(error instanceof UnreachableError)) throw error;
        return null;
      }
    },

    /** Sends STX from a random account, or from the others if it can't. @param amount micro-STX */
    sendStx(recipient: string, amount: bigint): Promise<BroadcastTransaction> {
      const first = Math.floor(Math.random() * keys.length);
      const make: Make = ({ key, nonce, fee, network }) =>
        makeSTXTokenTransfer({ recipient, amount, senderKey: key, memo: 'faucet', nonce, fee, network });
      return send([...keys.slice(first), ...keys.slice(0, first)], make, 200n);
    },

    /**
     * Sends a SIP-010 token from the first account.
     * @param asset the token's asset identifier
     * @param amount base units
     */
    sendToken(asset: string, recipient: string, amount: bigint): Promise<BroadcastTransaction> {
      const [contract = '', tokenName = ''] = asset.split('::');
      const [contractAddress = '', contractName = ''] = contract.split('.');
      const make: Make = ({ key, nonce, fee, network }) => {
        const sender = getAddressFromPrivateKey(key, network);
        return makeContractCall({
          contractAddress,
          contractName,
          functionName: 'transfer',
          functionArgs: [Cl.uint(amount), Cl.principal(sender), Cl.principal(recipient), Cl.none()],
          postConditions: [Pc.principal(sender).willSendEq(amount).ft(`${contractAddress}.${contractName}`, tokenName)],
          senderKey: key,
          nonce,
          fee,
          network,
        });
      };
      return send(keys.slice(0, 1), make, 1000n);
    },
  };
}
