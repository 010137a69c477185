/** Principals, tokens and contracts that aren't in the index have empty answers. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { indexPath } from '../../src/store/files/database.ts';
import { factQueries } from '../../src/store/queries/blocks/facts.ts';
import { EVENT_KIND } from '../../src/store/rows/enums.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';

const CHAIN = { seed: 3, blocks: 12, transactionsPerBlock: 6, forkEvery: 0 };
const TIP = CHAIN.blocks;

/** Gives the first principal and the first token of the index data of others, because they have little. */
function enrichFirst(db: Database): void {
  const { id } = db.query<{ id: number }, []>('SELECT max(principal_id) AS id FROM token_changes').get()!;
  for (const table of ['principal_transactions', 'token_changes']) {
    db.run(`UPDATE OR REPLACE ${table} SET principal_id = 1 WHERE principal_id = ?1`, [id]);
  }
  db.run(`UPDATE events SET asset_id = 1 WHERE kind >= ${EVENT_KIND.nft_transfer}`);
  db.run('UPDATE token_changes SET asset_id = 1');
}

test('lookups of unknown principals, tokens and contracts return nothing, even if the first ids have rows', async () => {
  using directory = ingestOf(simulatedEvents(CHAIN));
  using db = new Database(indexPath(directory.path));
  enrichFirst(db);
  const first = (table: string, column: string): string =>
    db.query<{ text: string }, []>(`SELECT ${column} AS text FROM ${table} WHERE id = 1`).get()!.text;
  const value = db
    .query<{ value: Uint8Array }, []>(`SELECT value FROM events WHERE kind = ${EVENT_KIND.nft_mint} LIMIT 1`)
    .get()!.value;
  const facts = factQueries(db);
  const factsOf = async (principal: string, asset: string) => ({
    account: facts.account(principal, TIP),
    ft: facts.ftBalance(asset, principal, TIP),
    owner: facts.nftOwner(asset, value, TIP),
    contract: facts.contract(principal),
  });

  const [principal, asset] = [first('principals', 'address'), first('assets', 'identifier')];
  const minted = await factsOf(principal, asset);
  expect(minted.account.balance).not.toBe(0n);
  expect(minted.ft).not.toBe(0n);
  expect(minted.owner).not.toBeNull();
  expect(minted.contract).toBeDefined();

  const account = { balance: 0n, locked: 0n, unlockHeight: 0, nonce: 0n };
  expect(await factsOf('unknown', 'unknown')).toEqual({ account, ft: 0n, owner: null, contract: undefined });
  expect(facts.ftBalance('unknown', principal, TIP)).toBe(0n);
  expect(facts.ftBalance(asset, 'unknown', TIP)).toBe(0n);
});
