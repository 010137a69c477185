/** Names and namespaces, against the events and calls they are made of. */
import type { Database } from 'bun:sqlite';
import { changeOfCall, NAME_CONTRACTS, type NameChange, nameChangeOf, UNPRINTED } from '../../chain/name-system.ts';
import { decodeTransaction } from '../../codec/transaction.ts';
import { EVENT_KIND, STATUS, storedNameOperation } from '../rows/words.ts';
import { type CheckResult, none, shown } from './result.ts';

const contracts = NAME_CONTRACTS.map((contract) => `'${contract}'`).join(', ');

interface LogRow {
  position: number;
  event_index: number;
  contract: string;
  topic: string;
  value: Uint8Array;
}

const logs = `SELECT e.position, e.event_index, p.address AS contract, e.topic, e.value
                FROM events e JOIN principals p ON p.id = e.contract_id
               WHERE e.kind = ${EVENT_KIND.log} AND p.address IN (${contracts})`;

interface CallRow {
  position: number;
  event_count: number;
  function_name: string;
  sender: string;
  raw: Uint8Array;
}

const calls = `SELECT t.position, t.event_count, t.function_name, s.address AS sender, d.raw
                 FROM transactions t JOIN principals p ON p.id = t.contract_id
                 JOIN principals s ON s.id = t.sender_id JOIN transaction_bodies d ON d.position = t.position
                WHERE t.status = ${STATUS.success} AND p.address IN (${contracts})
                  AND t.function_name IN ('${UNPRINTED.renewal}', '${UNPRINTED.price}')`;

/** Each change of the name system that the chain's events and calls say, with the place of its event. */
function* changes(db: Database): Generator<{ position: number; index: number; change: NameChange }> {
  for (const { position, event_index, contract, topic, value } of db.query<LogRow, []>(logs).iterate()) {
    const change = nameChangeOf({ kind: 'contract_log', contractId: contract, topic, value });
    if (change !== null) yield { position, index: event_index, change };
  }
  for (const { position, event_count, function_name, sender, raw } of db.query<CallRow, []>(calls).iterate()) {
    const decoded = decodeTransaction(raw);
    if (!decoded.ok || decoded.value.payload.type !== 'contract_call') continue;
    const change = changeOfCall(function_name, decoded.value.payload.functionArgs, sender);
    if (change !== null) yield { position, index: event_count, change };
  }
}

/** Rows of the tables as texts, from what the chain says. */
function expectedRows(db: Database): Set<string> {
  const rows = new Set<string>();
  for (const { position, index, change } of changes(db)) {
    const at = `${position} ${index}`;
    if (change.kind === 'name') {
      const { name, operation, sender, zonefileHash } = change.operation;
      rows.add(
        `name ${name} ${at} ${storedNameOperation.numberOf(operation)} ${sender} ${zonefileHash?.toHex() ?? ''}`,
      );
      continue;
    }
    const { namespace, price } = change;
    if (change.kind === 'namespace') rows.add(`namespace ${namespace} ${at} ${change.lifetime}`);
    const { base, coefficient, exponents, nonalphaDiscount, noVowelDiscount } = price;
    rows.add(
      `price ${namespace} ${at} ${base} ${coefficient} ${exponents.join(' ')} ${nonalphaDiscount} ${noVowelDiscount}`,
    );
  }
  return rows;
}

const kept = `
  SELECT 'name ' || o.name || ' ' || position || ' ' || event_index || ' ' || operation || ' ' || p.address || ' ' ||
         lower(hex(coalesce(zonefile_hash, x''))) AS row
    FROM name_operations o JOIN principals p ON p.id = o.sender_id
  UNION ALL SELECT 'namespace ' || namespace || ' ' || position || ' ' || event_index || ' ' || lifetime FROM namespaces
  UNION ALL SELECT 'price ' || namespace || ' ' || position || ' ' || event_index || ' ' || base || ' ' || coefficient ||
                   ' ' || exponents || ' ' || nonalpha_discount || ' ' || no_vowel_discount FROM namespace_prices`;

function operations(db: Database): CheckResult {
  const expected = expectedRows(db);
  const problems: string[] = [];
  for (const { row } of db.query<{ row: string }, []>(kept).iterate()) {
    if (!expected.delete(row)) problems.push(`kept, and nothing on the chain says it: ${row}`);
  }
  for (const row of expected) problems.push(`missing: ${row}`);
  return { name: 'names and namespaces against events and calls', problems: shown(problems) };
}

export const checkNames = (db: Database): CheckResult[] => [
  operations(db),
  none<{ name: string }>(
    db,
    'last operation of each name',
    `SELECT coalesce(n.name, o.name) AS name
       FROM names n FULL JOIN (SELECT name, max(position) AS position FROM name_operations GROUP BY name) o
         ON o.name = n.name
      WHERE n.name IS NULL OR o.name IS NULL OR n.position <> o.position
         OR n.active IS NOT (SELECT operation <> ${storedNameOperation.numberOf('name-revoke')} FROM name_operations l
                              WHERE l.name = n.name ORDER BY l.position DESC, l.event_index DESC LIMIT 1)
         OR n.event_index IS NOT (SELECT max(event_index) FROM name_operations l
                                   WHERE l.name = n.name AND l.position = n.position)`,
    ({ name }) => `${name}: what is kept of it is not its last operation`,
  ),
];
