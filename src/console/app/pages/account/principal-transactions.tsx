/** Tabs of a principal: its transactions, its transfers of STX, and its nonces with its pending transactions. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural, textOfHex } from '../../chain/format.ts';
import { action, kindOf } from '../../chain/transaction.ts';
import { Facts, listQuery, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { PendingTable, Sentence, Status } from '../../ui/transactions.tsx';
import { Ago, Badge, BlockLink, ChainText, Principal, Stx, TxLink } from '../../ui/values.tsx';

const PER_PAGE = 25;

const ROLES: Readonly<Record<string, string>> = {
  sender: 'sent the transaction',
  sponsor: 'sponsored the transaction',
  affected: 'is affected by the transaction',
};

export function PrincipalTransactions({ principal, version }: { principal: string; version: string }) {
  const query = listQuery(PER_PAGE);
  const params = { path: { principal }, query };
  const transactions = useAnswer(
    `transactions ${principal} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/transactions', { params, signal })),
    version,
  );
  return (
    <Panel title="Transactions" source={`/extended/v3/principals/${principal}/transactions`}>
      <Show loaded={transactions} rows={10}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <Table
              label="Transactions"
              rows={results}
              keyOf={({ transaction }) => transaction.tx_id}
              empty="No transaction concerns this principal."
              columns={[
                { name: 'Transaction', class: 'nowrap', cell: ({ transaction }) => <TxLink id={transaction.tx_id} /> },
                { name: 'Type', class: 'nowrap', cell: ({ transaction }) => kindOf(transaction.type) },
                {
                  name: 'Action',
                  class: 'main medium',
                  cell: ({ transaction }) => <Sentence parts={action(transaction)} />,
                },
                {
                  name: 'From',
                  class: 'wide nowrap',
                  cell: ({ transaction: { sender }, involvement }) =>
                    involvement === 'sender' ? (
                      <span class="quiet">this principal</span>
                    ) : (
                      <span title={`This principal ${ROLES[involvement] ?? involvement}`}>
                        <Principal principal={sender.address} />
                      </span>
                    ),
                },
                {
                  name: 'Status',
                  class: 'medium nowrap',
                  cell: ({ transaction: { status } }) =>
                    status === 'success' ? <span class="quiet">Success</span> : <Status status={status} />,
                },
                {
                  name: 'STX',
                  class: 'number',
                  cell: ({ balance_changes: { stx } }) =>
                    stx.net === '0' ? <span class="quiet">–</span> : <Stx micro={stx.net} signed />,
                },
                {
                  name: 'Block',
                  class: 'number wide',
                  cell: ({ transaction: { block } }) => <BlockLink height={block.height} />,
                },
                { name: 'Age', class: 'number medium', cell: ({ transaction: { block } }) => <Ago at={block.time} /> },
              ]}
            />
            <Pager next={next} previous={previous} total={plural(total, 'transaction')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

interface TransfersProps {
  principal: string;
  direction: 'inbound' | 'outbound';
  version: string;
}

/** Transfers, mints and burns of STX that a principal received or sent. */
export function Transfers({ principal, direction, version }: TransfersProps) {
  const query = listQuery(PER_PAGE);
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
    <Panel title={title} source={`/extended/v3/principals/${principal}/transfers/stx/${direction}`}>
      <Show loaded={transfers} rows={8}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <Table
              label={title}
              rows={results}
              keyOf={({ transaction }) => `${transaction.tx_id} ${transaction.event_index}`}
              empty={isInbound ? 'The principal received no STX.' : 'The principal sent no STX.'}
              columns={[
                { name: 'Transaction', class: 'nowrap', cell: ({ transaction }) => <TxLink id={transaction.tx_id} /> },
                {
                  name: isInbound ? 'From' : 'To',
                  class: 'shrinks',
                  cell: ({ sender, recipient }) => (
                    <OtherSide principal={isInbound ? sender : recipient} mint={isInbound} />
                  ),
                },
                {
                  name: 'Memo',
                  class: 'main medium',
                  cell: ({ memo }) => <ChainText text={memo === null ? '' : (textOfHex(memo.hex) ?? memo.hex)} />,
                },
                { name: 'Amount', class: 'number', cell: ({ amount }) => <Stx micro={amount} /> },
                { name: 'Block', class: 'number wide', cell: ({ block }) => <BlockLink height={block.height} /> },
                { name: 'Age', class: 'number medium', cell: ({ block }) => <Ago at={block.time} /> },
              ]}
            />
            <Pager next={next} previous={previous} total={plural(total, 'transfer')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** The sender or recipient of a transfer. A mint has no sender, and a burn no recipient. */
const OtherSide = ({ principal, mint }: { principal: string | null; mint: boolean }) =>
  principal === null ? <span class="quiet">{mint ? 'minted' : 'burnt'}</span> : <Principal principal={principal} />;

const numbers = (nonces: readonly number[]): string => (nonces.length === 0 ? 'none' : nonces.map(count).join(', '));

/** The nonces of a principal, with the missing ones, and its pending transactions. */
export function Pending({ principal, version }: { principal: string; version: string }) {
  const query = listQuery(PER_PAGE);
  const nonces = useAnswer(
    `nonces ${principal}`,
    (signal) =>
      bodyOf(api.GET('/extended/v3/principals/{principal}/nonces', { params: { path: { principal } }, signal })),
    version,
  );
  const params = { path: { principal }, query };
  const pending = useAnswer(
    `pending ${principal} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/mempool/transactions', { params, signal })),
    version,
  );
  return (
    <>
      <Panel title="Nonces" source={`/extended/v3/principals/${principal}/nonces`}>
        <Show loaded={nonces}>
          {({ next_nonce: next, last_confirmed_nonce: last, mempool }) => (
            <Facts
              facts={[
                ['Next nonce to use', count(next)],
                ['Last mined nonce', last === null ? 'none' : count(last)],
                ['Pending', numbers(mempool.pending_nonces)],
                [
                  'Missing',
                  mempool.missing_nonces.length === 0 ? (
                    'none'
                  ) : (
                    <span key="missing">
                      {numbers(mempool.missing_nonces)}{' '}
                      <Badge tone="wait">pending transactions with higher nonces wait</Badge>
                    </span>
                  ),
                ],
              ]}
            />
          )}
        </Show>
      </Panel>
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
    </>
  );
}
