/** An index that starts at a block, with the node's answers about the accounts there. */
import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { STARTING_ACCOUNT_PATH } from '../../../src/chain/payload-reader.ts';
import type { SimulatedChain } from '../../../src/devnet/chain.ts';
import type { NodeEvent } from '../../../src/devnet/node-event.ts';
import { NoAnswer, ThrottledNode } from '../../../src/node/facts.ts';
import { requestStartingAccount } from '../../../src/node/history.ts';
import { indexPath } from '../../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { openNew, received } from '../data/ingest.ts';
import { atOnce, rpcOf, served } from '../servers/simulated-rpc.ts';

/** A node without a socket. */
const nodeOf = (chain: SimulatedChain): ThrottledNode => new ThrottledNode(rpcOf(served(chain)), atOnce);

/** The node's answer about an account after a block. */
export async function answerOf(chain: SimulatedChain, below: Uint8Array, principal: string): Promise<NodeEvent> {
  const account = await requestStartingAccount(nodeOf(chain), principal, below);
  if (account instanceof NoAnswer) throw new Error(account.reason);
  return { path: STARTING_ACCOUNT_PATH, body: JSON.stringify(account), time: 0 };
}

/** Returns the accounts that still need a lookup, each with the block whose state to request. */
export const unaskedIn = (index: Database): { below: Uint8Array; principal: string }[] =>
  index
    .query<{ below: Uint8Array; principal: string }, []>(
      `SELECT start_index_block_hash AS below, address AS principal FROM starting_accounts
         JOIN principals p ON p.id = principal_id JOIN progress WHERE balance IS NULL`,
    )
    .all();

/**
 * Applies events, and after each event answers some of the waiting account lookups. Answers all of them at the end.
 * @param answered whether the lookup of the account with a number is answered at once
 * @param took is called with each applied event
 */
export async function applyWithAnswers(
  events: readonly NodeEvent[],
  chain: SimulatedChain,
  answered: (asked: number) => boolean,
  took: (event: ReceivedEvent) => void = () => {},
) {
  const open = openNew();
  using index = new Database(indexPath(open.directory), { readonly: true });
  let number = 0;
  const answer = async (isLast: boolean) => {
    for (const { below, principal } of unaskedIn(index)) {
      number += 1;
      if (!isLast && !answered(number)) continue;
      const event = received(await answerOf(chain, below, principal));
      took(event);
      expect(open.ingest.receive(event)).toBe('applied');
      expect(open.ingest.receive(event)).toBe('repeated');
    }
  };
  for (const event of events) {
    took(received(event));
    open.ingest.receive(received(event));
    await answer(false);
  }
  await answer(true);
  return open;
}
