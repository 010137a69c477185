/** The pages of transactions: the list, and one transaction, mined, pending or dropped. */

import { useState } from 'preact/hooks';
import { assetNameOf } from '../../../../codec/address.ts';
import {
  get,
  historyNote,
  isMined,
  type MinedTransaction,
  type PendingTransaction,
  RequestError,
  type Transaction as TransactionObject,
} from '../../api/api.ts';
import { tip, tipVersion, useUpdates } from '../../api/live.ts';
import { useAnswer, useGet } from '../../api/use-answer.ts';
import { CHAIN_FILTERS, parseFilters } from '../../chain/filters.ts';
import { bytes, count, hexToText, plural, shortHash, visible } from '../../chain/format.ts';
import {
  balanceChanges,
  causeTitle,
  confirmations,
  DROP_REASONS,
  fateOf,
  kindOf,
  plainText,
  sentence,
  sponsorOf,
} from '../../chain/transaction.ts';
import { LongValue, Source } from '../../ui/code.tsx';
import { FilteredPanel } from '../../ui/filters.tsx';
import {
  Button,
  Copied,
  Copy,
  type Fact,
  JsonLink,
  List,
  neighbourOffsets,
  offsetQuery,
  Page,
  Pager,
  Panel,
  PER_PAGE,
  Show,
  Table,
  TablePanel,
  TextBlock,
  useList,
} from '../../ui/parts.tsx';
import { url } from '../../ui/router.ts';
import { idOf, MatchingTransactions, MINED_COLUMNS, Sentence, Status, searchPath } from '../../ui/transactions.tsx';
import {
  BitcoinBlockLink,
  BlockLink,
  ChainText,
  CostTable,
  Hash,
  Principal,
  Stx,
  TokenAmount,
  TokenCount,
  TxLink,
  tokenName,
  When,
} from '../../ui/values.tsx';
import { OnDevnet } from '../devnet-pages.tsx';
import { QueuePosition, useMempoolVersion } from './mempool.tsx';
import { EventTable, Failure, PostConditions } from './transaction-effects.tsx';

/** Returns a transaction in any state. @param offset of its events @throws RequestError 404 if it is unknown */
async function loadTransaction(id: string, offset: number, signal: AbortSignal): Promise<TransactionObject> {
  const params = { tx_id: [id], event_limit: PER_PAGE, event_offset: offset };
  const answer = await get('/extended/v1/tx/multiple', params, signal);
  const [result] = Object.values(answer);
  if (result?.found !== true) {
    const note = historyNote(answer);
    const message = 'No transaction with this id has arrived.';
    throw new RequestError(404, note === null ? message : `${message} ${note}`, note !== null);
  }
  return result.result;
}

export function Transaction({ id: txId }: { id: string }) {
  const id = txId.toLowerCase().replace(/^(0x)?/, '0x');
  const { offset } = offsetQuery();
  const updates = useUpdates({ event: 'tx_update', tx_id: id });
  const loaded = useAnswer(
    `transaction ${id} ${offset}`,
    (signal) => loadTransaction(id, offset, signal),
    `${tipVersion.value} ${updates}`,
  );
  const transaction = loaded.data;
  return (
    <Page
      kind={transaction === null ? 'Transaction' : kindOf(transaction.tx_type)}
      title={shortHash(id)}
      heading={<Hash value={id} whole copy="transaction id" />}
      aside={transaction === null ? null : <Status status={transaction.tx_status} />}
      lead={
        transaction === null ? null : (
          <p class="sentence" title={plainText(sentence(transaction))}>
            <Sentence parts={sentence(transaction)} />
          </p>
        )
      }
    >
      <Show loaded={loaded} rows={8}>
        {(transaction) => <TransactionView transaction={transaction} offset={offset} />}
      </Show>
    </Page>
  );
}

