/**
 * Reasons why two working servers may answer differently. A difference has a reason only if the route, the field and each
 * server's answer match, so that no reason hides another difference. docs/migration.md has the list as a table.
 */
import { type Difference, fieldOf } from './differences.ts';

/** The question and the answers of a difference. */
export interface ComparedAnswers {
  route: string;
  target: string;
  /** The whole bodies. */
  ours: unknown;
  theirs: unknown;
}

export interface KnownReason {
  /** Routes; `*` stands for any text. */
  routes: readonly string[];
  /** The same routes, to match with. */
  patterns: readonly RegExp[];
  /** Fields; `*` at the end stands for any rest. */
  paths: readonly string[];
  /** The answer of each server, in words. */
  here: string;
  there: string;
  when: (difference: Difference, comparedAnswers: ComparedAnswers) => boolean;
}

/** The path for differences of statuses and types of bodies. */
export const STATUS = '@status';
export const CONTENT_TYPE = '@content-type';

const rowsOf = (body: unknown): readonly unknown[] => [fieldOf(body, 'results') ?? []].flat();
const isMore = (a: unknown, b: unknown): boolean => typeof a === 'number' && typeof b === 'number' && a > b;
const always = (): boolean => true;
const moreHere = ({ ours, theirs }: Difference): boolean => isMore(ours, theirs);
const moreThere = ({ ours, theirs }: Difference): boolean => isMore(theirs, ours);
const onlyHere = ({ theirs }: Difference): boolean => theirs === undefined;
const onlyThere = ({ ours }: Difference): boolean => ours === undefined;
const onlyOne = (difference: Difference): boolean => onlyHere(difference) || onlyThere(difference);
const statuses =
  (here: number, ...there: readonly number[]) =>
  ({ ours, theirs }: Difference): boolean =>
    ours === here && there.includes(Number(theirs));
const hasQuery = (target: string, name: string): boolean => new URLSearchParams(target.split('?')[1]).has(name);

/** The row of a list that a difference is in; the whole body if it is in none. */
function rowOf(body: unknown, location: string): unknown {
  const index = /^results\[(\d+)\]/.exec(location)?.[1];
  return index === undefined ? body : rowsOf(body)[Number(index)];
}

const HEIGHTS = ['block_height', 'block.height', 'tx.block_height', 'transaction.block.height', 'height'];

/** Whether a row is of the genesis block or the first one. */
function isGenesis(row: unknown): boolean {
  const heights = HEIGHTS.map((path) => fieldOf(row, ...path.split('.')));
  return Number(heights.find((height) => typeof height === 'number') ?? Number.POSITIVE_INFINITY) <= 1;
}

function isOfGenesis({ path, location, ours, theirs, isOrder }: Difference, { ours: here }: ComparedAnswers): boolean {
  if (path === 'results[*]') return isOrder && isGenesis(ours ?? theirs);
  return path === 'total' ? rowsOf(here).some(isGenesis) : isGenesis(rowOf(here, location));
}

const hasTwice = (rows: readonly unknown[]): boolean =>
  new Set(rows.map((row) => JSON.stringify(row))).size < rows.length;

/** Whether an answer about STX shows a locked amount, in any version. */
const hasLocked = (body: unknown): boolean =>
  [['locked', 'amount'], ['locked'], ['stx', 'locked']]
    .map((names) => fieldOf(body, ...names))
    .some((value) => typeof value === 'string' && value !== '0');

const isCanonical = (body: unknown): boolean =>
  ['tx_data', 'block_data'].some((data) => fieldOf(body, 'result', data, 'canonical') === true);

/** Adds a prefix to each of some fields. */
const within = (prefix: string, fields: string): string => fields.replaceAll(/\S+/g, `${prefix}$&`);
const LOCK = 'locked lock_tx_id lock_height burnchain_lock_height burnchain_unlock_height';
const LOCKS = `${LOCK} ${within('stx.', LOCK)}`;
const NONCES = 'last_executed_tx_nonce possible_next_nonce last_confirmed_nonce next_nonce';
const TX_COUNTS = 'tx_count total_tx_count txs[*] tx_index block_time block_time_iso block.tx_index';

const toPattern = (route: string): RegExp => new RegExp(`^${RegExp.escape(route).replaceAll('\\*', '.*')}$`);

/** Declares a known difference. @param place routes and fields, separated by a colon */
function known(place: string, when: KnownReason['when'], here: string, there: string): KnownReason {
  const [routes = [], paths = []] = place.split(/:\s/).map((part) => part.trim().split(/\s+/));
  return { routes, patterns: routes.map(toPattern), paths, here, there, when };
}

