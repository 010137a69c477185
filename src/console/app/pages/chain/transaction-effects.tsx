/** The events and post-conditions of a transaction, and why it failed. */

import { contractNameOf } from '../../../../codec/address.ts';
import { isMined, type MinedTransaction, type Transaction, type TransactionEvent } from '../../api/api.ts';
import { useGet } from '../../api/use-answer.ts';
import { errorSource } from '../../chain/clarity.ts';
import { visible } from '../../chain/format.ts';
import { describeCondition, failedCondition, modeWords } from '../../chain/transaction.ts';
import { LongValue, NftLink, Value } from '../../ui/code.tsx';
import { Empty, Panel, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Asset, Badge, BitcoinBlockLink, ChainText, Principal, Stx, TokenAmount } from '../../ui/values.tsx';

const NAMES: Readonly<Record<TransactionEvent['event_type'], string>> = {
  stx_asset: 'STX',
  stx_lock: 'STX lock',
  fungible_token_asset: 'Token',
  non_fungible_token_asset: 'NFT',
  smart_contract_log: 'Log',
  unknown: 'Unknown',
};

function nameOf(event: TransactionEvent): string {
  const name = NAMES[event.event_type];
  return 'asset' in event ? `${name} ${event.asset.asset_event_type}` : name;
}

/** Renders the sender and recipient of an asset. Omits a missing one: a mint has no sender, and a burn no recipient. */
const Parties = ({ sender, recipient }: { sender: string; recipient: string }) => (
  <span class="quiet">
    {sender === '' ? null : (
      <>
        {' from '}
        <Principal principal={sender} />
      </>
    )}
    {recipient === '' ? null : (
      <>
        {' to '}
        <Principal principal={recipient} />
      </>
    )}
  </span>
);

function Details({ event }: { event: TransactionEvent }) {
  switch (event.event_type) {
    case 'stx_asset':
      return (
        <>
          <Stx micro={event.asset.amount} />
          <Parties {...event.asset} />
        </>
      );
    case 'stx_lock': {
      const { locked_amount: amount, locked_address: owner, unlock_height: height } = event.stx_lock_event;
      return (
        <>
          <Stx micro={amount} /> <span class="quiet">of</span> <Principal principal={owner} />{' '}
          <span class="quiet">
            until Bitcoin block <BitcoinBlockLink height={Number(height)} />
          </span>
        </>
      );
    }
    case 'fungible_token_asset':
      return (
        <>
          <TokenAmount asset={event.asset.asset_id} value={event.asset.amount} />{' '}
          <Asset identifier={event.asset.asset_id} fungible />
          <Parties {...event.asset} />
        </>
      );
    case 'non_fungible_token_asset': {
      const { asset_id: asset, value } = event.asset;
      return (
        <>
          <Asset identifier={asset} /> <NftLink asset={asset} value={value} />
          <Parties {...event.asset} />
        </>
      );
    }
    case 'unknown':
      return (
        <>
          <span class="quiet">
            <ChainText text={event.unknown_event.type} />
          </span>{' '}
          <span class="mono break">
            <ChainText text={event.unknown_event.json} />
          </span>
        </>
      );
    case 'smart_contract_log': {
      const { contract_id: contract, topic, value } = event.contract_log;
      return (
        <>
          <Principal principal={contract} />{' '}
          {topic === 'print' ? null : <span class="quiet break">{visible(topic)}</span>}
          <div>
            <LongValue repr={value.repr} label={`Value of event ${event.event_index}`} />
          </div>
        </>
      );
    }
  }
}

/** Renders a table of events. */
export const EventTable = ({ events }: { events: readonly TransactionEvent[] }) => (
  <Table
    label="Events"
    rows={events}
    keyOf={({ event_index: index }) => String(index)}
    empty="The transaction has no events."
    columns={[
      ['#', 'quiet number medium', ({ event_index: index }) => index],
      ['Event', 'nowrap', nameOf],
      ['Details', 'fill', (event) => <Details event={event} />],
    ]}
  />
);

