/** Recounts the names of the second name system from events and calls. */
import type { Database } from 'bun:sqlite';
import { type BnsChange, bnsChangesOf, primaryOfCall, SET_PRIMARY } from '../../../src/chain/bns-v2.ts';
import { decodeTransaction } from '../../../src/codec/transaction.ts';
import { EVENT_KIND, STATUS, storedBnsOperation } from '../../../src/store/rows/enums.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import type { Recount } from './recount.ts';

interface EventRow extends Stored<'events', 'position' | 'event_index' | 'kind' | 'topic' | 'value'> {
  contract: string | null;
  asset: string | null;
  sender: string | null;
  recipient: string | null;
}

const events = `SELECT e.position, e.event_index, e.kind, e.topic, e.value, c.address AS contract, a.identifier AS asset,
                       s.address AS sender, r.address AS recipient
                  FROM events e LEFT JOIN principals c ON c.id = e.contract_id LEFT JOIN assets a ON a.id = e.asset_id
                  LEFT JOIN principals s ON s.id = e.sender_id LEFT JOIN principals r ON r.id = e.recipient_id
                 WHERE (e.kind = ${EVENT_KIND.log} AND c.address LIKE '%.BNS-V2')
                    OR (e.kind >= ${EVENT_KIND.nft_transfer} AND a.identifier LIKE '%.BNS-V2::BNS-V2')`;

interface CallRow extends Stored<'transactions', 'position' | 'event_count'>, Stored<'transaction_bodies', 'raw'> {
  contract: string;
  sender: string;
}

const calls = `SELECT t.position, t.event_count, p.address AS contract, s.address AS sender, d.raw
                 FROM transactions t JOIN principals p ON p.id = t.contract_id
                 JOIN principals s ON s.id = t.sender_id JOIN transaction_bodies d ON d.position = t.position
                WHERE t.status = ${STATUS.success} AND p.address LIKE '%.BNS-V2' AND t.function_name = '${SET_PRIMARY}'`;

interface PlacedChange {
  position: number;
  index: number;
  contract: string;
  change: BnsChange;
}

function changesOf({ kind, topic, value, contract, asset, sender, recipient }: EventRow) {
  if (value === null) return null;
  if (kind === EVENT_KIND.log) {
    return bnsChangesOf({ kind: 'contract_log', contractId: contract ?? '', topic: topic ?? '', value });
  }
  const action = sender === null ? 'mint' : recipient === null ? 'burn' : 'transfer';
  return bnsChangesOf({ kind: 'nft', action, asset: asset ?? '', sender, recipient, value });
}

/** All changes in the order of the chain. */
function changes(db: Database): PlacedChange[] {
  const list: PlacedChange[] = [];
  for (const row of db.query<EventRow, []>(events).iterate()) {
    const its = changesOf(row);
    for (const change of its?.changes ?? []) {
      list.push({ position: row.position, index: row.event_index, contract: its!.contract, change });
    }
  }
  for (const { position, event_count, contract, sender, raw } of db.query<CallRow, []>(calls).iterate()) {
    const decoded = decodeTransaction(raw);
    if (!decoded.ok || decoded.value.payload.type !== 'contract_call') continue;
    const id = primaryOfCall(decoded.value.payload.functionArgs);
    if (id !== null) {
      list.push({ position, index: event_count, contract, change: { kind: 'primary', id, owner: sender } });
    }
  }
  return list.sort((a, b) => a.position - b.position || a.index - b.index);
}

/** The expected rows of the tables, as texts. */
function expectedRows(db: Database): Set<string> {
  const rows = new Set<string>();
  const primaries = new Map<string, number | null>();
  const last = new Map<string, string>();
  for (const { position, index, contract, change } of changes(db)) {
    const place = `${position} ${index}`;
    const choose = (principal: string, id: number | null): void => {
      primaries.set(`${contract} ${principal}`, id);
      rows.add(`primary ${contract} ${principal} ${place} ${id ?? ''}`);
    };
    const primaryOf = (principal: string): number | null => primaries.get(`${contract} ${principal}`) ?? null;
    switch (change.kind) {
      case 'name': {
        const { id, name, namespace, renewalHeight } = change;
        const operation = storedBnsOperation.numberOf(change.operation);
        const row = `name ${contract} ${id} ${place} ${operation} ${name} ${namespace} ${renewalHeight ?? ''}`;
        const token = `${contract} ${id}`;
        const before = last.get(token);
        if (before !== undefined && rows.delete(`${before} 1`)) rows.add(`${before} 0`);
        last.set(token, row);
        rows.add(`${row} ${change.operation === 'burn-name' ? 0 : 1}`);
        break;
      }
      case 'namespace':
        rows.add(`namespace ${contract} ${change.namespace} ${place} ${change.lifetime} ${change.launchedAt ?? ''}`);
        break;
      case 'token': {
        const { id, from, to } = change;
        if (from === to) break;
        if (from !== null && primaryOf(from) === id) choose(from, null);
        if (to !== null && primaryOf(to) === null) choose(to, id);
        break;
      }
      case 'primary':
        choose(change.owner, change.id);
    }
  }
  return rows;
}

/** The stored rows, as the same texts. */
const stored = `
  SELECT 'name ' || p.address || ' ' || bns_id || ' ' || position || ' ' || event_index || ' ' || operation || ' ' ||
         name || ' ' || namespace || ' ' || coalesce(renewal_height, '') || ' ' || current AS row
    FROM bns_names b JOIN principals p ON p.id = b.contract_id
   UNION ALL
  SELECT 'namespace ' || p.address || ' ' || namespace || ' ' || position || ' ' || event_index || ' ' || lifetime ||
         ' ' || coalesce(launched_at, '') FROM bns_namespaces b JOIN principals p ON p.id = b.contract_id
   UNION ALL
  SELECT 'primary ' || p.address || ' ' || o.address || ' ' || position || ' ' || event_index || ' ' ||
         coalesce(bns_id, '')
    FROM bns_primary_names b JOIN principals p ON p.id = b.contract_id JOIN principals o ON o.id = b.principal_id`;

export const bnsCheck: Recount = {
  name: 'names of BNS-V2 against events and calls',
  *find(db) {
    const expected = expectedRows(db);
    for (const { row } of db.query<{ row: string }, []>(stored).iterate()) {
      if (!expected.delete(row)) yield `stored, but not on the chain: ${row}`;
    }
    for (const row of expected) yield `missing: ${row}`;
  },
};
