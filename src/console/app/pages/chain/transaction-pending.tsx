/** Where a transaction stands that no block holds: what it waits for, or why it doesn't any more. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural } from '../../chain/format.ts';
import { feePlace } from '../../chain/pending.ts';
import { DROPPED, fateOf } from '../../chain/summary.ts';
import type { PendingTransaction } from '../../chain/types.ts';
import { JsonLink } from '../../ui/parts.tsx';
import { TxLink, When } from '../../ui/values.tsx';

export function Waiting({ transaction }: { transaction: PendingTransaction }) {
  const { tx_id: id, tx_status: status, receipt_time: received } = transaction;
  const replacedBy = 'replaced_by_tx_id' in transaction ? (transaction.replaced_by_tx_id ?? null) : null;
  const isDropped = fateOf(status) === 'dropped';
  return (
    <section class={isDropped ? 'note' : 'note wait'} aria-label="Where the transaction stands" aria-live="polite">
      <div class="note-head">
        <h2>{isDropped ? 'Dropped' : 'In the mempool'}</h2>
        <JsonLink source={`/stackside/v1/mempool/transactions/${id}`} of="where the transaction stands" />
      </div>
      <p>
        The transaction arrived at <When at={received} />.
      </p>
      {isDropped ? (
        <p>{DROPPED[status] ?? 'The node dropped this transaction.'}</p>
      ) : (
        <Prospects transaction={transaction} />
      )}
      {replacedBy === null ? null : (
        <p>
          The transaction that replaced this one is <TxLink id={replacedBy} />.
        </p>
      )}
    </section>
  );
}

const LEVELS = [
  ['high_priority', 'above nearly all'],
  ['medium_priority', 'above three quarters'],
  ['low_priority', 'above half'],
  ['no_priority', 'above a quarter'],
] as const;

/** What is before it: transactions of its account with lower nonces, and those that pay more. */
function Prospects({ transaction }: { transaction: PendingTransaction }) {
  const { tx_id: id, tx_type: type, sender_address: principal, nonce, fee_rate: fee } = transaction;
  const version = tipVersion.value;
  const nonces = useAnswer(
    `nonces ${principal}`,
    (signal) =>
      bodyOf(api.GET('/extended/v3/principals/{principal}/nonces', { params: { path: { principal } }, signal })),
    version,
  );
  const standing = useAnswer(
    `position ${id}`,
    (signal) =>
      bodyOf(api.GET('/stackside/v1/mempool/transactions/{tx_id}', { params: { path: { tx_id: id } }, signal })),
    version,
  );
  const place = standing.data?.position_by_fee ?? null;
  const fees = useAnswer('fees', (signal) => bodyOf(api.GET('/extended/v2/mempool/fees', { signal })), version);
  const levels = fees.data?.all ?? null;
  const level = levels === null ? undefined : LEVELS.find(([name]) => Number(fee) >= (levels[name] ?? 0));
  return (
    <>
      {nonces.data === null ? null : <NonceState nonce={nonce} nonces={nonces.data} />}
      {place === null ? null : <p>{feePlace(place, type)}</p>}
      {levels === null ? null : <p>Its fee is {level?.[1] ?? 'below three quarters'} of the fees in the mempool.</p>}
    </>
  );
}

interface Nonces {
  last_confirmed_nonce: number | null;
  mempool: { missing_nonces: number[] };
}

function NonceState({ nonce, nonces: { last_confirmed_nonce: last, mempool } }: { nonce: number; nonces: Nonces }) {
  const next = last === null ? 0 : last + 1;
  const missing = mempool.missing_nonces.filter((one) => one < nonce);
  if (nonce < next) return <p>A block already holds another transaction of its account with this nonce.</p>;
  if (nonce === next) return <p>It is the next of its account: a miner may include it at any time.</p>;
  if (missing.length > 0) {
    const [first = 0] = missing;
    return (
      <p>It can’t be mined before its account sends a transaction with nonce {count(first)}, which nobody has seen.</p>
    );
  }
  return <p>It waits for {plural(nonce - next, 'earlier transaction')} of its account.</p>;
}
