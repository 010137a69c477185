/** Contracts, with their source. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { payloadOf } from '../../codec/transaction.ts';
import { notFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { SmartContract as StoredSmartContract } from '../../store/model/contract.ts';
import { ContractParameter, includeQuery } from '../shared/parameters.ts';
import { Hash, nullable } from '../shared/values.ts';
import { BitcoinBlock, Block, block } from './transaction.ts';

const SmartContract = Type.Object(
  {
    contract_id: Type.String(),
    clarity_version: nullable(Type.Integer()),
    tx_id: Hash,
    block: Block,
    bitcoin_block: BitcoinBlock,
    source_code: Type.Optional(Type.String()),
  },
  { $id: 'SmartContract' },
);

/**
 * A contract with the transaction that deployed it.
 * @param include names of large members to return
 */
export const smartContract = (
  contract: StoredSmartContract,
  include: readonly 'source_code'[],
): Static<typeof SmartContract> => ({
  contract_id: contract.contractId,
  clarity_version: contract.clarityVersion,
  tx_id: toHex(contract.txId),
  block: block(contract),
  bitcoin_block: { height: contract.burnBlock.height, time: contract.burnBlock.time },
  ...(include.includes('source_code') ? { source_code: payloadOf(contract.raw, 'smart_contract').source } : {}),
});

const UNKNOWN = 'Smart contract not found';

export const smartContracts = [
  route({
    path: '/extended/v3/smart-contracts/{contract_id}',
    operationId: 'getSmartContract',
    summary: 'One smart contract',
    description:
      'Returns a smart contract that was deployed successfully on the canonical chain. Its source code is returned only if `include` names it.',
    tag: 'Smart contracts',
    params: { contract_id: ContractParameter },
    query: includeQuery('source_code'),
    response: SmartContract,
    notFound: UNKNOWN,
    etag: chainTip,
    history: 'thing',
    handle: ({ params: { contract_id }, query: { include = [] }, read }) => {
      const found = read.contracts.find(contract_id);
      if (found === undefined) throw notFound(UNKNOWN);
      return smartContract(found, include);
    },
  }),
];
