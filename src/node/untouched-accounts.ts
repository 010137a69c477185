/**
 * Asks the node about untouched accounts: no block of a partial history concerns them. The answers stay in memory until the
 * next block, because it may touch the account; then the index knows the account, and its answers become entries.
 */
import type { Clock } from '../base/clock.ts';
import { atMost } from '../base/turns.ts';
import { type AskAccount, nodeAway } from '../http/history.ts';
import type { StartingAccount } from '../store/queries/accounts/starting-accounts.ts';
import { AskedNode, askedAccount, NoAnswer, reached } from './facts.ts';
import { type NodeRpc, NodeUnreachableError } from './rpc.ts';

/** Requests to the node each second, and at the same time. The node needs its time for the chain. */
const RATE = 50;
const AT_ONCE = 8;
/** Most accounts in memory, and most that wait for an answer. Each waiting request holds a snapshot of the index. */
const MOST_KEPT = 10_000;
const MOST_WAITING = 64;

/** Makes a function that asks the node for the STX and nonces of accounts. */
export function untouchedAccounts(rpc: NodeRpc, clock: Clock): AskAccount {
  const node = new AskedNode(rpc, { rate: RATE, retries: 0, clock });
  const turn = atMost(AT_ONCE);
  /** The newest tip (its index block hash), and the accounts after it. */
  let tip = '';
  let accounts = new Map<string, Promise<StartingAccount>>();
  let waiting = 0;

  async function ask(principal: string, indexBlockHash: Uint8Array): Promise<StartingAccount> {
    if (waiting >= MOST_WAITING) throw nodeAway(principal, 'too many requests wait for its answers');
    waiting += 1;
    try {
      const account = reached(await turn(() => askedAccount(node, principal, indexBlockHash)));
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
    if (at !== tip || accounts.size >= MOST_KEPT) accounts = new Map();
    tip = at;
    const known = accounts.get(principal);
    if (known !== undefined) return known;
    const asked = ask(principal, indexBlockHash);
    const kept = accounts;
    kept.set(principal, asked);
    // The next request asks again.
    asked.catch(() => kept.delete(principal));
    return asked;
  };
}
