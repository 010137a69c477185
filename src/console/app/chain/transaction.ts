/** Transactions in words: effects, post-conditions and balance changes. */

import type { ListedPending, ListedTransaction, PostCondition, Transaction, TransactionEvent } from '../api/api.ts';
import { plural, shortPrincipal, stxText, words } from './format.ts';

/** A part of a sentence: plain text, or an object that the page shows as a link. */
export type Part = string | { principal: string } | { contract: string; function: string };

/** Returns the sentence as plain text, with shortened addresses. */
export const plainText = (parts: readonly Part[]): string =>
  parts
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'principal' in part
        ? shortPrincipal(part.principal)
        : `${shortPrincipal(part.contract)}::${part.function}`;
    })
    .join('');

const KINDS: Readonly<Record<Transaction['tx_type'], string>> = {
  token_transfer: 'Transfer',
  contract_call: 'Contract call',
  smart_contract: 'Deployment',
  coinbase: 'Coinbase',
  tenure_change: 'Tenure change',
  poison_microblock: 'Poison microblock',
  unknown: 'Unknown',
};

export const kindOf = (type: Transaction['tx_type']): string => KINDS[type];

/** Describes the number of later Stacks and Bitcoin blocks: `3 Stacks blocks and 1 Bitcoin block since`. */
export const confirmations = (
  { block_height: height, burn_block_height: bitcoinHeight }: { block_height: number; burn_block_height: number },
  tip: { block_height: number; burn_block_height: number },
): string =>
  `${plural(Math.max(0, tip.block_height - height), 'Stacks block')} and ${plural(Math.max(0, tip.burn_block_height - bitcoinHeight), 'Bitcoin block')} since`;

/** Statuses in words. All other statuses are statuses of dropped transactions. */
export const STATUSES = {
  success: 'Success',
  abort_by_response: 'Failed',
  abort_by_post_condition: 'Post-condition failed',
  problematic_skipped: 'Skipped',
  unknown: 'Unknown status',
  pending: 'Pending',
} as const;

type Fate = 'done' | 'failed' | 'pending' | 'dropped';

export function fateOf(status: string): Fate {
  // A newer node may report other outcomes.
  if (status === 'success' || status === 'unknown') return 'done';
  if (status === 'pending') return 'pending';
  return status.startsWith('dropped') ? 'dropped' : 'failed';
}

/** Returns a verb in the form for a fate: `sent`, `tried to send`, `wants to send`. */
function verb(fate: Fate, past: string, infinitive: string): string {
  if (fate === 'done') return ` ${past} `;
  return fate === 'pending' ? ` wants to ${infinitive} ` : ` tried to ${infinitive} `;
}

/** Reports whether a transfer is in the genesis block: nobody can send STX to itself. */
const isGenesis = (sender: string, recipient: string, amount: string): boolean =>
  amount === '0' && sender === recipient;

const CAUSES: Readonly<Record<string, string>> = {
  block_found: 'for a new Bitcoin block',
  extended: 'with a new budget',
};

/** Returns the cause of a tenure change: `New Bitcoin block`, `New budget: runtime`. */
export const causeTitle = (cause: string): string =>
  cause === 'block_found' ? 'New Bitcoin block' : `New budget${cause.replace(/^extended_?/, ': ').replace(/: $/, '')}`;

/** Describes the effect of a transaction, as parts of a sentence without its fee. */
function effectParts(transaction: Transaction): Part[] {
  const fate = fateOf(transaction.tx_status);
  const sender: Part = { principal: transaction.sender_address };
  switch (transaction.tx_type) {
    case 'token_transfer': {
      const { recipient_address: recipient, amount } = transaction.token_transfer;
      if (isGenesis(transaction.sender_address, recipient, amount))
        return ['The genesis block gave the first accounts their balances'];
      return [sender, verb(fate, 'sent', 'send'), stxText(amount), ' to ', { principal: recipient }];
    }
    case 'contract_call': {
      const { contract_id: contract, function_name: name } = transaction.contract_call;
      const verbText = verb(fate === 'failed' ? 'done' : fate, 'called', 'call');
      return [sender, verbText, { contract, function: name }];
    }
    case 'smart_contract':
      return [sender, verb(fate, 'deployed', 'deploy'), { principal: transaction.smart_contract.contract_id }];
    case 'coinbase': {
      const recipient = transaction.coinbase_payload.alt_recipient;
      const reward: Part[] = recipient === null ? [] : ['; its reward goes to ', { principal: recipient }];
      return ['The miner ', sender, ' claimed the reward of its tenure', ...reward];
    }
    case 'tenure_change': {
      const { cause } = transaction.tenure_change_payload;
      const reason = CAUSES[cause ?? ''] ?? `with a new budget of ${words((cause ?? '').replace('extended_', ''))}`;
      const actionText = cause === 'block_found' ? ' began a tenure ' : ' extended its tenure ';
      return ['The miner ', sender, actionText, reason];
    }
    case 'poison_microblock':
      return [sender, ' reported a fork of microblocks'];
    case 'unknown':
      return [sender, ' signed a transaction of a type that this version does not support'];
  }
}

