/** STX that a principal sent or received. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural, textOfHex } from '../../chain/format.ts';
import { listQuery } from '../../ui/list-state.ts';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { Ago, BlockLink, ChainText, Principal, Stx, TxLink } from '../../ui/values.tsx';

const PER_PAGE = 25;

interface TransfersProps {
  principal: string;
  direction: 'inbound' | 'outbound';
  version: string;
}

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

/** Who sent or received it: nobody sent what was minted, and nobody received what was burnt. */
const OtherSide = ({ principal, mint }: { principal: string | null; mint: boolean }) =>
  principal === null ? <span class="quiet">{mint ? 'minted' : 'burnt'}</span> : <Principal principal={principal} />;