function TransactionView({ transaction, offset }: { transaction: TransactionObject; offset: number }) {
  const { tx_id: id, tx_status: status } = transaction;
  const mined = isMined(transaction) ? transaction : null;
  return (
    <>
      {mined !== null && fateOf(status) === 'failed' ? <Failure transaction={mined} /> : null}
      {status === 'abort_by_response' ? <OnDevnet>{({ FailedCall }) => <FailedCall id={id} />}</OnDevnet> : null}
      {isMined(transaction) ? null : <Waiting transaction={transaction} />}
      <div class="grid">
        <TransactionFacts transaction={transaction} />
        {mined === null ? null : <Balances transaction={mined} />}
      </div>
      <Payload transaction={transaction} />
      {mined === null ? null : <Events transaction={mined} offset={offset} />}
      <PostConditions transaction={transaction} />
      {mined === null || mined.execution_cost_runtime === 0 ? null : (
        <Panel title="Execution cost" source={`/extended/v3/transactions/${id}`}>
          <CostTable cost={mined} />
        </Panel>
      )}
      <RawTransaction id={id} />
    </>
  );
}

function TransactionFacts({ transaction }: { transaction: TransactionObject }) {
  const { sender_address: sender, nonce, fee_rate: fee } = transaction;
  const sponsor = sponsorOf(transaction);
  const sponsorNonce = 'sponsor_nonce' in transaction ? (transaction.sponsor_nonce ?? null) : null;
  return (
    <Panel
      title="Transaction"
      source={`/extended/v3/transactions/${transaction.tx_id}`}
      facts={[
        ...(isMined(transaction) ? minedFacts(transaction) : []),
        ['Sender', <Principal principal={sender} whole copy />],
        ['Nonce', nonce],
        ['Sponsor', sponsor === null ? null : <Principal principal={sponsor} whole copy />],
        ['Nonce of the sponsor', sponsorNonce],
        [
          'Fee',
          <span>
            <Stx micro={fee} /> {sponsor === null ? null : <span class="quiet">paid by the sponsor</span>}
          </span>,
        ],
      ]}
    />
  );
}

function minedFacts(transaction: MinedTransaction) {
  const { block_height: height, block_time: time, burn_block_height: bitcoinHeight, tx_index: index } = transaction;
  return [
    ['Time', <When chain time={time} />],
    [
      'Block',
      <span>
        <BlockLink height={height} /> <span class="quiet">at index {index}</span>
        {transaction.canonical ? null : <strong> on a fork that is not canonical</strong>}
      </span>,
    ],
    ['Bitcoin block', <BitcoinBlockLink height={bitcoinHeight} />],
    [
      'Confirmations',
      transaction.canonical && tip.value !== null ? (
        <span aria-live="polite">{confirmations(transaction, tip.value)}</span>
      ) : null,
    ],
  ] as const;
}

function Balances({ transaction }: { transaction: MinedTransaction }) {
  const { tx_id: id, events, event_count: total, sender_address: sender, fee_rate: amount } = transaction;
  if (events.length < total) return null;
  const changes = balanceChanges(events, { payer: sponsorOf(transaction) ?? sender, amount });
  return (
    <TablePanel
      title="Balance changes"
      source={`/extended/v3/transactions/${id}/events`}
      rows={changes}
      keyOf={({ principal, asset }) => `${principal} ${asset}`}
      empty="The transaction changed no balance."
      columns={[
        ['Account', 'main', ({ principal }) => <Principal principal={principal} />],
        [
          'Change, fee included',
          'number',
          ({ asset, isFungible, net }) =>
            asset === null ? (
              <Stx micro={net} signed />
            ) : (
              <span title={asset}>
                {isFungible ? <TokenAmount asset={asset} value={net} signed /> : <TokenCount value={net} />}{' '}
                <ChainText text={isFungible ? tokenName(asset) : assetNameOf(asset)} />
              </span>
            ),
        ],
      ]}
    />
  );
}