/** Differences between a Stackside and the API that it replaces. */
// biome-ignore format: a table, with the place and the condition of a difference before the two answers
export const referenceReasons: readonly KnownReason[] = [
  known('*: total', ({ ours, theirs }, { ours: body }) => isMore(ours, 0) && theirs === 0 && rowsOf(body).length === 0,
    '`total` is the number of items, even past the end', '`total` is 0 past the end'),
  known('*/logs */events */microblock: total', (diff, { theirs }) => moreHere(diff) && isMore(rowsOf(theirs).length, diff.theirs),
    '`total` counts every item in the list', '`total` leaves out logs of genesis and microblocks of other heights'),
  known('/extended/v3/*: limit results[*] cursor.next', ({ path, ours, theirs }, { target, ours: here, theirs: there }) =>
      !hasQuery(target, 'limit') && fieldOf(here, 'limit') === 20 && fieldOf(there, 'limit') === 100 &&
      (path === 'limit' || (path === 'cursor.next' ? theirs === null : ours === undefined)),
    'without `limit`, pages have 20 items', 'without `limit`, pages of some lists have 100 items'),
  known('/extended/v3/*: cursor.current', ({ ours, theirs }, { theirs: body }) =>
      typeof ours === 'string' && theirs === null && rowsOf(body).length === 0,
    'on an empty page, `cursor.current` is a text', 'on an empty page, `cursor.current` is null'),
  known('/extended/v2/*: next_cursor', ({ ours, theirs }, { target }) =>
      typeof ours === 'string' && theirs === null && hasQuery(target, 'offset'),
    'with `offset`, `next_cursor` leads to the newest page if fewer than `limit` items are newer',
    '`next_cursor` is null in that case'),
  known('/extended/v2/burn-blocks: total', moreThere,
    '`total` is the number of Bitcoin blocks', '`total` is the height of the newest one'),
  known(`/extended/v2/block-tenures/*: ${STATUS} total`, (diff) => diff.path === STATUS ? statuses(200, 404)(diff) : moreThere(diff),
    'the blocks of any tenure; `total` counts canonical blocks',
    '404 except for the tenure of the tip; `total` also counts orphaned blocks'),
  known(`/extended/v3/transactions/{tx_id}: ${STATUS}`, (diff, { target }) =>
      statuses(200, 400, 404)(diff) && !/\/0x[^/]*$/.test(target.split('?')[0]!),
    'ids are accepted without `0x`', '400 or 404 for them'),
  known(`/extended/v3/transactions/{tx_id}: ${STATUS}`, (diff, { ours }) =>
      statuses(200, 404)(diff) && /^dropped_/.test(String(fieldOf(ours, 'status'))),
    'a dropped transaction, with its status', '404'),
  known(`/extended/v3/transactions/{tx_id}/events: ${STATUS}`, statuses(404, 400),
    '404 for an unknown transaction', '400'),
  known(`/extended/v2/blocks/{height_or_hash}/transactions: ${STATUS}`, (diff, { ours }) =>
      statuses(200, 404)(diff) && rowsOf(ours).length === 0,
    'an empty page for a block without transactions', '404'),
  known(`/extended/v2/blocks/{height_or_hash}/transactions: ${within('results[*].contract_call.function_args[*].', 'type name')}`, always,
    'arguments of contract calls have the types of the interface', 'only the types of the values'),
  known('/extended/*/blocks/{height_or_hash}/transactions /extended/v1/tx/block*: total', (diff, { ours, theirs }) =>
      moreThere(diff) && rowsOf(ours).length === rowsOf(theirs).length,
    '`total` counts every item in the list',
    '`total` also counts failed Bitcoin-originated operations, which no list contains'),
  known(`*block* */tx* *transactions*: total results[*] results[*].block.time ${TX_COUNTS} ${within('results[*].', TX_COUNTS)}`, isOfGenesis,
    'in blocks 0 and 1, transactions of genesis follow those of block 1 and continue their indexes; counts include them',
    'genesis appears in block 1 with indexes that start at 0, and counts include only some'),
  known(`*/principals/{principal}/* */address/{principal}/* */addresses/{principal}/*
      /extended/v3/transactions /extended/v1/tx: results[*] total`, (diff, { ours }) =>
      diff.path === 'total' ? moreHere(diff) && rowsOf(ours).some(isGenesis) : onlyHere(diff) && isGenesis(diff.ours),
    'transactions of genesis are listed and counted, and included in sums', 'they are missing or not counted'),
  known('/extended/v3/transactions /extended/v1/tx: total', moreHere,
    '`total` counts the transactions of genesis', "`total` doesn't count them"),
  known('/extended/v1/tx: results[*] total', (diff, { target }) =>
      onlyOne(diff) === (diff.path !== 'total') && /[?&](nonce|start_time|end_time)=0(&|$)/.test(target),
    '`nonce`, `start_time` and `end_time` may be 0', '0 is ignored'),
  known('/extended/v1/microblock: results[*]', onlyOne,
    '`limit` and `offset` count microblocks', 'they count pairs of a microblock and a transaction'),
  known('/extended/v1/block: results[*].microblocks_streamed[*]', always,
    '`microblocks_streamed` contains only microblocks of this block',
    'in lists, it may contain microblocks of other blocks'),
  known('/extended/v1/address/{principal}/stx_inbound: total results*', (diff, { theirs }) =>
      diff.path === 'total' ? moreThere(diff) && Number(diff.theirs) <= 2 * Number(diff.ours) : hasTwice(rowsOf(theirs)),
    'each transfer is listed once', 'transfers by a token-transfer transaction are listed and counted twice'),
  known('*with_transfers: stx_sent results[*].stx_sent', ({ location }, { ours }) =>
      fieldOf(rowOf(ours, location), 'tx', 'sponsored') === true,
    'a fee counts for the account that paid it', 'the fee of a sponsored transaction counts for its sender'),
  known(`*/nonces: ${NONCES}`, ({ ours, theirs }) => (ours === null && theirs === 0) || (ours === 0 && theirs === 1),
    "Bitcoin-originated operations don't use a nonce", 'they count as nonce 0'),
  known(`/extended/v1/address/{principal}/nonces: ${NONCES}`, (_, { target }) =>
      hasQuery(target, 'block_height') || hasQuery(target, 'block_hash'),
    'at a block, a sponsored transaction counts for its sender, and its sponsor nonce for the sponsor',
    'the two may be mixed up'),
  known(`*/stx */balances: ${LOCKS} locked.* available`, (_, { ours, theirs }) => hasLocked(ours) && !hasLocked(theirs),
    'STX that a bond locks are locked', 'they are shown as available'),
  known(`/extended/v1/address/{principal}/stx /extended/v1/address/{principal}/balances: ${LOCKS}`, (_, { target }) =>
      hasQuery(target, 'until_block'),
    'with `until_block`, the lock comes from the last lock event up to the block; an unlock of pox-3 ends it',
    "it comes from any stacking event except pox-5; an unlock of pox-3 doesn't end it"),
  known('/extended/v3/principals/{principal}/balances/ft: results[*]', (diff, { ours }) =>
      diff.isOrder || (onlyOne(diff) && isMore(fieldOf(ours, 'total'), rowsOf(ours).length)),
    'the greatest balance comes first', 'balances are sorted as text'),
  known('*/tokens/ft/{*}/holders: results[*] total', (diff, { theirs }) =>
      diff.path === 'total'
        ? moreThere(diff) && rowsOf(theirs).some((row) => fieldOf(row, 'balance') === '0')
        : onlyThere(diff) && fieldOf(diff.theirs, 'balance') === '0',
    'only principals with a balance are holders',
    'principals that held it only in an orphaned block are listed with a balance of 0'),
  known('*/tokens/ft/{*}/holders: results[*]', ({ isOrder, ours, theirs }) =>
      isOrder && fieldOf(ours, 'balance') === fieldOf(theirs, 'balance'),
    'if balances are equal, the lower address comes first', 'equal balances have an undefined order'),
  known('/extended/v1/search/{id}: result.*', (_, { ours, theirs }) => isCanonical(ours) && !isCanonical(theirs),
    'the canonical item is preferred, then a pending one, then an orphaned one', 'any of them may be returned'),
  known('/extended/v1/stx_supply: unlocked_percent', ({ theirs }) => theirs === 'NaN',
    'an empty supply unlocks 0 %', '`NaN`'),
  known('*/tx* *transactions*: poison_microblock* results[*].poison_microblock*', always,
    'transactions of type `poison_microblock` have both headers, as in the transaction', 'one of them, or none'),
  known('/extended/v1/{pox}/*: results[*].data.first_cycle_locked', ({ location }, { ours }) =>
      fieldOf(rowOf(ours, location), 'name') === 'handle-unlock',
    '`first_cycle_locked` of a `handle-unlock` has the printed value', 'it has the value of another field'),
  known('/extended/v1/burnchain/* *pox-transactions: results[*] total reward_amount', (diff) =>
      diff.path === 'results[*]' ? onlyOne(diff) : Number(diff.theirs) > Number(diff.ours),
    'rewards of canonical Bitcoin blocks, once each, up to pox-4',
    'after a fork, some are repeated, missing or from replaced blocks; outputs of pox-5 are included'),
  known('/extended/v2/pox/cycles/{cycle_number}/signers*: pooled_stacker_count results[*].pooled_stacker_count results[*] total',
    (diff, { route }) => diff.path.endsWith('pooled_stacker_count') || (route.endsWith('/stackers') &&
      (diff.path === 'total' || (onlyOne(diff) && fieldOf(diff.ours ?? diff.theirs, 'stacker_type') === 'pooled'))),
    'pool members belong to the signer that the pool committed their Bitcoin address to',
    "they belong to the signer of the pool's last commitment in the cycle"),
  known(`/extended/v3/staking/cycles/*: ${STATUS}`, (diff, { target }) =>
      statuses(200, 400, 404)(diff) && /\/cycles\/\d+\//.test(target),
    'the number of a cycle, or `current`', 'only `current`; 400 or 404 for a number'),
  known(`/extended/v3/staking/bonds /extended/v3/staking/bonds/{bond_index}:
      balances.paid_out.btc results[*].balances.paid_out.btc`, ({ theirs }) => theirs === '0',
    '`paid_out.btc` is the amount paid out', 'always `"0"`'),
  known('/extended/v3/staking/bonds/{bond_index}: transaction.bitcoin_block.height', moreThere,
    "`bitcoin_block.height` is the height of the bond's block", 'it is the height of the tip'),
  known('/extended/v3/staking/bonds/{bond_index}/allowlist: results[*] cursor.next', (diff, { target }) =>
      hasQuery(target, 'cursor') && (diff.path === 'cursor.next' ? diff.ours === null : onlyOne(diff)),
    'from the second page on, each item is on one page', 'items are repeated, and the pages never end'),
  known('/v1/names/{name}: expire_block', moreThere,
    '`expire_block` is one lifetime after the registration or the last renewal',
    'other operations on the name extend it'),
  known('/v1/names/{name}: address', (_, { ours }) => fieldOf(ours, 'status') === 'name-import',
    'an imported name belongs to its beneficiary', 'it belongs to the account that imported it'),
];

