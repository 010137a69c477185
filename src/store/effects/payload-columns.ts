/** The columns of a payload that lists show, for canonical and for mempool transactions. */
import type { TransactionContent } from '../../chain/block.ts';
import type { Payload } from '../../codec/transaction.ts';
import { storedTenureCause } from '../rows/enums.ts';
import type { Dictionaries } from './dictionary.ts';

interface PayloadColumns {
  recipientId: number | null;
  amount: string | null;
  memo: Uint8Array | null;
  contractId: number | null;
  functionName: string | null;
  clarityVersion: number | null;
  tenureChangeCause: number | null;
}

const EMPTY: PayloadColumns = {
  recipientId: null,
  amount: null,
  memo: null,
  contractId: null,
  functionName: null,
  clarityVersion: null,
  tenureChangeCause: null,
};

/** The columns of a payload. @param sender address of the origin, which is the address of the contracts that it deploys */
export function payloadColumns(
  payload: Payload,
  sender: string,
  principals: Dictionaries['principals'],
): PayloadColumns {
  switch (payload.type) {
    case 'token_transfer':
      return {
        ...EMPTY,
        recipientId: principals.id(payload.recipient),
        amount: payload.amount.toString(),
        memo: payload.memo,
      };
    case 'smart_contract':
      return {
        ...EMPTY,
        contractId: principals.id(`${sender}.${payload.contractName}`),
        clarityVersion: payload.clarityVersion,
      };
    case 'contract_call':
      return { ...EMPTY, contractId: principals.id(payload.contractId), functionName: payload.functionName };
    case 'coinbase':
      return {
        ...EMPTY,
        recipientId: payload.altRecipient === null ? null : principals.id(payload.altRecipient),
      };
    case 'tenure_change':
      return { ...EMPTY, tenureChangeCause: storedTenureCause.numberOf(payload.cause) };
    case 'poison_microblock':
    case 'unknown':
      return EMPTY;
  }
}

/** The identifier of the contract that a transaction deploys; null if it deploys none. */
export const deployedContract = ({ payload, sender }: Pick<TransactionContent, 'payload' | 'sender'>): string | null =>
  payload.type === 'smart_contract' ? `${sender.address}.${payload.contractName}` : null;
