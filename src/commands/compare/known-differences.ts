/**
 * Reasons why two working servers may answer differently. A difference has a reason only if the route, the path and each
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
  /** The routes in words, for a reader. */
  where: string;
  /** The answer of each server, in words. */
  here: string;
  there: string;
  routes: RegExp;
  /** Paths of differences; `*` at the end stands for any rest. */
  paths: readonly string[];
  when: (difference: Difference, comparedAnswers: ComparedAnswers) => boolean;
}

/** The path for differences of statuses and types of bodies. */
export const STATUS = '@status';
export const CONTENT_TYPE = '@content-type';

const rowsOf = (body: unknown): readonly unknown[] => {
  const rows = fieldOf(body, 'results');
  return Array.isArray(rows) ? rows : [];
};
const isMore = (a: unknown, b: unknown): boolean => typeof a === 'number' && typeof b === 'number' && a > b;
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
const lastSegment = (target: string): string => target.split('?')[0]?.split('/').at(-1) ?? '';

/** The row of a list that a difference is in; the whole body if it is in none. */
function rowOf(body: unknown, location: string): unknown {
  const index = /^results\[(\d+)\]/.exec(location)?.[1];
  return index === undefined ? body : rowsOf(body)[Number(index)];
}

/** The height of a row's block; null for a row without one. */
function heightOf(row: unknown): number | null {
  const heights = [
    ['block_height'],
    ['block', 'height'],
    ['tx', 'block_height'],
    ['transaction', 'block', 'height'],
    ['height'],
  ];
  const height = heights.map((names) => fieldOf(row, ...names)).find((value) => typeof value === 'number');
  return typeof height === 'number' ? height : null;
}

const isGenesis = (row: unknown): boolean => (heightOf(row) ?? Number.POSITIVE_INFINITY) <= 1;

function hasTwice(rows: readonly unknown[]): boolean {
  return new Set(rows.map((row) => JSON.stringify(row))).size < rows.length;
}

/** The amount that an answer about STX shows as locked, in any version. */
const lockedIn = (body: unknown): unknown =>
  [['locked', 'amount'], ['locked'], ['stx', 'locked']]
    .map((names) => fieldOf(body, ...names))
    .find((value) => typeof value === 'string');

const LOCK = ['locked', 'lock_tx_id', 'lock_height', 'burnchain_lock_height', 'burnchain_unlock_height'];
const LOCKS = [...LOCK, ...LOCK.map((name) => `stx.${name}`)];
const NONCES = ['last_executed_tx_nonce', 'possible_next_nonce', 'last_confirmed_nonce', 'next_nonce'];
const V1_STX = /^\/extended\/v1\/address\/\{principal\}\/(stx|balances)$/;
const ACCOUNT_LISTS =
  /\/(principals|address|addresses)\/\{principal\}\/|^\/extended\/v3\/transactions$|^\/extended\/v1\/tx$/;

/** Names one route, for a reader and for the comparison. */
const forRoute = (route: string): Pick<KnownReason, 'where' | 'routes'> => ({
  where: `\`${route}\``,
  routes: new RegExp(`^${RegExp.escape(route)}$`),
});