const PENDING = 'estimated_balance pending_balance_inbound pending_balance_outbound';

/** Differences between any two servers: each node has a different mempool. */
export const commonReasons: readonly KnownReason[] = [
  known(
    `*mempool* */nonces */stx */balances:
      results[*] total cursor.next cursor.previous cursor.current mempool mempool.* next_nonce possible_next_nonce
      last_mempool_tx_nonce detected_missing_nonces[*] detected_mempool_nonces[*] txs[*] ${PENDING}
      ${within('stx.', PENDING)} tx_type_counts.* tx_simple_fee_averages.* tx_byte_sizes.* all.* token_transfer.*
      contract_call.* smart_contract.*`,
    (diff, { route }) => !route.includes('mempool') || diff.path !== 'results[*]' || diff.isOrder || onlyOne(diff),
    'the mempool of this node',
    'the mempool of another node',
  ),
];

const fitsPath = (path: string, pattern: string): boolean =>
  pattern.endsWith('[*]') || !pattern.endsWith('*') ? path === pattern : path.startsWith(pattern.slice(0, -1));

/** The reason for a difference; null if unknown. */
export const reasonFor = (
  reasons: readonly KnownReason[],
  difference: Difference,
  comparedAnswers: ComparedAnswers,
): KnownReason | null =>
  reasons.find(
    ({ patterns, paths, when }) =>
      paths.some((path) => fitsPath(difference.path, path)) &&
      patterns.some((pattern) => pattern.test(comparedAnswers.route)) &&
      when(difference, comparedAnswers),
  ) ?? null;

