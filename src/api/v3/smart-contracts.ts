/** Contracts, with their source. */
import { Type } from '@sinclair/typebox';
import { payloadOf } from '../../codec/transaction.ts';
import { requireFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { SmartContract as StoredSmartContract } from '../../store/model/contract.ts';
import { nullable, object } from '../shared/fields.ts';
import { ContractParameter, includeQuery } from '../shared/parameters.ts';
import { origin } from './transaction.ts';

/** A contract with the transaction that deployed it. The context has the names of large members to return. */
const [SmartContract, smartContract] = object<StoredSmartContract, [include: readonly 'source_code'[]]>(
  'SmartContract',
)({
  contract_id: [Type.String(), ({ contractId }) => contractId],
  clarity_version: [nullable(Type.Integer()), ({ clarityVersion }) => clarityVersion],
  ...origin,
  source_code: [
    Type.Optional(Type.String()),
    ({ raw }, include) => (include.includes('source_code') ? payloadOf(raw, 'smart_contract').source : undefined),
  ],
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
    handle: ({ params: { contract_id }, query: { include = [] }, read }) =>
      smartContract(requireFound(read.contracts.find(contract_id), UNKNOWN), include),
  }),
];
