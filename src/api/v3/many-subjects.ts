/** Several principals or transactions in one request, from one snapshot, in the forms of v3. Stackside's own routes. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { requireWholeHistory, withUntouched } from '../../http/history.ts';
import { listOf } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { Decimals, Hash, loadUnit, named, nullable, TokenSymbol, words } from '../shared/fields.ts';
import {
  AssetParameter,
  listField,
  MAX_SUBJECTS,
  ResultsAtTip,
  readPrincipals,
  TxId,
  texts,
  tipOf,
} from '../shared/parameters.ts';
import { StxBalance, stxBalance } from './principals.ts';
import { FtBalance, ftBalance } from './tokens.ts';
import { FoundTransaction, fullTransaction, includable } from './transaction.ts';

const tag = 'Stackside';
const MAX_TOKENS = 20;

const MeasuredFtBalance = named('MeasuredFtBalance', {
  ...FtBalance.properties,
  symbol: nullable(TokenSymbol),
  decimals: nullable(Decimals),
});
const PrincipalBalances = named('PrincipalBalances', {
  principal: Type.String(),
  stx: StxBalance,
  fungible_tokens: Type.Array(MeasuredFtBalance),
});
const AskedTransaction = named('AskedTransaction', { tx_id: Hash, transaction: nullable(FoundTransaction) });

const readTokens = listField('fungible_tokens', AssetParameter);
const readTxIds = listField('tx_ids', TxId);

const balancesOfMany = route({
  method: 'POST',
  path: '/stackside/v1/principals/balances',
  operationId: 'getBalancesOfPrincipals',
  summary: 'Balances of several principals',
  description:
    'Returns the STX balances of up to 50 principals, and on request their balances of up to 20 fungible tokens, in the order of the request. All are from one state of the chain. Unknown principals have balances of zero.',
  tag,
  body: Type.Object(
    {
      principals: texts('Standard addresses and contract identifiers', { minItems: 1, maxItems: MAX_SUBJECTS }),
      fungible_tokens: Type.Optional(
        texts('Asset identifiers of the fungible tokens to return balances of', { maxItems: MAX_TOKENS }),
      ),
    },
    { additionalProperties: false },
  ),
  response: listOf(ResultsAtTip, PrincipalBalances),
  etag: null,
  history: 'account',
  handle: ({ body, read, askAccount }) => {
    const principals = readPrincipals(body.principals);
    const tokens = readTokens(body.fungible_tokens ?? []);
    if (tokens.length > 0) requireWholeHistory(read);
    return withUntouched(read, principals, askAccount, (untouched) => {
      const units = tokens.map((asset) => loadUnit(read, asset));
      const balancesOf = (principal: string, place: number) => ({
        principal,
        stx: stxBalance(read.principals.stxBalance(principal, untouched[place])),
        fungible_tokens: tokens.map((asset, index) => ({
          ...ftBalance({ asset, balance: read.principals.ftBalance(principal, asset) }),
          ...units[index]!,
        })),
      });
      return { ...tipOf(read), results: principals.map(balancesOf) };
    });
  },
});

const manyTransactions = route({
  method: 'POST',
  path: '/stackside/v1/transactions/multiple',
  operationId: 'getManyTransactions',
  summary: 'Several transactions',
  description:
    'Returns up to 50 transactions, in the order of the request, whether they are mined, pending or dropped. All are from one state of the chain. `transaction` is null for an unknown id. Large parts are returned only if `include` names them.',
  tag,
  body: Type.Object(
    {
      tx_ids: texts('Transaction ids, with or without 0x', { minItems: 1, maxItems: MAX_SUBJECTS }),
      include: Type.Optional(
        Type.Array(words(...includable), { description: 'Optional parts to return', uniqueItems: true }),
      ),
    },
    { additionalProperties: false },
  ),
  response: listOf(ResultsAtTip, AskedTransaction),
  etag: null,
  history: 'since',
  handle: ({ body: { tx_ids, include = [] }, read }) => {
    const toResult = (id: Uint8Array) => {
      const transaction = read.transactions.find(id);
      return {
        tx_id: toHex(id),
        transaction: transaction === undefined ? null : fullTransaction(transaction, include),
      };
    };
    return { ...tipOf(read), results: readTxIds(tx_ids).map(toResult) };
  },
});

export const manySubjects = [balancesOfMany, manyTransactions];
