/** The recounts, which other tests use as an oracle, find each changed copy and total. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { Prng } from '../../src/devnet/prng.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { firstSeed } from '../support/property.ts';
import { problemsIn, recounts } from '../support/recounts/recounts.ts';

/** The dictionaries of addresses and identifiers, and tables with addresses that are in no dictionary. */
const originals = new Set(['principals', 'assets', 'burn_slot_holders', 'faucet_requests']);
const copied = new Set(['address', 'identifier']);
/** Reports whether a column numbers rows from 1 without gaps. A microblock's ordinal is only an order. */
const isNumber = ({ table, column }: Column): boolean => /(^|_)ordinal$/.test(column) && table !== 'microblocks';

interface Column {
  table: string;
  column: string;
}

/** The columns of the schema that hold copies or totals. */
const derivedColumns = (db: Database): Column[] =>
  db
    .query<Column, []>(
      `SELECT t.name AS "table", c.name AS "column" FROM pragma_table_list t JOIN pragma_table_info(t.name) c
        WHERE t.schema = 'main' AND t.type = 'table' ORDER BY 1, 2`,
    )
    .all()
    .filter(({ table, column }) => (copied.has(column) && !originals.has(table)) || isNumber({ table, column }));

/** The columns of a table's primary key. */
const keyOf = (db: Database, table: string): string =>
  db
    .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk')
    .all(table)
    .map(({ name }) => name)
    .join(', ');

/** Changes the value of a column in a random row. @returns whether the table has a row */
function change(db: Database, { table, column }: Column, prng: Prng): boolean {
  const rows = db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0;
  if (rows === 0) return false;
  const key = keyOf(db, table);
  const changed = isNumber({ table, column }) ? `${column} + 1000000` : `${column} || 'X'`;
  db.query<null, [number]>(
    `UPDATE ${table} SET ${column} = ${changed} WHERE (${key}) IN (SELECT ${key} FROM ${table} LIMIT 1 OFFSET ?1)`,
  ).run(prng.below(rows));
  return true;
}

/** An index that fills most tables. Each test rolls its changes back. */
const whole = ingestOf(simulatedEvents({ seed: 20, blocks: 120, accounts: 6, transactionsPerBlock: 2, forkEvery: 3 }));
const db = new Database(indexPath(whole.path), { strict: true });
afterAll(() => {
  db.close();
  whole[Symbol.dispose]();
});

/** Returns what an action finds in the index after some damage. */
function withDamage<T>(damage: () => unknown, find: () => T): T {
  db.run('BEGIN');
  try {
    damage();
    return find();
  } finally {
    db.run('ROLLBACK');
  }
}

test('the recounts find each copy and total that is changed', () => {
  expect(problemsIn(whole.path)).toEqual([]);
  const columns = derivedColumns(db);
  const prng = new Prng(`recounts/${firstSeed}`);
  const [missed, empty]: [Column[], Column[]] = [[], []];
  for (const column of columns) {
    const isFound = withDamage(
      () => {
        if (!change(db, column, prng)) empty.push(column);
      },
      () => recounts.some(({ find }) => !find(db)[Symbol.iterator]().next().done),
    );
    if (!isFound) missed.push(column);
  }
  expect(empty).toEqual([]);
  expect(missed).toEqual([]);
  expect(columns.length).toBeGreaterThan(15);
});

/** The row in the middle of a table has another number, another text, or is gone. */
const increment = (table: string, column: string) => (db: Database) =>
  changeMiddle(db, table, `UPDATE ${table} SET ${column} = ${column} + 1`);
const longer = (table: string, column: string) => (db: Database) =>
  changeMiddle(db, table, `UPDATE ${table} SET ${column} = ${column} || '1'`);
const removeRow = (table: string) => (db: Database) => changeMiddle(db, table, `DELETE FROM ${table}`);
const run = (sql: string) => (db: Database) => db.run(sql).changes;

function changeMiddle(db: Database, table: string, sql: string): number {
  const key = keyOf(db, table);
  return db.run(
    `${sql} WHERE (${key}) IN (SELECT ${key} FROM ${table} ORDER BY ${key} LIMIT 1 OFFSET (SELECT count(*) / 2 FROM ${table}))`,
  ).changes;
}