const failureText = (transaction: Transaction): string =>
  transaction.tx_type === 'contract_call' && fateOf(transaction.tx_status) === 'failed' ? ', which failed' : '';

/** Returns the account that pays the fee for the sender; null if there is none. */
export const sponsorOf = (transaction: Transaction): string | null =>
  ('sponsor_address' in transaction ? transaction.sponsor_address : null) ?? null;

/** Returns `SP… sent 10 STX to SP…; fee 0.003 STX.` */
export function sentence(transaction: Transaction): Part[] {
  const { fee_rate: fee } = transaction;
  const sponsor = sponsorOf(transaction);
  const payer: Part[] = sponsor === null ? [] : [', paid by ', { principal: sponsor }];
  const feeParts: Part[] = fee === '0' ? [] : [`; fee ${stxText(fee)}`, ...payer];
  return [...effectParts(transaction), failureText(transaction), ...feeParts, '.'];
}

/**
 * Returns the role of a principal in a transaction, in words that the sender follows unless the principal is the sender.
 * @param net its change of STX, in micro-STX
 */
export function directionOf(involvement: 'sender' | 'sponsor' | 'affected', net: string): string {
  if (involvement === 'sender') return 'Out';
  if (involvement === 'sponsor') return 'Sponsored for';
  if (net === '0') return 'Involved by';
  return net.startsWith('-') ? 'Out by' : 'In from';
}

/** Describes the action of a listed transaction in a few words, without its sender. */
export function action(transaction: ListedTransaction | ListedPending): Part[] {
  switch (transaction.type) {
    case 'token_transfer': {
      const { amount, recipient } = transaction.token_transfer;
      if (isGenesis(transaction.sender.address, recipient, amount)) return ['First balances, of genesis'];
      return [`${stxText(amount)} to `, { principal: recipient }];
    }
    case 'contract_call':
      return [{ contract: transaction.contract_call.contract_id, function: transaction.contract_call.function_name }];
    case 'smart_contract':
      return [{ principal: transaction.smart_contract.contract_id }];
    case 'coinbase':
      return ['Reward of a tenure'];
    case 'tenure_change':
      return ['tenure_change' in transaction ? causeTitle(transaction.tenure_change.cause ?? '') : ''];
    case 'poison_microblock':
      return ['Fork of microblocks'];
    case 'unknown':
      return ['Of a type that this version does not support'];
  }
}

/** Reasons why a transaction is no longer pending. */
export const DROP_REASONS: Readonly<Record<string, string>> = {
  dropped_replace_by_fee:
    'Another transaction of the same account with the same nonce paid a higher fee and replaced this one.',
  dropped_replace_across_fork: 'A transaction of another fork with the same nonce replaced this one.',
  dropped_too_expensive: 'The node dropped this transaction because it costs more than a block allows.',
  dropped_stale_garbage_collect: 'The node dropped this transaction because it had waited too long.',
  dropped_problematic: 'The node dropped this transaction because miners would not be able to process it.',
};

const COMPARISONS: Readonly<Record<string, string>> = {
  sent_equal_to: 'must send exactly',
  sent_greater_than: 'must send more than',
  sent_greater_than_or_equal_to: 'must send at least',
  sent_less_than: 'must send less than',
  sent_less_than_or_equal_to: 'must send at most',
  sent: 'must send',
  not_sent: 'must not send',
  maybe_sent: 'may send',
  performed: 'must change its stacking',
  not_performed: 'must not change its stacking',
  maybe_performed: 'may change its stacking',
};

type Owner = Exclude<PostCondition, { type: 'unknown' }>['principal'];

function ownerOf(principal: Owner): string | null {
  switch (principal.type_id) {
    case 'principal_origin':
      return null;
    case 'principal_standard':
      return principal.address;
    case 'principal_contract':
      return `${principal.address}.${principal.contract_name}`;
  }
}

type Asset = Extract<PostCondition, { type: 'fungible' }>['asset'];

