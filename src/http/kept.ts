/**
 * What an index of chosen accounts and contracts (`--only`) can answer. Each answer equals that of an index of everything, or is a
 * 404 that says that the index does not keep what it needs. A route declares what its answers need, and `route.ts` sees to it for
 * all of them.
 */
import { type Awaitable, andThen } from '../base/awaitable.ts';
import { contractOfAsset } from '../chain/token-contracts.ts';
import type { Reader } from '../store/read/index-reader.ts';
import { LackingIndexError } from './errors.ts';

/**
 * What the answers of a route need of an index that keeps some accounts and contracts:
 * - `headers`: headers of blocks, deployments, pending transactions of an account, the state of the server, which every index has.
 * - `principal`: what concerns the parameter `principal`, or each of `principals`; and the transaction of `tx_id`, if it has that.
 * - `contract`: what concerns the contract of the parameter `contract_id`, `principal`, `asset_identifier`, `token` or
 *   `asset_identifiers`.
 * - `transaction`: one that is kept, by the parameter `tx_id`.
 * - `everything`: what no such index has.
 */
export type KeptNeed = 'headers' | 'principal' | 'contract' | 'transaction' | 'everything';

/** The index doesn't keep what the answer needs. */
export class NotKeptError extends LackingIndexError {
  override readonly name = 'NotKeptError';
  constructor(what: string) {
    super(404, `This server keeps chosen accounts and contracts alone (--only), not ${what}`, 'not_kept');
  }
}

type Given = Readonly<Record<string, unknown>>;

/** The parameters of a request. */
interface Asked {
  params: Given;
  query: Given;
}

/** The texts of parameters, of those that are given. */
const textsOf = (given: Given, names: readonly string[]): string[] =>
  names.flatMap((name) => given[name] ?? []).filter((value): value is string => typeof value === 'string');

const CONTRACT_PARAMETERS = ['contract_id', 'asset_identifier', 'token', 'asset_identifiers'];

function requireChosen(principals: readonly string[], only: ReadonlySet<string>): void {
  if (principals.length === 0) throw new NotKeptError('what concerns others');
  const other = principals.find((principal) => !only.has(principal));
  if (other !== undefined) throw new NotKeptError(`what concerns ${other}`);
}

/** Requires the transaction of the parameter `tx_id`, where a route has it. */
function requireTransaction({ tx_id: id }: Given, read: Reader): Awaitable<void> {
  if (!(id instanceof Uint8Array)) return;
  return andThen(read.transactions.isKept(id), (isKept) => {
    if (!isKept) throw new NotKeptError(`the transaction 0x${id.toHex()}`);
  });
}

/**
 * Refuses an answer that the index does not keep.
 * @throws ApiError with the code `not_kept`
 */
export function requireKept(need: KeptNeed, { params, query }: Asked, read: Reader): Awaitable<void> {
  const { only } = read.chain.rules();
  if (only === null || need === 'headers') return;
  if (need === 'everything') throw new NotKeptError('all that the answer needs');
  const given = { ...query, ...params };
  if (need === 'principal') requireChosen(textsOf(given, ['principal', 'principals']), only);
  else if (need === 'contract') {
    const named = textsOf(given, CONTRACT_PARAMETERS).map(contractOfAsset);
    requireChosen(named.length > 0 ? named : textsOf(given, ['principal']), only);
  }
  return requireTransaction(given, read);
}