/** Damage that each recount must find, by the name of the recount. */
const damages: Readonly<Record<string, (db: Database) => number>> = {
  'each block is the child of the one below': run(
    'UPDATE blocks SET parent_index_block_hash = zeroblob(32) WHERE height = 60',
  ),
  'total of transactions': run(
    'UPDATE blocks SET transactions = transactions + 1 WHERE height = (SELECT max(height) FROM blocks)',
  ),
  'transactions of each block': increment('blocks', 'transactions'),
  'transactions before each block': increment('blocks', 'preceding_transactions'),
  'events of each transaction': increment('transactions', 'event_count'),
  'transactions of each principal': increment('accounts', 'transactions'),
  'blocks and transactions of each anchor': increment('anchor_burn_blocks', 'first_block'),
  'blocks that have an anchor': removeRow('anchor_burn_blocks'),
  'total of anchors': removeRow('anchor_burn_blocks'),
  'logs of each contract': run('UPDATE counters SET count = count + 1 WHERE kind = 6'),
  'total of logs': run('DELETE FROM counters WHERE kind = 6'),
  'transactions of each type': run('UPDATE counters SET count = count + 1 WHERE kind = 1'),
  'calls of each function': run('UPDATE counters SET count = count + 1 WHERE kind = 2'),
  'sent of each account': increment('accounts', 'sent'),
  'paid of each account': increment('accounts', 'paid'),
  'calls of each account': increment('accounts', 'calls'),
  'microblocks and the transactions they held': run(
    'INSERT INTO microblocks VALUES (1, zeroblob(32), zeroblob(32), 0, 1)',
  ),
  'total of microblocks': run('INSERT INTO microblocks VALUES (1, zeroblob(32), zeroblob(32), 0, 1)'),
  'STX balances against events, fees and rewards': longer('miner_rewards', 'fees_anchored'),
  'STX supply against mints, burns and coinbases': run("UPDATE blocks SET stx_supply = stx_supply || '1'"),
  'STX supply after each block': longer('blocks', 'stx_supply'),
  'total of pending transactions': run('UPDATE progress SET mempool_pending = mempool_pending + 1'),
  'each delivery that waits has a body': run(`INSERT INTO hook_deliveries
    (webhook_id, hook_id, queue, reason, state, created_at, attempts, blocks, min_height, max_height, body_bytes, body_sha256)
    VALUES ('msg', 1, 0, 0, 0, 0, 0, '[]', 1, 1, 0, zeroblob(32))`),
  'no transaction of the mempool is mined': run(
    'UPDATE transactions SET tx_id = (SELECT tx_id FROM mempool_transactions LIMIT 1) WHERE position = (SELECT max(position) FROM transactions)',
  ),
  'addresses in accounts': longer('accounts', 'address'),
  'addresses in ft_balances': longer('ft_balances', 'address'),
  'addresses in stacking_terms': longer('stacking_terms', 'address'),
  'addresses in cycle_stackers': longer('cycle_stackers', 'address'),
  'addresses in bond_positions': longer('bond_positions', 'address'),
  'addresses in stakes': longer('stakes', 'address'),
  'addresses in signer_keys': longer('signer_keys', 'address'),
  'asset identifiers in ft_balances': longer('ft_balances', 'identifier'),
  'asset identifiers in nft_holdings': longer('nft_holdings', 'identifier'),
  'balances, supply and holders of fungible tokens against their events': longer('ft_balances', 'balance'),
  'total of STX holders': run('UPDATE blocks SET stx_holders = stx_holders + 1'),
  'STX each principal received': increment('accounts', 'stx_inbound'),
  'STX each principal sent': increment('accounts', 'stx_outbound'),
  'fungible tokens of each principal': increment('accounts', 'ft_tokens'),
  'instances each principal owns': increment('accounts', 'nfts'),
  'owner and events of each instance': increment('nft_instances', 'events'),
  'holdings of each owner': increment('nft_holdings', 'instances'),
  'token changes of each transaction': removeRow('token_changes'),
  'pending transactions of each principal': increment('pending_counts', 'transactions'),
  'signers, weight and stacked STX of each reward cycle': increment('cycle_signers', 'weight'),
  'stackers of each reward cycle': increment('cycle_stackers', 'position'),
  'a row for each cycle that STX are stacked for': increment('stacking_terms', 'end_cycle'),
  'counts of the stackers of each signer': run('UPDATE counters SET count = count + 1 WHERE kind = 7'),
  'numbers of the stacking prints': run('UPDATE stacking_events SET ordinal = -ordinal WHERE ordinal = 2'),
  'numbers of rewards of Bitcoin': run('UPDATE burn_rewards SET ordinal = -ordinal WHERE ordinal = 2'),
  'numbers of rewards of each address': run(
    'UPDATE burn_rewards SET recipient_ordinal = -recipient_ordinal WHERE ordinal = 2',
  ),
  'numbers of reward slots': run('UPDATE burn_slot_holders SET ordinal = -ordinal WHERE ordinal = 2'),
  'numbers of reward slots of each address': run(
    'UPDATE burn_slot_holders SET address_ordinal = -address_ordinal WHERE ordinal = 2',
  ),
  'numbers of outputs to each address': longer('pox_transactions', 'recipient'),
  'sums of the Bitcoin payments to each address': longer('burn_rewards', 'recipient_total'),
  'bonds and rewards against the prints of pox-5': increment('bonds', 'allowed'),
  'accounts that were fetched from the node': run('INSERT INTO starting_accounts (principal_id) VALUES (1)'),
  'locked STX against balances': run("UPDATE stx_locks SET amount = amount || '1'"),
  'STX locked by pox-5 against stakes and bonds': longer('stakes', 'amount'),
  'the current position of each staker in a bond': run('UPDATE bond_positions SET current = 0'),
  'the current stake of each staker': run('UPDATE stakes SET current = 1 - current'),
  'the current key of each signer': run('UPDATE signer_keys SET action = 1, current = 0'),
  'asset events of each principal in each transaction': increment('principal_transactions', 'events'),
  'who is the sponsor and nothing else': run('UPDATE principal_transactions SET affected = affected & ~16'),
  'moves of the STX of each principal': increment('accounts', 'stx_moves'),
  'total of accounts that had STX': run('UPDATE blocks SET stx_accounts = stx_accounts + 1'),
  'sum of STX balances': run("UPDATE blocks SET stx_balances = stx_balances || '1'"),
  'accounts of fungible tokens': run('UPDATE asset_totals SET accounts = accounts + 1 WHERE token = 1'),
  'mints, instances, holders and events of each collection': run(
    'UPDATE asset_totals SET holders = holders + 1 WHERE token = 2',
  ),
  'calls of each contract on each day': run('UPDATE daily_counts SET count = count + 1 WHERE kind = 0'),
  'events of each token on each day': run('UPDATE daily_counts SET count = count + 1 WHERE kind > 0'),
  'transfers with a memo against their events': run('INSERT INTO memo_transfers VALUES (1, 1, 0, 0)'),
  'checkpoints of accounts and their tokens': increment('account_checkpoints', 'events'),
  'names and namespaces against events and calls': increment('name_operations', 'operation'),
  'last operation of each name': increment('name_operations', 'current'),
  'names of BNS-V2 against events and calls': run(
    'INSERT INTO bns_primary_names SELECT min(id), min(id), 1, 0, 1 FROM principals',
  ),
  'contracts of tokens against their interfaces': longer('token_contracts', 'address'),
  'contracts and tokens of each family': run('UPDATE counters SET count = count + 1 WHERE kind = 5'),
  'work for tokens by kind and state': run('UPDATE counters SET count = count + 1 WHERE kind = 3'),
  'tokens of mints, and the lookups of each token': removeRow('tokens'),
  'parts of names that find contracts and tokens': removeRow('name_parts'),
  'decoded values of logs and calls': run(`INSERT INTO value_indexes SELECT 1, 1, p.address, '', 1, 0, 0
    FROM counters l JOIN principals p ON p.address = l.key WHERE l.kind = 6 LIMIT 1`),
};

/** Names of the recounts whose problems include an address or an asset. */
const naming = new Set([
  ...['sent of each account', 'paid of each account', 'calls of each account'],
  ...['calls of each contract on each day', 'events of each token on each day'],
  'balances, supply and holders of fungible tokens against their events',
  'holdings of each owner',
  'token changes of each transaction',
  'transfers with a memo against their events',
  'contracts of tokens against their interfaces',
]);
const NAME = /\bS[TN][0-9A-Z]{26,41}\b/;

test('each recount finds its damage, names the address or the asset, and finds nothing in an undamaged index', () => {
  expect(recounts.map(({ name }) => name).sort()).toEqual(Object.keys(damages).sort());
  const blind: string[] = [];
  for (const { name, find } of recounts) {
    expect({ name, found: [...find(db)] }).toEqual({ name, found: [] });
    db.run('BEGIN');
    const changed = damages[name]!(db);
    const problems = [...find(db)];
    if (changed === 0 || problems.length === 0) blind.push(`${name}: ${changed} rows are changed`);
    if (naming.has(name))
      expect({ name, unnamed: problems.filter((problem) => !NAME.test(problem)) }).toEqual({ name, unnamed: [] });
    db.run('ROLLBACK');
  }
  expect(blind).toEqual([]);
});