const assetOf = ({ contract_address: address, contract_name: name, asset_name: asset }: Asset): string =>
  `${address}.${name}::${asset}`;

/**
 * Returns a post-condition in words: its rule, such as `must send at most 10 STX`, and the amount (in the smallest unit),
 * asset and value of tokens, which the rule lacks. The principal is null for the sender of the transaction.
 */
export function describeCondition(condition: PostCondition) {
  const none: Record<'principal' | 'amount' | 'asset' | 'value', string | null> = {
    principal: null,
    amount: null,
    asset: null,
    value: null,
  };
  if (condition.type === 'unknown') {
    return { ...none, rule: 'has conditions of a kind that this version does not support', value: condition.hex };
  }
  const rule = COMPARISONS[condition.condition_code] ?? condition.condition_code;
  const words = { ...none, principal: ownerOf(condition.principal), rule };
  switch (condition.type) {
    case 'stx':
      return { ...words, rule: `${rule} ${stxText(condition.amount)}` };
    case 'staking':
      return { ...words, rule: `${rule} ${stxText(condition.amount)} into staking` };
    case 'fungible':
      return { ...words, amount: condition.amount, asset: assetOf(condition.asset) };
    case 'non_fungible':
      return { ...words, asset: assetOf(condition.asset), value: condition.asset_value.repr };
    case 'pox':
      return words;
  }
}

const MODES: Readonly<Record<string, string>> = {
  allow: 'Assets without a condition may move freely.',
  deny: 'Assets without a condition must not move.',
  unknown: 'This version does not support the mode, so the rule for other assets is unknown.',
  originator: 'Without a condition, assets of the origin must not move; assets of others may.',
};

/** Returns the rule of a mode for assets that no condition names. */
export const modeWords = (mode: string): string => MODES[mode] ?? mode;

/** Reports whether a text names a condition's owner and its asset, as in the node's reason for a failure. */
function isNamed(condition: ReturnType<typeof describeCondition>, sender: string, reason: string): boolean {
  const owner = condition.principal ?? sender;
  const asset = condition.asset ?? 'STX';
  return reason.includes(owner) && reason.includes(asset.slice(asset.lastIndexOf('.') + 1));
}

/**
 * Returns the index of the condition that failed; null if that is uncertain. The node's reason names the condition.
 * Without a reason, an only condition failed if the mode allows other assets to move.
 */
export function failedCondition(
  conditions: readonly PostCondition[],
  mode: string,
  sender: string,
  reason: string | null,
): number | null {
  if (reason !== null && reason !== '') {
    const indexes = conditions.flatMap((condition, index) =>
      isNamed(describeCondition(condition), sender, reason) ? [index] : [],
    );
    return indexes.length === 1 ? (indexes[0] ?? null) : null;
  }
  return conditions.length === 1 && mode === 'allow' ? 0 : null;
}

interface BalanceChange {
  principal: string;
  /** An asset identifier; null for STX. */
  asset: string | null;
  isFungible: boolean;
  /** The amount in the smallest unit, or the number of non-fungible tokens. */
  net: bigint;
}

/** Returns the changes of balances, without zero changes. @param fee its payer, and its amount in micro-STX */
export function balanceChanges(
  events: readonly TransactionEvent[],
  fee: { payer: string; amount: string },
): BalanceChange[] {
  const changes = new Map<string, BalanceChange>();
  const change = (principal: string, asset: string | null, amount: bigint, isFungible = false): void => {
    if (principal === '') return;
    const key = `${principal} ${asset ?? ''}`;
    const balanceChange = changes.get(key) ?? { principal, asset, isFungible, net: 0n };
    balanceChange.net += amount;
    changes.set(key, balanceChange);
  };
  // A mint has an empty sender, and a burn an empty recipient.
  const move = (
    asset: string | null,
    amount: bigint,
    ends: { sender: string; recipient: string },
    isFungible = false,
  ) => {
    change(ends.sender, asset, -amount, isFungible);
    change(ends.recipient, asset, amount, isFungible);
  };
  change(fee.payer, null, -BigInt(fee.amount));
  for (const event of events) {
    if (event.event_type === 'stx_asset') move(null, BigInt(event.asset.amount), event.asset);
    if (event.event_type === 'fungible_token_asset')
      move(event.asset.asset_id, BigInt(event.asset.amount), event.asset, true);
    if (event.event_type === 'non_fungible_token_asset') move(event.asset.asset_id, 1n, event.asset);
  }
  return [...changes.values()].filter(({ net }) => net !== 0n);
}
