/** Transactions that concern a principal, with what they did to its STX. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural } from '../../chain/format.ts';
import { action, kindOf } from '../../chain/summary.ts';
import { listQuery } from '../../ui/list-state.ts';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { Sentence, Status } from '../../ui/transactions.tsx';
import { Ago, BlockLink, Principal, Stx, TxLink } from '../../ui/values.tsx';

const PER_PAGE = 25;

const ROLES: Readonly<Record<string, string>> = {
  sender: 'sent it',
  sponsor: 'paid for it',
  affected: 'is part of it',
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
                  name: 'What',
                  class: 'main medium',
                  cell: ({ transaction }) => <Sentence parts={action(transaction)} />,
                },
                {
                  name: 'From',
                  class: 'wide nowrap',
                  cell: ({ transaction: { sender }, involvement }) =>
                    involvement === 'sender' ? (
                      <span class="quiet">this one</span>
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
