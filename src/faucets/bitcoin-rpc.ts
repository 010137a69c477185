/** The RPC interface of a Bitcoin node. */

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parsedJson } from '../base/json-text.ts';
import { directFetch } from '../http/direct-fetch.ts';
import { failed, unavailable } from './faucet-error.ts';

export interface BitcoinRpcOptions {
  /** The URL, without a slash at its end. */
  url: string;
  user: string;
  password: string;
}

/** Scanning all outputs takes its time. */
const TIMEOUT_MS = 120_000;

const Answer = Type.Object({
  result: Type.Unknown(),
  error: Type.Union([Type.Null(), Type.Object({ message: Type.String() })]),
});

/** Calls a method. Throws FaucetError where there is no answer, or none of that form. */
export type BitcoinRpc = <Result extends TSchema>(
  method: string,
  parameters: readonly unknown[],
  result: Result,
) => Promise<Static<Result>>;

/** A client of a Bitcoin node's JSON-RPC interface. */
export function bitcoinRpc({ url, user, password }: BitcoinRpcOptions): BitcoinRpc {
  const authorization = `Basic ${btoa(`${user}:${password}`)}`;

  async function textOf(body: string): Promise<string> {
    try {
      const response = await directFetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization },
        body,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return await response.text();
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  async function post(body: string): Promise<unknown> {
    const text = await textOf(body);
    const answer = parsedJson(text === '' ? 'null' : text);
    // An answer that is no JSON comes from what stands between.
    if (answer === undefined) throw unavailable(new Error('The Bitcoin node answered no JSON'));
    return answer;
  }

  return async (method, parameters, result) => {
    const answer = await post(JSON.stringify({ jsonrpc: '1.0', id: 'stackside', method, params: parameters }));
    if (!Value.Check(Answer, answer)) throw failed(new Error(`${method} of the Bitcoin node answered nothing known`));
    if (answer.error !== null) throw failed(new Error(`${method} of the Bitcoin node: ${answer.error.message}`));
    if (!Value.Check(result, answer.result)) throw failed(new Error(`${method} answered in another form`));
    return answer.result;
  };
}