function Payload({ transaction }: { transaction: TransactionObject }) {
  const source = `/extended/v3/transactions/${transaction.tx_id}`;
  const panel = (title: string, facts: readonly Fact[]) => <Panel title={title} source={source} facts={facts} />;
  switch (transaction.tx_type) {
    case 'token_transfer': {
      const { recipient_address: recipient, amount, memo } = transaction.token_transfer;
      return panel('Transfer', [
        ['Recipient', <Principal principal={recipient} whole copy />],
        ['Amount', <Stx micro={amount} />],
        ['Memo', <Memo hex={memo} />],
      ]);
    }
    case 'contract_call':
      return (
        <ContractCall
          source={`${source}?include=function_args,result`}
          call={transaction.contract_call}
          result={isMined(transaction) ? transaction.tx_result : null}
          rolledBack={fateOf(transaction.tx_status) === 'failed'}
        />
      );
    case 'smart_contract': {
      const { contract_id: contract, source_code: code, clarity_version: version } = transaction.smart_contract;
      return (
        <Panel
          title="Contract"
          source={`${source}?include=source_code`}
          aside={<Copy text={code} name="source" />}
          facts={[
            ['Contract', <Principal principal={contract} whole copy />],
            ['Clarity version', version ?? 'the default of its epoch'],
          ]}
        >
          <Source source={code} />
        </Panel>
      );
    }
    case 'coinbase': {
      const { data, alt_recipient: recipient } = transaction.coinbase_payload;
      return panel('Coinbase', [
        ['Reward recipient', recipient === null ? 'The miner' : <Principal principal={recipient} copy />],
        ['Miner’s text', <Memo hex={data} />],
      ]);
    }
    case 'tenure_change': {
      const payload = transaction.tenure_change_payload;
      return panel('Tenure change', [
        ['Cause', causeTitle(payload.cause ?? '')],
        ['Blocks of the previous tenure', count(payload.previous_tenure_blocks)],
        ['Consensus hash', <Hash value={payload.tenure_consensus_hash} whole copy="consensus hash" />],
        ['Miner’s key hash', <Hash value={payload.pubkey_hash} whole copy="key hash" />],
      ]);
    }
    case 'poison_microblock':
    case 'unknown':
      return null;
  }
}

function Memo({ hex }: { hex: string }) {
  const text = hexToText(hex);
  if (text === '') return <span class="quiet">none</span>;
  return text === null ? <span class="mono break">{hex}</span> : <ChainText text={text} />;
}

type Call = Extract<TransactionObject, { tx_type: 'contract_call' }>['contract_call'];

interface CallProps {
  source: string;
  call: Call;
  /** The value that the call returned; null if it isn't mined. */
  result: MinedTransaction['tx_result'] | null;
  rolledBack: boolean;
}

function ContractCall({ source, call, result, rolledBack }: CallProps) {
  const { contract_id: contract, function_name: name, function_signature: signature, function_args: args = [] } = call;
  return (
    <Panel
      title="Call"
      source={source}
      facts={[
        ['Contract', <Principal principal={contract} whole copy />],
        [
          'Function',
          <span class="mono" title={signature}>
            {name}
          </span>,
        ],
        [
          rolledBack ? 'Result, rolled back' : 'Result',
          result === null ? null : (
            <span>
              <LongValue repr={result.repr} label="Result" /> <Copy text={result.repr} name="result" />
            </span>
          ),
        ],
        ['Result, serialized', result === null ? null : <Hash value={result.hex} whole copy="hex of the result" />],
      ]}
    >
      {args.length === 0 ? null : (
        <Table
          label="Arguments"
          rows={args.map((argument, index) => ({ ...argument, index, title: argument.name || `#${index + 1}` }))}
          keyOf={({ index }) => String(index)}
          stacked
          columns={[
            ['Argument', 'first nowrap', ({ title }) => <ChainText text={title} />],
            [
              'Type',
              'nowrap short',
              ({ type }) => (
                <code class="quiet" title={type}>
                  {type}
                </code>
              ),
            ],
            [
              'Value',
              'half',
              ({ repr, title }) => (
                <Copied text={repr} name={`value of ${visible(title)}`}>
                  <LongValue repr={repr} label={`Value of ${visible(title)}`} />
                </Copied>
              ),
            ],
            ['Serialized', 'half', ({ hex, title }) => <Hash value={hex} whole copy={`hex of ${visible(title)}`} />],
          ]}
        />
      )}
    </Panel>
  );
}

