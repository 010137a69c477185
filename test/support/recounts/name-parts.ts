/** Recounts the name parts that searches find contracts and tokens by. */
import type { Database } from 'bun:sqlite';
import { assetNameOf, contractNameOf } from '../../../src/codec/address.ts';
import { NAME_PART, type NamePartKind, STATUS } from '../../../src/store/rows/enums.ts';
import { type NamePartRow, nameParts } from '../../../src/store/rows/name-parts.ts';
import type { Recount } from './recount.ts';

interface NameRow {
  id: number;
  name: string;
}

/** The things with a name, by kind. */
const named: Readonly<Record<NamePartKind, string>> = {
  contract: `SELECT DISTINCT p.id, p.address AS name FROM transactions t
               JOIN principals p ON p.id = t.contract_id WHERE t.type IN (1, 6) AND t.status = ${STATUS.success}`,
  ft: 'SELECT a.id, a.identifier AS name FROM asset_totals f JOIN assets a ON a.id = f.asset_id WHERE f.token = 1',
  nft: 'SELECT a.id, a.identifier AS name FROM asset_totals t JOIN assets a ON a.id = t.asset_id WHERE t.token = 2',
  token_name: 'SELECT contract_id AS id, name_key AS name FROM token_contracts WHERE name_key IS NOT NULL',
  token_symbol: 'SELECT contract_id AS id, symbol_key AS name FROM token_contracts WHERE symbol_key IS NOT NULL',
};

function partsOf(kind: NamePartKind, { id, name }: NameRow): NamePartRow[] {
  switch (kind) {
    case 'contract':
      return nameParts(kind, id, contractNameOf(name), name);
    case 'ft':
    case 'nft':
      return nameParts(kind, id, assetNameOf(name), name);
    case 'token_name':
    case 'token_symbol':
      return nameParts(kind, id, name, null);
  }
}

function* partProblems(db: Database): Generator<string> {
  const find = db.query<{ found: number }, [number, number, string, number]>(
    'SELECT 1 AS found FROM name_parts WHERE kind = ?1 AND place = ?2 AND part = ?3 AND subject_id = ?4',
  );
  const count = db.query<{ rows: number }, [number]>('SELECT count(*) AS rows FROM name_parts WHERE kind = ?1');
  for (const [kind, number] of Object.entries(NAME_PART) as [NamePartKind, number][]) {
    let counted = 0;
    for (const row of db.query<NameRow, []>(named[kind]).iterate()) {
      for (const { place, part, subject_id } of partsOf(kind, row)) {
        if (find.get(number, place, part, subject_id) === null) yield `${row.name}: its part ${part} is missing`;
        else counted += 1;
      }
    }
    const stored = count.get(number)?.rows ?? 0;
    if (stored !== counted) yield `${kind}: ${stored} parts are stored, ${counted} of them are of a name`;
  }
}

export const namePartCheck: Recount = { name: 'parts of names that find contracts and tokens', find: partProblems };
