/** Transactions that the index has no rows of, from the payload that announced them. */
import type { Block, ChainTransaction } from '../../chain/block.ts';
import type { TransactionEvent } from '../model/event.ts';
import type { SummaryPayload, TransactionDetail } from '../model/transaction.ts';

function summaryPayload({ payload, sender }: ChainTransaction): SummaryPayload {
  const { type } = payload;
  switch (type) {
    case 'token_transfer':
      return { type, recipient: payload.recipient, amount: payload.amount.toString(), memo: payload.memo };
    case 'smart_contract': {
      const { clarityVersion, contractName } = payload;
      return { type, contractId: `${sender.address}.${contractName}`, clarityVersion };
    }
    case 'contract_call':
      return { type, contractId: payload.contractId, functionName: payload.functionName };
    case 'poison_microblock':
    case 'unknown':
      return { type };
    case 'coinbase':
      return { type, altRecipient: payload.altRecipient };
    case 'tenure_change':
      return { type, cause: payload.cause };
  }
}

type Surroundings = Pick<
  TransactionDetail,
  'canonical' | 'block' | 'burnBlock' | 'parentBlock' | 'parentBurnBlockTime' | 'microblock'
>;

/** @param surroundings where it stands */
export const detailFromPayload = (transaction: ChainTransaction, surroundings: Surroundings): TransactionDetail => ({
  txId: transaction.txId,
  // Operations made on Bitcoin use no nonce; clients are shown 0.
  sender: transaction.bitcoinOperation ? { ...transaction.sender, nonce: 0n } : transaction.sender,
  sponsor: transaction.sponsor,
  fee: transaction.fee.toString(),
  payload: summaryPayload(transaction),
  txIndex: transaction.txIndex,
  status: transaction.status,
  anchorMode: transaction.anchorMode,
  eventCount: transaction.events.length,
  cost: transaction.cost,
  vmError: transaction.vmError,
  result: transaction.result,
  postConditions: transaction.postConditions,
  raw: transaction.raw,
  functionArgs:
    transaction.bitcoinOperation && transaction.payload.type === 'contract_call'
      ? transaction.payload.functionArgs
      : null,
  ...surroundings,
});

/** @param canonical whether the block is */
export const detailInBlock = (transaction: ChainTransaction, block: Block, canonical: boolean): TransactionDetail =>
  detailFromPayload(transaction, {
    canonical,
    block: {
      height: block.height,
      hash: block.blockHash,
      indexHash: block.indexBlockHash,
      time: transaction.genesis?.blockTime || block.blockTime,
    },
    burnBlock: { height: block.burnBlockHeight, time: block.burnBlockTime },
    parentBlock: {
      hash: block.parentBlockHash,
      indexHash: transaction.genesis?.parentIndexBlockHash ?? block.parentIndexBlockHash,
    },
    parentBurnBlockTime: (transaction.genesis ?? block).parentBurnBlockTime,
    microblock: transaction.microblock,
  });

export const indexedEvents = ({ events }: ChainTransaction): TransactionEvent[] =>
  Array.from(events, (event, index) => ({ ...event, index }));