/** Values that don't depend on the chain: versions, the contents of cursors, times of receipt, and ages by the clock. */
const NOT_COMPARED: readonly { routes: RegExp; path: RegExp; mayBeNull?: boolean }[] = [
  { routes: /./, path: /^server_version$/ },
  { routes: /./, path: /^(next_cursor|prev_cursor|cursor|cursor\.(next|previous|current))$/ },
  { routes: /./, path: /(^|\.)receipt_(time|time_iso|block_height)$/ },
  { routes: /^\/extended\/v2\/blocks\/average-times$/, path: /^last_\w+$/ },
  { routes: /^\/extended\/v1\/tx\/mempool\/stats$/, path: /^tx_ages\./, mayBeNull: true },
];

const isNumberOrNull = (value: unknown): boolean => typeof value === 'number' || value === null;

/** Whether a difference counts. It doesn't if both servers have values of the same type at a path that isn't compared. */
export const isCompared = ({ path, ours, theirs }: Difference, route: string): boolean =>
  !NOT_COMPARED.some(
    ({ routes, path: pattern, mayBeNull = false }) =>
      routes.test(route) &&
      pattern.test(path) &&
      (typeof ours === typeof theirs || (mayBeNull && isNumberOrNull(ours) && isNumberOrNull(theirs))),
  );
