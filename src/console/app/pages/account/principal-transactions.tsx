/** Tabs of a principal: its transactions, its transfers of STX, and its pending transactions. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { CHAIN_FILTERS, chosenFilters } from '../../chain/filters.ts';
import { plural, textOfHex } from '../../chain/format.ts';
import { action, directionOf } from '../../chain/transaction.ts';
import { Filters } from '../../ui/filters.tsx';
import { listQuery, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { place } from '../../ui/router.ts';
import { Fee, FoundTransactions, MinedStatus, PendingTable, Sentence, searchPath } from '../../ui/transactions.tsx';
import { Ago, BlockLink, ChainText, Principal, Stx, TxLink } from '../../ui/values.tsx';
import { CsvLink } from './principal-activity.tsx';

/** Renders the transactions of a principal that meet the filters in the query, newest first. */
export function PrincipalTransactions({ principal, version }: { principal: string; version: string }) {
  const chosen = chosenFilters(place.value.query, CHAIN_FILTERS);
  return (
    <Panel
      title="Transactions"
      source={
        chosen.isAny ? searchPath(chosen.conditions, principal) : `/extended/v3/principals/${principal}/transactions`
      }
      aside={<CsvLink principal={principal} />}
    >
      <Filters chosen={chosen} />
      {chosen.isAny ? (
        <FoundTransactions conditions={chosen.conditions} principal={principal} version={version} />
      ) : (
        <AllTransactions principal={principal} version={version} />
      )}
    </Panel>
  );
}

function AllTransactions({ principal, version }: { principal: string; version: string }) {
  const query = listQuery();
  const params = { path: { principal }, query };
  const transactions = useAnswer(
    `transactions ${principal} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/transactions', { params, signal })),
    version,
  );
  return (
    <Show loaded={transactions} rows={10}>
      {({ results, total, cursor: { next, previous } }) => (
        <>
          <Table
            label="Transactions"
            rows={results}
            keyOf={({ transaction }) => transaction.tx_id}
            empty="No transaction concerns this principal."
            stacked
            columns={[
              {
                name: 'Action',
                class: 'main',
                cell: ({ transaction }) => <Sentence parts={action(transaction)} />,
              },
              {
                name: 'STX',
                class: 'number',
                cell: ({ balance_changes: { stx } }) =>
                  stx.net === '0' ? <span class="quiet">–</span> : <Stx micro={stx.net} signed />,
              },
              {
                name: 'Status',
                class: 'nowrap',
                cell: ({ transaction: { status } }) => <MinedStatus status={status} />,
              },
              {
                name: 'Direction',
                class: 'nowrap',
                cell: ({ transaction: { sender }, involvement, balance_changes: { stx } }) => (
                  <>
                    {directionOf(involvement, stx.net)}
                    {involvement === 'sender' ? null : (
                      <>
                        {' from '}
                        <Principal principal={sender.address} />
                      </>
                    )}
                  </>
                ),
              },
              {
                name: 'Fee',
                class: 'number wide',
                label: 'fee',
                cell: ({ transaction }) => <Fee micro={transaction.fee_rate} />,
              },
              { name: 'Transaction', class: 'nowrap', cell: ({ transaction }) => <TxLink id={transaction.tx_id} /> },
              {
                name: 'Age',
                class: 'number when',
                cell: ({ transaction: { block } }) => <Ago chain at={block.time} />,
              },
            ]}
          />
          <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
        </>
      )}
    </Show>
  );
}

interface TransfersProps {
  principal: string;
  direction: 'inbound' | 'outbound';
  version: string;
}

/** Renders the transfers, mints and burns of STX that a principal received or sent. */
export function Transfers({ principal, direction, version }: TransfersProps) {
  const query = listQuery();
  const params = { path: { principal }, query };
  const isInbound = direction === 'inbound';
  const transfers = useAnswer(
    `${direction} ${principal} ${query.cursor}`,
    (signal) =>
      bodyOf(
        isInbound
          ? api.GET('/extended/v3/principals/{principal}/transfers/stx/inbound', { params, signal })
          : api.GET('/extended/v3/principals/{principal}/transfers/stx/outbound', { params, signal }),
      ),
    version,
  );
  const title = isInbound ? 'STX received' : 'STX sent';
  return (
    <Panel
      title={title}
      source={`/extended/v3/principals/${principal}/transfers/stx/${direction}`}
      aside={<CsvLink principal={principal} />}
    >
      <Show loaded={transfers} rows={8}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <Table
              label={title}
              rows={results}
              keyOf={({ transaction }) => `${transaction.tx_id} ${transaction.event_index}`}
              empty={isInbound ? 'The principal received no STX.' : 'The principal sent no STX.'}
              stacked
              columns={[
                {
                  name: isInbound ? 'From' : 'To',
                  class: 'main',
                  cell: ({ sender, recipient }) => (
                    <OtherSide principal={isInbound ? sender : recipient} mint={isInbound} />
                  ),
                },
                { name: 'Amount', class: 'number', cell: ({ amount }) => <Stx micro={amount} /> },
                {
                  name: 'Memo',
                  class: 'wide short',
                  cell: ({ memo }) => {
                    const text = memo === null ? '' : (textOfHex(memo.hex) ?? memo.hex);
                    return text === '' ? null : <ChainText text={text} />;
                  },
                },
                { name: 'Transaction', class: 'nowrap', cell: ({ transaction }) => <TxLink id={transaction.tx_id} /> },
                {
                  name: 'Block',
                  class: 'number wide',
                  label: 'block',
                  cell: ({ block }) => <BlockLink height={block.height} />,
                },
                { name: 'Age', class: 'number when', cell: ({ block }) => <Ago chain at={block.time} /> },
              ]}
            />
            <Pager next={next} previous={previous} total={plural(total, 'transfer')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** Renders the other party of a transfer. A mint has no sender, and a burn no recipient. */
const OtherSide = ({ principal, mint }: { principal: string | null; mint: boolean }) =>
  principal === null ? <span class="quiet">{mint ? 'minted' : 'burnt'}</span> : <Principal principal={principal} />;

/** Renders the pending transactions of a principal. */
export function Pending({ principal, version }: { principal: string; version: string }) {
  const query = listQuery();
  const params = { path: { principal }, query };
  const pending = useAnswer(
    `pending ${principal} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/mempool/transactions', { params, signal })),
    version,
  );
  return (
    <Panel title="Pending transactions" source={`/extended/v3/principals/${principal}/mempool/transactions`}>
      <Show loaded={pending}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <PendingTable label="Pending transactions" transactions={results} empty="No transaction is pending." />
            <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
          </>
        )}
      </Show>
    </Panel>
  );
}
