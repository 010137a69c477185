/** Where the arguments of a stored call stand. */
import { payloadOf } from '../../codec/transaction.ts';

/** Columns of transaction_bodies. */
export interface CallColumns {
  function_args: Uint8Array | null;
  raw: Uint8Array;
}

/** The serialized arguments of a call: an operation made on Bitcoin has them apart, others in the transaction itself. */
export const callArguments = ({ function_args, raw }: CallColumns): Uint8Array =>
  function_args ?? payloadOf(raw, 'contract_call').functionArgs;