function Events({ transaction, offset }: { transaction: MinedTransaction; offset: number }) {
  const { events, event_count: total, tx_id: id } = transaction;
  if (total === 0) return null;
  return (
    <Panel title="Events" source={`/extended/v3/transactions/${id}/events`}>
      <EventTable events={events} />
      <Pager
        name="offset"
        {...neighbourOffsets(offset, PER_PAGE, offset + PER_PAGE < total)}
        total={plural(total, 'event')}
      />
    </Panel>
  );
}

function Waiting({ transaction }: { transaction: PendingTransaction }) {
  const { tx_id: id, tx_status: status, receipt_time: receivedAt, fee_rate: fee } = transaction;
  const replacedBy = 'replaced_by_tx_id' in transaction ? (transaction.replaced_by_tx_id ?? null) : null;
  const isDropped = fateOf(status) === 'dropped';
  return (
    <section
      class={isDropped ? 'note stack' : 'note stack wait'}
      aria-label="State of the transaction"
      aria-live="polite"
    >
      <div class="row spread">
        <h2>{isDropped ? 'Dropped' : 'In the mempool'}</h2>
        <JsonLink source={`/stackside/v1/mempool/transactions/${id}`} subject="the state of the transaction" />
      </div>
      <p>
        The transaction arrived at <When time={receivedAt} />.
      </p>
      {isDropped ? (
        <p>{DROP_REASONS[status] ?? 'The node dropped this transaction.'}</p>
      ) : (
        <>
          <Prospects id={id} />
          <OnDevnet>{({ PendingSteps }) => <PendingSteps key={id} id={id} fee={fee} />}</OnDevnet>
        </>
      )}
      {replacedBy === null ? null : (
        <p>
          The transaction that replaced this one is <TxLink id={replacedBy} />.
        </p>
      )}
    </section>
  );
}

/** Renders the position of a pending transaction in the expected blocks, and what it waits for. */
function Prospects({ id }: { id: string }) {
  const params = { tx_id: id };
  const { data: position } = useGet('/stackside/v1/mempool/transactions/{tx_id}', params, useMempoolVersion());
  return position === null ? null : <QueuePosition position={position} />;
}

/** Renders the serialized transaction. It may be large, so it is loaded on request. */
function RawTransaction({ id }: { id: string }) {
  const [isShown, setIsShown] = useState(false);
  return (
    <Panel
      title="Raw bytes"
      source={`/stackside/v1/transactions/${id}/raw`}
      aside={isShown ? undefined : <Button text="Show" onClick={() => setIsShown(true)} />}
    >
      {isShown ? <RawBytes id={id} /> : null}
    </Panel>
  );
}

function RawBytes({ id }: { id: string }) {
  return (
    <Show loaded={useGet('/stackside/v1/transactions/{tx_id}/raw', { tx_id: id })} rows={2}>
      {({ raw_tx: hex }) => (
        <>
          <p class="panel-body with-copy">
            {bytes(hex.length / 2 - 1)} <Copy text={hex} name="raw bytes" />
          </p>
          <TextBlock label="Raw bytes in hex" text={hex} />
        </>
      )}
    </Show>
  );
}

/** Renders the mined transactions that meet the filters in the query, newest first. */
export function Transactions() {
  const chosen = parseFilters(url.value.query, CHAIN_FILTERS);
  return (
    <Page title="Transactions" lead="Transactions of the canonical chain, newest first.">
      <FilteredPanel
        title="Transactions"
        chosen={chosen}
        source={chosen.isActive ? searchPath(chosen.conditions) : `/extended/v3/transactions?limit=${PER_PAGE}`}
      >
        {(conditions) => (chosen.isActive ? <MatchingTransactions conditions={conditions} /> : <AllTransactions />)}
      </FilteredPanel>
    </Page>
  );
}

const AllTransactions = () => (
  <List
    label="Transactions"
    loaded={useList('/extended/v3/transactions', {})}
    item="transaction"
    columns={MINED_COLUMNS}
    keyOf={idOf}
    empty="No transaction has arrived yet."
    stacked
  />
);