/** Differences between a Stackside and the API that it replaces. */
export const referenceReasons: readonly KnownReason[] = [
  {
    where: 'lists',
    here: '`total` is the number of items, even past the end',
    there: '`total` is 0 past the end',
    routes: /./,
    paths: ['total'],
    when: ({ ours, theirs }, { ours: body }) => isMore(ours, 0) && theirs === 0 && rowsOf(body).length === 0,
  },
  {
    where: 'logs of a contract, and `/extended/v1/microblock`',
    here: '`total` counts every item in the list',
    there: '`total` leaves out logs of genesis and microblocks of other heights',
    routes: /\/(logs|events|microblock)$/,
    paths: ['total'],
    when: (diff, { theirs }) => moreHere(diff) && isMore(rowsOf(theirs).length, diff.theirs),
  },
  {
    where: 'lists of v3, without `limit`',
    here: 'pages have 20 items',
    there: 'pages of some lists have 100 items',
    routes: /^\/extended\/v3\//,
    paths: ['limit', 'results[*]', 'cursor.next'],
    when: ({ path, ours, theirs }, { target, ours: here, theirs: there }) =>
      !hasQuery(target, 'limit') &&
      fieldOf(here, 'limit') === 20 &&
      fieldOf(there, 'limit') === 100 &&
      (path === 'limit' || (path === 'cursor.next' ? theirs === null : ours === undefined)),
  },
  {
    where: 'lists of v3, on an empty page',
    here: '`cursor.current` is a text',
    there: '`cursor.current` is null',
    routes: /^\/extended\/v3\//,
    paths: ['cursor.current'],
    when: ({ ours, theirs }, { theirs: body }) =>
      typeof ours === 'string' && theirs === null && rowsOf(body).length === 0,
  },
  {
    where: 'lists of v2 with cursors, with `offset`',
    here: '`next_cursor` leads to the newest page if fewer than `limit` items are newer',
    there: '`next_cursor` is null in that case',
    routes: /^\/extended\/v2\//,
    paths: ['next_cursor'],
    when: ({ ours, theirs }, { target }) => typeof ours === 'string' && theirs === null && hasQuery(target, 'offset'),
  },
  {
    ...forRoute('/extended/v2/burn-blocks'),
    here: '`total` is the number of Bitcoin blocks',
    there: '`total` is the height of the newest one',
    paths: ['total'],
    when: moreThere,
  },
  {
    where: '`/extended/v2/block-tenures/{tenure_height}/blocks`',
    here: 'the blocks of any tenure; `total` counts canonical blocks',
    there: '404 except for the tenure of the tip; `total` also counts orphaned blocks',
    routes: /^\/extended\/v2\/block-tenures\//,
    paths: [STATUS, 'total'],
    when: (diff) => (diff.path === STATUS ? statuses(200, 404)(diff) : moreThere(diff)),
  },
  {
    ...forRoute('/extended/v3/transactions/{tx_id}'),
    here: 'ids are accepted without `0x`',
    there: '400 or 404 for them',
    paths: [STATUS],
    when: (diff, { target }) => statuses(200, 400, 404)(diff) && !lastSegment(target).startsWith('0x'),
  },
  {
    ...forRoute('/extended/v3/transactions/{tx_id}'),
    here: 'a dropped transaction, with its status',
    there: '404',
    paths: [STATUS],
    when: (diff, { ours }) => statuses(200, 404)(diff) && /^dropped_/.test(String(fieldOf(ours, 'status'))),
  },
  {
    ...forRoute('/extended/v3/transactions/{tx_id}/events'),
    here: '404 for an unknown transaction',
    there: '400',
    paths: [STATUS],
    when: statuses(404, 400),
  },
  {
    ...forRoute('/extended/v2/blocks/{height_or_hash}/transactions'),
    here: 'an empty page for a block without transactions',
    there: '404',
    paths: [STATUS],
    when: (diff, { ours }) => statuses(200, 404)(diff) && rowsOf(ours).length === 0,
  },
  {
    ...forRoute('/extended/v2/blocks/{height_or_hash}/transactions'),
    here: 'arguments of contract calls have the types of the interface',
    there: 'only the types of the values',
    paths: ['results[*].contract_call.function_args[*].type', 'results[*].contract_call.function_args[*].name'],
    when: () => true,
  },
  {
    where: 'transactions of a block',
    here: '`total` counts every item in the list',
    there: '`total` also counts failed Bitcoin-originated operations, which no list contains',
    routes: /^\/extended\/v[123]\/(blocks\/\{height_or_hash\}\/transactions|tx\/block(_height)?\/\{\w+\})$/,
    paths: ['total'],
    when: (diff, { ours, theirs }) => moreThere(diff) && rowsOf(ours).length === rowsOf(theirs).length,
  },
  {
    where: 'blocks 0 and 1',
    here: 'transactions of genesis follow those of block 1 and continue their indexes; counts include them',
    there: 'genesis appears in block 1 with indexes that start at 0, and counts include only some',
    routes: /block|\/tx|transactions/,
    paths: [
      ...[
        'tx_count',
        'total_tx_count',
        'total',
        'txs[*]',
        'tx_index',
        'block_time',
        'block_time_iso',
        'block.tx_index',
      ],
      ...['results[*]', 'results[*].tx_count', 'results[*].total_tx_count', 'results[*].txs[*]', 'results[*].tx_index'],
      ...['results[*].block_time', 'results[*].block_time_iso', 'results[*].block.tx_index', 'results[*].block.time'],
    ],
    when({ path, location, ours, theirs, isOrder }, { ours: here }) {
      if (path === 'results[*]') return isOrder && isGenesis(ours ?? theirs);
      if (path === 'total') return rowsOf(here).some(isGenesis);
      return isGenesis(rowOf(here, location));
    },
  },
  {
    where: 'lists of transactions, including those of accounts',
    here: 'transactions of genesis are listed and counted, and included in sums',
    there: 'they are missing or not counted',
    routes: ACCOUNT_LISTS,
    paths: ['results[*]', 'total'],
    when: (diff, { ours }) =>
      diff.path === 'total' ? moreHere(diff) && rowsOf(ours).some(isGenesis) : onlyHere(diff) && isGenesis(diff.ours),
  },
  {
    where: '`/extended/v3/transactions`, `/extended/v1/tx`',
    here: '`total` counts the transactions of genesis',
    there: "`total` doesn't count them",
    routes: /^\/extended\/(v3\/transactions|v1\/tx)$/,
    paths: ['total'],
    when: moreHere,
  },
  {
    ...forRoute('/extended/v1/tx'),
    here: '`nonce`, `start_time` and `end_time` may be 0',
    there: '0 is ignored',
    paths: ['results[*]', 'total'],
    when: (diff, { target }) =>
      onlyOne(diff) === (diff.path !== 'total') && /[?&](nonce|start_time|end_time)=0(&|$)/.test(target),
  },
  {
    ...forRoute('/extended/v1/microblock'),
    here: '`limit` and `offset` count microblocks',
    there: 'they count pairs of a microblock and a transaction',
    paths: ['results[*]'],
    when: onlyOne,
  },
  {
    ...forRoute('/extended/v1/block'),
    here: '`microblocks_streamed` contains only microblocks of this block',
    there: 'in lists, it may contain microblocks of other blocks',
    paths: ['results[*].microblocks_streamed[*]'],
    when: () => true,
  },
  {
    ...forRoute('/extended/v1/address/{principal}/stx_inbound'),
    here: 'each transfer is listed once',
    there: 'transfers by a token-transfer transaction are listed and counted twice',
    paths: ['total', 'results*'],
    when: (diff, { theirs }) =>
      diff.path === 'total'
        ? moreThere(diff) && Number(diff.theirs) <= 2 * Number(diff.ours)
        : hasTwice(rowsOf(theirs)),
  },
  {
    where: 'routes `with_transfers`',
    here: 'a fee counts for the account that paid it',
    there: 'the fee of a sponsored transaction counts for its sender',
    routes: /with_transfers$/,
    paths: ['stx_sent', 'results[*].stx_sent'],
    when: ({ location }, { ours }) => fieldOf(rowOf(ours, location), 'tx', 'sponsored') === true,
  },
  {
    where: 'nonces',
    here: "Bitcoin-originated operations don't use a nonce",
    there: 'they count as nonce 0',
    routes: /\/nonces$/,
    paths: NONCES,
    when: ({ ours, theirs }) => (ours === null && theirs === 0) || (ours === 0 && theirs === 1),
  },
  {
    where: '`/extended/v1/address/{principal}/nonces`, at a block',
    here: 'a sponsored transaction counts for its sender, and its sponsor nonce for the sponsor',
    there: 'the two may be mixed up',
    routes: /^\/extended\/v1\/address\/\{principal\}\/nonces$/,
    paths: NONCES,
    when: (_, { target }) => hasQuery(target, 'block_height') || hasQuery(target, 'block_hash'),
  },
  {
    where: 'STX balances',
    here: 'STX that a bond locks are locked',
    there: 'they are shown as available',
    routes: /\/(stx|balances)$/,
    paths: [...LOCKS, 'locked.*', 'available'],
    when: (_, { ours, theirs }) => (lockedIn(ours) ?? '0') !== '0' && (lockedIn(theirs) ?? '0') === '0',
  },
  {
    where: 'STX balances of v1, with `until_block`',
    here: 'the lock comes from the last lock event up to the block; an unlock of pox-3 ends it',
    there: "it comes from any stacking event except pox-5; an unlock of pox-3 doesn't end it",
    routes: V1_STX,
    paths: LOCKS,
    when: (_, { target }) => hasQuery(target, 'until_block'),
  },
  {
    ...forRoute('/extended/v3/principals/{principal}/balances/ft'),
    here: 'the greatest balance comes first',
    there: 'balances are sorted as text',
    paths: ['results[*]'],
    when: (diff, { ours }) => diff.isOrder || (onlyOne(diff) && isMore(fieldOf(ours, 'total'), rowsOf(ours).length)),
  },
  {
    where: 'holders of a fungible token',
    here: 'only principals with a balance are holders',
    there: 'principals that held it only in an orphaned block are listed with a balance of 0',
    routes: /\/tokens\/ft\/\{\w+\}\/holders$/,
    paths: ['results[*]', 'total'],
    when: (diff, { theirs }) =>
      diff.path === 'total'
        ? moreThere(diff) && rowsOf(theirs).some((row) => fieldOf(row, 'balance') === '0')
        : onlyThere(diff) && fieldOf(diff.theirs, 'balance') === '0',
  },
  {
    where: 'holders of a fungible token',
    here: 'if balances are equal, the lower address comes first',
    there: 'equal balances have an undefined order',
    routes: /\/tokens\/ft\/\{\w+\}\/holders$/,
    paths: ['results[*]'],
    when: ({ isOrder, ours, theirs }) => isOrder && fieldOf(ours, 'balance') === fieldOf(theirs, 'balance'),
  },
  {
    ...forRoute('/extended/v1/search/{id}'),
    here: 'the canonical item is preferred, then a pending one, then an orphaned one',
    there: 'any of them may be returned',
    paths: ['result.*'],
    when: (_, { ours, theirs }) =>
      [ours, theirs]
        .map((body) => ['tx_data', 'block_data'].some((data) => fieldOf(body, 'result', data, 'canonical') === true))
        .join() === 'true,false',
  },
  {
    ...forRoute('/extended/v1/stx_supply'),
    here: 'an empty supply unlocks 0 %',
    there: '`NaN`',
    paths: ['unlocked_percent'],
    when: ({ theirs }) => theirs === 'NaN',
  },
  {
    where: 'transactions of type `poison_microblock`',
    here: 'both headers, as in the transaction',
    there: 'one of them, or none',
    routes: /\/tx|transactions/,
    paths: ['poison_microblock*', 'results[*].poison_microblock*'],
    when: () => true,
  },
  {
    where: '`/extended/v1/{pox}/events` and those of a stacker or transaction',
    here: '`first_cycle_locked` of a `handle-unlock` has the printed value',
    there: 'it has the value of another field',
    routes: /^\/extended\/v1\/\{pox\}\//,
    paths: ['results[*].data.first_cycle_locked'],
    when: ({ location }, { ours }) => fieldOf(rowOf(ours, location), 'name') === 'handle-unlock',
  },
  {
    where: '`/extended/v1/burnchain`, and pox transactions',
    here: 'rewards of canonical Bitcoin blocks, once each, up to pox-4',
    there: 'after a fork, some are repeated, missing or from replaced blocks; outputs of pox-5 are included',
    routes: /^\/extended\/v1\/burnchain\/|pox-transactions$/,
    paths: ['results[*]', 'total', 'reward_amount'],
    when: (diff) => (diff.path === 'results[*]' ? onlyOne(diff) : Number(diff.theirs) > Number(diff.ours)),
  },
  {
    where: '`/extended/v2/pox/cycles/{cycle_number}/signers`, and the stackers of a signer',
    here: 'pool members belong to the signer that the pool committed their Bitcoin address to',
    there: "they belong to the signer of the pool's last commitment in the cycle",
    routes: /^\/extended\/v2\/pox\/cycles\/\{cycle_number\}\/signers/,
    paths: ['pooled_stacker_count', 'results[*].pooled_stacker_count', 'results[*]', 'total'],
    when: (diff, { route }) => {
      if (diff.path.endsWith('pooled_stacker_count')) return true;
      if (!route.endsWith('/stackers')) return false;
      return diff.path === 'total' || (onlyOne(diff) && fieldOf(diff.ours ?? diff.theirs, 'stacker_type') === 'pooled');
    },
  },
  {
    where: '`/extended/v3/staking/cycles/{cycle_number}/signers`',
    here: 'the number of a cycle, or `current`',
    there: 'only `current`; 400 or 404 for a number',
    routes: /^\/extended\/v3\/staking\/cycles\//,
    paths: [STATUS],
    when: (diff, { target }) => statuses(200, 400, 404)(diff) && /\/cycles\/\d+\//.test(target),
  },
  {
    where: '`/extended/v3/staking/bonds` and one bond',
    here: '`paid_out.btc` is the amount paid out',
    there: 'always `"0"`',
    routes: /^\/extended\/v3\/staking\/bonds(\/\{bond_index\})?$/,
    paths: ['balances.paid_out.btc', 'results[*].balances.paid_out.btc'],
    when: ({ theirs }) => theirs === '0',
  },
  {
    ...forRoute('/extended/v3/staking/bonds/{bond_index}'),
    here: "`bitcoin_block.height` is the height of the bond's block",
    there: 'it is the height of the tip',
    paths: ['transaction.bitcoin_block.height'],
    when: moreThere,
  },
  {
    where: '`/extended/v3/staking/bonds/{bond_index}/allowlist`, from the second page on',
    here: 'each item is on one page',
    there: 'items are repeated, and the pages never end',
    routes: /^\/extended\/v3\/staking\/bonds\/\{bond_index\}\/allowlist$/,
    paths: ['results[*]', 'cursor.next'],
    when: (diff, { target }) =>
      hasQuery(target, 'cursor') && (diff.path === 'cursor.next' ? diff.ours === null : onlyOne(diff)),
  },
  {
    ...forRoute('/v1/names/{name}'),
    here: '`expire_block` is one lifetime after the registration or the last renewal',
    there: 'other operations on the name extend it',
    paths: ['expire_block'],
    when: moreThere,
  },
  {
    ...forRoute('/v1/names/{name}'),
    here: 'an imported name belongs to its beneficiary',
    there: 'it belongs to the account that imported it',
    paths: ['address'],
    when: (_, { ours }) => fieldOf(ours, 'status') === 'name-import',
  },
];

