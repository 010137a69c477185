/** Recounts contracts of tokens from their deployments, tokens from mints, and the counters of both. */
import type { Database } from 'bun:sqlite';
import { positionText } from '../../../src/chain/position.ts';
import { tokenContract } from '../../../src/chain/token-contracts.ts';
import { STATUS, storedFamily, TOKEN_EVENT } from '../../../src/store/rows/enums.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import { none, type Recount } from './recount.ts';

type DeployedRow = Stored<'principals', 'address'> &
  Stored<'transactions', 'position'> & { contract_id: number; interface: string };
type StoredContract = Stored<'token_contracts', 'family' | 'address' | 'position'> & { identifier: string | null };

function* contractProblems(db: Database): Generator<string> {
  const find = db.query<StoredContract, [number]>(
    `SELECT c.family, c.address, c.position, a.identifier FROM token_contracts c LEFT JOIN assets a ON a.id = c.asset_id
      WHERE c.contract_id = ?1`,
  );
  const deployed = db.query<DeployedRow, []>(
    `SELECT t.contract_id, t.position, p.address, d.contract_interface AS interface
       FROM transactions t JOIN transaction_bodies d ON d.position = t.position JOIN principals p ON p.id = t.contract_id
      WHERE t.type IN (1, 6) AND t.status = ${STATUS.success} AND d.contract_interface IS NOT NULL ORDER BY t.contract_id, t.position`,
  );
  const seen = new Set<number>();
  for (const { contract_id, position, address, interface: json } of deployed.iterate()) {
    const parsed = tokenContract(json);
    if (parsed === null || seen.has(contract_id)) continue;
    seen.add(contract_id);
    const stored = find.get(contract_id);
    const identifier = parsed.asset === null ? null : `${address}::${parsed.asset}`;
    if (stored === null) yield `${address} is a contract of tokens and is not stored as one`;
    else if (storedFamily.nameOf(stored.family) !== parsed.family || stored.identifier !== identifier) {
      yield `${address}: stored as ${storedFamily.nameOf(stored.family)} ${stored.identifier}, by its interface ${parsed.family} ${identifier}`;
    } else if (stored.address !== address || stored.position !== position) {
      yield `${stored.address} in ${positionText(stored.position)}: the deployment is that of ${address} in ${positionText(position)}`;
    }
  }
  for (const { contract_id, address } of db
    .query<Stored<'token_contracts', 'contract_id' | 'address'>, []>('SELECT contract_id, address FROM token_contracts')
    .iterate()) {
    if (!seen.has(contract_id)) yield `${address} is stored and no deployment has such an interface`;
  }
}

/** Makes a check of counters against a recount. @param stored and @param counted queries with the same columns */
const tally = (name: string, stored: string, counted: string): Recount =>
  none(
    name,
    `SELECT * FROM (SELECT * FROM (${stored}) EXCEPT SELECT * FROM (${counted}))
      UNION SELECT * FROM (SELECT * FROM (${counted}) EXCEPT SELECT * FROM (${stored}))`,
  );

export const tokenMetadataChecks: readonly Recount[] = [
  { name: 'contracts of tokens against their interfaces', find: contractProblems },
  tally(
    'contracts and tokens of each family',
    'SELECT kind, CAST(key AS INTEGER), count FROM counters WHERE kind IN (4, 5)',
    `SELECT 4, family, count(*) FROM token_contracts GROUP BY family
     UNION ALL SELECT 5, c.family, count(*) FROM tokens t JOIN token_contracts c ON c.contract_id = t.contract_id GROUP BY c.family`,
  ),
  tally(
    'work for tokens by kind and state',
    'SELECT key, count FROM counters WHERE kind = 3',
    "SELECT work || '/' || state, count(*) FROM token_jobs GROUP BY work, state",
  ),
  none(
    'tokens of mints, and the lookups of each token',
    `SELECT p.address, e.token_id FROM token_events e JOIN principals p ON p.id = e.contract_id
      WHERE e.kind = ${TOKEN_EVENT.mint} AND NOT EXISTS
            (SELECT 1 FROM tokens t WHERE t.contract_id = e.contract_id AND t.token_id = e.token_id)
      UNION SELECT p.address, t.token_id FROM tokens t JOIN principals p ON p.id = t.contract_id
       WHERE NOT EXISTS (SELECT 1 FROM token_jobs j
                          WHERE j.contract_id = t.contract_id AND j.token_id = t.token_id AND j.work = 1)`,
  ),
];
