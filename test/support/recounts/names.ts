/** Recounts names and namespaces from events and calls. */
import type { Database } from 'bun:sqlite';
import { changeOfCall, type NameChange, nameChangeOf } from '../../../src/chain/name-system.ts';
import { decodeTransaction } from '../../../src/codec/transaction.ts';
import { EVENT_KIND, STATUS, storedNameOperation } from '../../../src/store/rows/enums.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import { NAME_CONTRACTS } from '../events/names.ts';
import { none, type Recount } from './recount.ts';

const contracts = NAME_CONTRACTS.map((contract) => `'${contract}'`).join(', ');

interface LogRow extends Stored<'events', 'position' | 'event_index'> {
  contract: string;
  topic: string;
  value: Uint8Array;
}

const logs = `SELECT e.position, e.event_index, p.address AS contract, e.topic, e.value
                FROM events e JOIN principals p ON p.id = e.contract_id
               WHERE e.kind = ${EVENT_KIND.log} AND p.address IN (${contracts})`;

interface CallRow extends Stored<'transactions', 'position' | 'event_count'>, Stored<'transaction_bodies', 'raw'> {
  function_name: string;
  sender: string;
}

const calls = `SELECT t.position, t.event_count, t.function_name, s.address AS sender, d.raw
                 FROM transactions t JOIN principals p ON p.id = t.contract_id
                 JOIN principals s ON s.id = t.sender_id JOIN transaction_bodies d ON d.position = t.position
                WHERE t.status = ${STATUS.success} AND p.address IN (${contracts})
                  AND t.function_name IN ('name-renewal', 'namespace-update-function-price')`;

/** Changes of the name system by events and calls, with the position and index of each. */
function* changes(db: Database): Generator<{ position: number; index: number; change: NameChange }> {
  const events = db.query<LogRow, []>(logs);
  for (const { position, event_index, contract, topic, value } of events.iterate()) {
    const change = nameChangeOf({ kind: 'contract_log', contractId: contract, topic, value });
    if (change !== null) yield { position, index: event_index, change };
  }
  const called = db.query<CallRow, []>(calls);
  for (const { position, event_count, function_name, sender, raw } of called.iterate()) {
    const decoded = decodeTransaction(raw);
    if (!decoded.ok || decoded.value.payload.type !== 'contract_call') continue;
    const change = changeOfCall(function_name, decoded.value.payload.functionArgs, sender);
    if (change !== null) yield { position, index: event_count, change };
  }
}

/** The expected rows of the tables, as texts. */
function expectedRows(db: Database): Set<string> {
  const rows = new Set<string>();
  for (const { position, index, change } of changes(db)) {
    const place = `${position} ${index}`;
    if (change.kind === 'name') {
      const { name, operation, sender, zonefileHash } = change.operation;
      rows.add(
        `name ${name} ${place} ${storedNameOperation.numberOf(operation)} ${sender} ${zonefileHash?.toHex() ?? ''}`,
      );
      continue;
    }
    const { namespace, price } = change;
    if (change.lifetime !== null) rows.add(`namespace ${namespace} ${place} ${change.lifetime}`);
    const { base, coefficient, exponents, nonalphaDiscount, noVowelDiscount } = price;
    rows.add(
      `price ${namespace} ${place} ${base} ${coefficient} ${exponents.join(' ')} ${nonalphaDiscount} ${noVowelDiscount}`,
    );
  }
  return rows;
}

/** The stored rows, as the same texts. */
const stored = `
  SELECT 'name ' || o.name || ' ' || position || ' ' || event_index || ' ' || operation || ' ' || p.address || ' ' ||
         lower(hex(coalesce(zonefile_hash, x''))) AS row
    FROM name_operations o JOIN principals p ON p.id = o.sender_id
   UNION ALL
  SELECT 'namespace ' || namespace || ' ' || position || ' ' || event_index || ' ' || lifetime FROM namespaces
   WHERE lifetime IS NOT NULL
   UNION ALL
  SELECT 'price ' || namespace || ' ' || position || ' ' || event_index || ' ' || base || ' ' || coefficient || ' ' ||
         exponents || ' ' || nonalpha_discount || ' ' || no_vowel_discount FROM namespaces`;

const operations: Recount = {
  name: 'names and namespaces against events and calls',
  *find(db) {
    const expected = expectedRows(db);
    for (const { row } of db.query<{ row: string }, []>(stored).iterate()) {
      if (!expected.delete(row)) yield `stored, but not on the chain: ${row}`;
    }
    for (const row of expected) yield `missing: ${row}`;
  },
};

export const nameChecks: readonly Recount[] = [
  operations,
  none(
    'last operation of each name',
    `SELECT name FROM name_operations o
      WHERE current <> NOT EXISTS (SELECT 1 FROM name_operations n WHERE n.name = o.name
                                      AND (n.position, n.event_index) > (o.position, o.event_index))`,
  ),
];