/** Each node has a different mempool, so two Stacksides also have different pending transactions. */
const mempoolReason: KnownReason = {
  where: 'pending transactions and their counts',
  here: 'the mempool of this node',
  there: 'the mempool of another node',
  routes: /mempool|\/nonces$|\/(stx|balances)$/,
  paths: [
    ...['results[*]', 'total', 'cursor.next', 'cursor.previous', 'cursor.current'],
    ...['mempool', 'mempool.*', 'next_nonce', 'possible_next_nonce', 'last_mempool_tx_nonce'],
    ...['detected_missing_nonces[*]', 'detected_mempool_nonces[*]', 'txs[*]'],
    ...['estimated_balance', 'pending_balance_inbound', 'pending_balance_outbound'],
    ...['stx.estimated_balance', 'stx.pending_balance_inbound', 'stx.pending_balance_outbound'],
    ...['tx_type_counts.*', 'tx_simple_fee_averages.*', 'tx_byte_sizes.*', 'all.*', 'token_transfer.*'],
    ...['contract_call.*', 'smart_contract.*'],
  ],
  when: (diff, { route }) =>
    route.includes('mempool') ? diff.path !== 'results[*]' || diff.isOrder || onlyOne(diff) : true,
};

/** Differences between any two servers. */
export const commonReasons: readonly KnownReason[] = [mempoolReason];

