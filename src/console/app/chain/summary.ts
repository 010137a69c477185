/** One sentence that says what a transaction does, or did. */
import { shortPrincipal, stxText, words } from './format.ts';
import { isMined, type ListedPending, type ListedTransaction, type Transaction } from './types.ts';

/** A part of a sentence: plain text, or what a page shows as a link. */
export type Part = string | { principal: string } | { contract: string; function: string };

/** The sentence as plain text, with addresses cut to their ends. */
export const plainText = (parts: readonly Part[]): string =>
  parts
    .map((part) => {
      if (typeof part === 'string') return part;
      return 'principal' in part
        ? shortPrincipal(part.principal)
        : `${shortPrincipal(part.contract)}::${part.function}`;
    })
    .join('');

/** The kind of a transaction in a word or two. */
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

/** How far a transaction came. */
type Fate = 'done' | 'failed' | 'pending' | 'dropped';

export function fateOf(status: string): Fate {
  // A newer node has more words for the end of a transaction.
  if (status === 'success' || status === 'unknown') return 'done';
  if (status === 'pending') return 'pending';
  return status.startsWith('dropped') ? 'dropped' : 'failed';
}

/** A verb in the form of a fate: `sent`, `tried to send`, `wants to send`. */
function verb(fate: Fate, past: string, infinitive: string): string {
  if (fate === 'done') return ` ${past} `;
  return fate === 'pending' ? ` wants to ${infinitive} ` : ` tried to ${infinitive} `;
}

const CAUSES: Readonly<Record<string, string>> = {
  block_found: 'for a new Bitcoin block',
  extended: 'with a new budget',
};

/** What a transaction did, as parts of a sentence without its fee. */
function deed(transaction: Transaction): Part[] {
  const fate = fateOf(transaction.tx_status);
  const sender: Part = { principal: transaction.sender_address };
  switch (transaction.tx_type) {
    case 'token_transfer': {
      const { recipient_address: recipient, amount } = transaction.token_transfer;
      return [sender, verb(fate, 'sent', 'send'), stxText(amount), ' to ', { principal: recipient }];
    }
    case 'contract_call': {
      const { contract_id: contract, function_name: name } = transaction.contract_call;
      const called = verb(fate === 'failed' ? 'done' : fate, 'called', 'call');
      return [sender, called, { contract, function: name }];
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
      const what = cause === 'block_found' ? ' began a tenure ' : ' extended its tenure ';
      return ['The miner ', sender, what, reason];
    }
    case 'poison_microblock':
      return [sender, ' reported a fork of microblocks'];
    case 'unknown':
      return [sender, ' signed a transaction of a kind that this version does not know'];
  }
}

/** The outcome of a call that failed: what it did was undone. */
const undone = (transaction: Transaction): string =>
  transaction.tx_type === 'contract_call' && fateOf(transaction.tx_status) === 'failed' ? ', which failed' : '';

/** `SP… sent 10 STX to SP…; fee 0.003 STX.` */
export function sentence(transaction: Transaction): Part[] {
  const { fee_rate: fee } = transaction;
  const sponsor: Part[] =
    'sponsor_address' in transaction && transaction.sponsor_address !== undefined
      ? [', paid by ', { principal: transaction.sponsor_address }]
      : [];
  const paid: Part[] = fee === '0' ? [] : [`; fee ${stxText(fee)}`, ...sponsor];
  return [...deed(transaction), undone(transaction), ...paid, '.'];
}

/** What a transaction of a list does, in a few words beside its sender. */
export function action(transaction: ListedTransaction | ListedPending): Part[] {
  switch (transaction.type) {
    case 'token_transfer': {
      const { amount, recipient } = transaction.token_transfer;
      return [`${stxText(amount)} to `, { principal: recipient }];
    }
    case 'contract_call':
      return [{ contract: transaction.contract_call.contract_id, function: transaction.contract_call.function_name }];
    case 'smart_contract':
      return [{ principal: transaction.smart_contract.contract_id }];
    case 'coinbase':
      return ['Reward of a tenure'];
    case 'tenure_change':
      return ['tenure_change' in transaction ? words(transaction.tenure_change.cause ?? '') : ''];
    case 'poison_microblock':
      return ['Fork of microblocks'];
    case 'unknown':
      return ['Of a kind that a newer node knows'];
  }
}

/** Why a pending transaction is no longer one. */
export const DROPPED: Readonly<Record<string, string>> = {
  dropped_replace_by_fee:
    'Another transaction of the same account with the same nonce paid a higher fee and replaced this one.',
  dropped_replace_across_fork: 'A transaction of another fork with the same nonce replaced this one.',
  dropped_too_expensive: 'The node dropped this transaction because it costs more than a block allows.',
  dropped_stale_garbage_collect: 'The node dropped this transaction because it had waited too long.',
  dropped_problematic: 'The node dropped this transaction because miners would not be able to process it.',
};

export { isMined };