/** Renders the post-conditions of a transaction in words; null if it has none and its mode is `allow`. */
export function PostConditions({ transaction }: { transaction: Transaction }) {
  const { post_conditions: conditions, post_condition_mode: mode, sender_address: sender } = transaction;
  if (conditions.length === 0 && mode === 'allow') return null;
  const failedIndex =
    isMined(transaction) && transaction.tx_status === 'abort_by_post_condition'
      ? failedCondition(conditions, mode, sender, transaction.vm_error)
      : null;
  return (
    <Panel
      title="Post-conditions"
      id="post-conditions"
      source={`/extended/v3/transactions/${transaction.tx_id}?include=post_conditions`}
      aside={<span class="quiet">{modeWords(mode)}</span>}
    >
      {conditions.length === 0 ? (
        <Empty>The transaction names no asset, so no asset may move.</Empty>
      ) : (
        <ol class="panel-body stack">
          {conditions.map((condition, index) => {
            const { principal, rule, amount, asset, value } = describeCondition(condition);
            return (
              <li key={`${index} ${rule}`}>
                {index + 1}. {principal === null ? 'The sender' : <Principal principal={principal} />} {rule}{' '}
                {amount === null || asset === null ? null : <TokenAmount asset={asset} value={amount} />}
                {value === null ? null : <Value repr={value} />}{' '}
                {asset === null ? null : <Asset identifier={asset} fungible={amount !== null} />}{' '}
                {index === failedIndex ? <Badge tone="bad">did not hold</Badge> : null}
              </li>
            );
          })}
        </ol>
      )}
    </Panel>
  );
}

/** Renders the reason why a mined transaction failed, with a link to the line of the contract if it is available. */
export function Failure({ transaction }: { transaction: MinedTransaction }) {
  return (
    <section class="note stack bad" aria-label="Why the transaction failed">
      <h2>Why it failed</h2>
      <Reason transaction={transaction} />
      {transaction.vm_error === null || transaction.vm_error === '' ? null : (
        <p class="break">
          The node says: <q dir="ltr">{visible(transaction.vm_error)}</q>
        </p>
      )}
      <p>All its effects were rolled back. The fee was still paid.</p>
    </section>
  );
}

function Reason({ transaction }: { transaction: MinedTransaction }) {
  const { tx_status: status, post_conditions: conditions, post_condition_mode: mode } = transaction;
  if (status === 'problematic_skipped') {
    return <p>Miners skipped the transaction: executing it would have taken too long or too much memory.</p>;
  }
  if (status === 'abort_by_post_condition') {
    const failedIndex = failedCondition(conditions, mode, transaction.sender_address, transaction.vm_error);
    if (failedIndex !== null) {
      return (
        <p>
          <a href="#post-conditions">Post-condition {failedIndex + 1}</a> did not hold.
        </p>
      );
    }
    const listed = <a href="#post-conditions">post-conditions</a>;
    return conditions.length === 0 ? (
      <p>The transaction moved an asset, although its post-conditions allow no asset to move.</p>
    ) : (
      <p>
        The transaction broke its {listed}: one of them did not hold
        {mode === 'allow' ? '.' : ', or the transaction moved an asset that none of them names.'}
      </p>
    );
  }
  if (transaction.tx_type === 'smart_contract')
    return <p>The contract’s source could not be analysed or its top level failed.</p>;
  if (transaction.tx_type !== 'contract_call') {
    return (
      <p>
        The transaction returned <Value repr={transaction.tx_result.repr} />.
      </p>
    );
  }
  const { contract_id: contract, function_name: name } = transaction.contract_call;
  return <ReturnedError contract={contract} name={name} error={transaction.tx_result.repr} />;
}

function ReturnedError({ contract, name, error }: { contract: string; name: string; error: string }) {
  // The index doesn't have the source of a boot contract.
  const source = useGet('/extended/v3/smart-contracts/{contract_id}', {
    contract_id: contract,
    include: ['source_code'],
  });
  const origin = errorSource(source.data?.source_code ?? '', name, error);
  if (origin === null) {
    return (
      <p>
        The contract returned <Value repr={error} />.
      </p>
    );
  }
  const { line, constant, comment, meaning } = origin;
  return (
    <p>
      The contract returned <Value repr={error} />
      {constant === null ? null : (
        <>
          , which it names <code>{visible(constant)}</code>
        </>
      )}
      {meaning === null ? null : `: ${meaning}`}
      {comment === null ? null : (
        <>
          {' '}
          (“
          <ChainText text={comment} />
          ”)
        </>
      )}
      . See{' '}
      <a href={`${pathTo('contract', { id: contract })}#L${line}`}>
        line {line} of {contractNameOf(contract)}
      </a>
      .
    </p>
  );
}
