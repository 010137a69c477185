/** Writes transactions: the columns of lists, the body that only single answers need, and deployed contracts. */
import type { Database } from 'bun:sqlite';
import type { ChainTransaction, ExecutionCost, TransactionContent } from '../../chain/block.ts';
import type { EffectOf, Sign } from '../../chain/effect.ts';
import { contractFunctions } from '../../codec/abi.ts';
import type { Payload } from '../../codec/transaction.ts';
import { DEPLOYMENTS, STATUS, storedTenureCause } from '../rows/enums.ts';
import { sortable } from '../rows/formats.ts';
import { query } from '../rows/statement.ts';
import { modelInserter, type NewRow, type Renamed, type StoredRow, table } from '../rows/table.ts';
import { declaredFunctionsTable, transactionBodiesTable, transactionsTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import { namePartWriter } from './name-part-writer.ts';

type PayloadColumns = Pick<
  StoredRow<typeof transactionsTable>,
  'recipient_id' | 'amount' | 'memo' | 'contract_id' | 'function_name' | 'clarity_version' | 'tenure_change_cause'
>;

const EMPTY: PayloadColumns = {
  recipient_id: null,
  amount: null,
  memo: null,
  contract_id: null,
  function_name: null,
  clarity_version: null,
  tenure_change_cause: null,
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
        recipient_id: principals.id(payload.recipient),
        amount: payload.amount.toString(),
        memo: payload.memo,
      };
    case 'smart_contract':
      return {
        ...EMPTY,
        contract_id: principals.id(`${sender}.${payload.contractName}`),
        clarity_version: payload.clarityVersion,
      };
    case 'contract_call':
      return { ...EMPTY, contract_id: principals.id(payload.contractId), function_name: payload.functionName };
    case 'coinbase':
      return { ...EMPTY, recipient_id: payload.altRecipient === null ? null : principals.id(payload.altRecipient) };
    case 'tenure_change':
      return { ...EMPTY, tenure_change_cause: storedTenureCause.numberOf(payload.cause) };
    case 'poison_microblock':
    case 'unknown':
      return EMPTY;
  }
}

/** The identifier of the contract that a transaction deploys; null if it deploys none. */
export const deployedContract = ({ payload, sender }: Pick<TransactionContent, 'payload' | 'sender'>): string | null =>
  payload.type === 'smart_contract' ? `${sender.address}.${payload.contractName}` : null;

const declaredNames = ({ contractInterface }: ChainTransaction): string[] =>
  contractInterface === null ? [] : [...contractFunctions(contractInterface).keys()];

function transactionRow(
  position: number,
  transaction: ChainTransaction,
  principals: Dictionaries['principals'],
): NewRow<typeof transactionsTable> {
  const { sender, sponsor, payload, microblock } = transaction;
  return {
    ...payloadColumns(payload, sender.address, principals),
    position,
    tx_id: transaction.txId,
    tx_index: transaction.txIndex,
    type: payload.typeId,
    status: STATUS[transaction.status],
    sender_id: principals.id(sender.address),
    nonce: transaction.bitcoinOperation ? null : sender.nonce,
    sponsor_id: sponsor === null ? null : principals.id(sponsor.address),
    sponsor_nonce: sponsor?.nonce ?? null,
    fee: sortable(transaction.fee.toString()),
    event_count: transaction.events.length,
    microblock_sequence: microblock?.sequence ?? null,
    microblock_hash: microblock?.hash ?? null,
    microblock_parent_hash: microblock?.parentHash ?? null,
    genesis_block_time: transaction.genesis?.blockTime ?? null,
  };
}

/** The columns of a cost. */
export const costColumns = ({ runtime, readCount, readLength, writeCount, writeLength }: ExecutionCost) => ({
  costRuntime: runtime,
  costReadCount: readCount,
  costReadLength: readLength,
  costWriteCount: writeCount,
  costWriteLength: writeLength,
});

function bodyRow(position: number, transaction: ChainTransaction): Renamed<NewRow<typeof transactionBodiesTable>> {
  const { payload, genesis, bitcoinOperation } = transaction;
  return {
    ...transaction,
    ...costColumns(transaction.cost),
    position,
    functionArgs: bitcoinOperation && payload.type === 'contract_call' ? payload.functionArgs : null,
    genesisParentIndexBlockHash: genesis?.parentIndexBlockHash ?? null,
    genesisParentBurnBlockTime: genesis?.parentBurnBlockTime ?? null,
  };
}

/** Applies effects on transactions. */
export function transactionWriter(db: Database, { principals }: Dictionaries) {
  const transactions = table(db, transactionsTable);
  const addBody = modelInserter(db, transactionBodiesTable);
  const { remove: removeBody } = table(db, transactionBodiesTable);
  const functions = table(db, declaredFunctionsTable);
  const parts = namePartWriter(db);
  const succeeded = query<{ found: number }, [number]>`
    SELECT 1 AS found FROM transactions
     WHERE contract_id = ?1 AND type IN (${DEPLOYMENTS}) AND status = ${STATUS.success} LIMIT 1`.prepared(db);

  /** Adds or removes the name parts of a contract. Call it while the row of this deployment is not stored. */
  function moveNameParts(sign: Sign, contract: string, { status }: ChainTransaction): void {
    const id = principals.id(contract);
    if (status === 'success' && succeeded.get(id) === null) parts.contract(sign, id, contract);
  }

  function add(position: number, transaction: ChainTransaction): void {
    const contract = deployedContract(transaction);
    if (contract !== null) moveNameParts(1, contract, transaction);
    transactions.add(transactionRow(position, transaction, principals));
    addBody(bodyRow(position, transaction));
    if (contract === null) return;
    for (const name of declaredNames(transaction)) functions.add({ name, position });
  }

  function remove(position: number, transaction: ChainTransaction): void {
    const contract = deployedContract(transaction);
    if (contract !== null) for (const name of declaredNames(transaction)) functions.remove({ name, position });
    removeBody({ position });
    transactions.remove({ position });
    if (contract !== null) moveNameParts(-1, contract, transaction);
  }

  return ({ sign, position, transaction }: EffectOf<'transaction'>): void =>
    sign === 1 ? add(position, transaction) : remove(position, transaction);
}
