/**
 * Looks up untouched accounts at the node: accounts that no block of a partial history concerns. The answers stay in
 * memory only until the next block, because the block may touch the account. The index then looks up the account, and
 * the answer becomes an entry.
 */
import type { Clock } from '../base/clock.ts';
import { atMost } from '../base/turns.ts';
import { type AskAccount, nodeAway } from '../http/history.ts';
import type { StartingAccount } from '../store/queries/accounts/starting-accounts.ts';
import { NoAnswer, reached, requestAccount, ThrottledNode } from './facts.ts';
import { type NodeRpc, NodeUnreachableError } from './rpc.ts';

/** Maximum requests to the node per second, and at the same time. The node needs its time for the chain. */
const RATE = 50;
const AT_ONCE = 8;
/** Maximum accounts in memory, and maximum waiting requests. Each waiting request holds a snapshot of the index. */
const MAX_KEPT = 10_000;
const MAX_WAITING = 64;

/** Makes a function that requests the STX and nonces of accounts from the node. */
export function untouchedAccounts(rpc: NodeRpc, clock: Clock): AskAccount {
  const node = new ThrottledNode(rpc, { rate: RATE, retries: 0, clock });
  const turn = atMost(AT_ONCE);
  /** Index block hash of the newest tip, and the requests for accounts in its state. */
  let tip = '';
  let accounts = new Map<string, Promise<StartingAccount>>();
  let waiting = 0;

  async function ask(principal: string, indexBlockHash: Uint8Array): Promise<StartingAccount> {
    if (waiting >= MAX_WAITING) throw nodeAway(principal, 'too many requests wait for its answers');
    waiting += 1;
    try {
      const account = reached(await turn(() => requestAccount(node, principal, indexBlockHash)));
      if (account instanceof NoAnswer) throw nodeAway(principal, account.reason);
      return { ...account, balance: account.balance + account.locked };
    } catch (error) {
      throw error instanceof NodeUnreachableError ? nodeAway(principal, error.message, { cause: error }) : error;
    } finally {
      waiting -= 1;
    }
  }

  return (principal, indexBlockHash) => {
    const at = indexBlockHash.toHex();
    if (at !== tip || accounts.size >= MAX_KEPT) accounts = new Map();
    tip = at;
    const pending = accounts.get(principal);
    if (pending !== undefined) return pending;
    const account = ask(principal, indexBlockHash);
    const kept = accounts;
    kept.set(principal, account);
    // After an error, the next request tries again.
    account.catch(() => kept.delete(principal));
    return account;
  };
}
