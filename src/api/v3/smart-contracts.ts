import { notFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import { ContractParameter, includeQuery } from '../shared/parameters.ts';
import { SmartContract } from './schemas/smart-contract.ts';
import { smartContract } from './serialize/smart-contract.ts';

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
    handle: async ({ params: { contract_id }, query: { include = [] }, read }) => {
      const found = await read.contracts.find(contract_id);
      if (found === undefined) throw notFound(UNKNOWN);
      return smartContract(found, include);
    },
  }),
];