const fitsPath = (path: string, pattern: string): boolean =>
  pattern.endsWith('[*]') || !pattern.endsWith('*') ? path === pattern : path.startsWith(pattern.slice(0, -1));

/** The reason for a difference; null if unknown. */
export const reasonFor = (
  reasons: readonly KnownReason[],
  difference: Difference,
  comparedAnswers: ComparedAnswers,
): KnownReason | null =>
  reasons.find(
    ({ routes, paths, when }) =>
      routes.test(comparedAnswers.route) &&
      paths.some((pattern) => fitsPath(difference.path, pattern)) &&
      when(difference, comparedAnswers),
  ) ?? null;

interface NotCompared {
  routes: RegExp;
  path: RegExp;
  /** Whether one may be a number and the other null. */
  orNull?: boolean;
}

/** Values that don't depend on the chain: versions, the contents of cursors, times of receipt, and ages by the clock. */
const NOT_COMPARED: readonly NotCompared[] = [
  { routes: /./, path: /^server_version$/ },
  { routes: /./, path: /^(next_cursor|prev_cursor|cursor|cursor\.(next|previous|current))$/ },
  { routes: /./, path: /(^|\.)receipt_(time|time_iso|block_height)$/ },
  { routes: /^\/extended\/v2\/blocks\/average-times$/, path: /^last_\w+$/ },
  { routes: /^\/extended\/v1\/tx\/mempool\/stats$/, path: /^tx_ages\./, orNull: true },
];

const isNumberOrNull = (value: unknown): boolean => typeof value === 'number' || value === null;

/** Whether a difference counts. It doesn't if both servers have values of the same type at a path that isn't compared. */
export const isCompared = ({ path, ours, theirs }: Difference, route: string): boolean =>
  !NOT_COMPARED.some(
    ({ routes, path: pattern, orNull = false }) =>
      routes.test(route) &&
      pattern.test(path) &&
      (typeof ours === typeof theirs || (orNull && isNumberOrNull(ours) && isNumberOrNull(theirs))),
  );
