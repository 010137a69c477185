/** What a principal sent and received of one fungible token. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { assetName, plural, visible } from '../../chain/format.ts';
import { listQuery } from '../../ui/list-state.ts';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { place, withQuery } from '../../ui/router.ts';
import { Ago, Amount, BlockLink, Principal, principalPath, TxLink } from '../../ui/values.tsx';

const PER_PAGE = 25;

/** The query parameters that name the token, and the place in its list. */
const TOKEN = 'token';
const CURSOR = 'moves';

/** The token whose movements the address asks for; null where it names none. */
export const chosenToken = (): string | null => place.value.query.get(TOKEN);

/** The address that shows the movements of another token on the same page. */
export const withToken = (asset: string): string => withQuery({ [TOKEN]: asset, [CURSOR]: null });

/** The page that shows what a principal sent and received of a token. */
export const tokenMovesPath = (principal: string, asset: string): string =>
  `${principalPath(principal)}?${new URLSearchParams({ tab: 'tokens', [TOKEN]: asset })}`;

interface TokenMovesProps {
  principal: string;
  asset: string;
  version: string;
}

export function TokenMoves({ principal, asset, version }: TokenMovesProps) {
  const query = listQuery(PER_PAGE, CURSOR);
  const params = { path: { principal, asset_identifier: asset }, query };
  const moves = useAnswer(
    `moves ${principal} ${asset} ${query.cursor}`,
    (signal) =>
      bodyOf(api.GET('/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}', { params, signal })),
    version,
  );
  const title = `Transfers of ${visible(assetName(asset))}`;
  return (
    <Panel
      title={title}
      source={`/extended/v3/principals/${principal}/transfers/ft/${encodeURIComponent(asset)}`}
      aside={
        <>
          <span class="quiet">in the smallest unit</span>
          <a href={withQuery({ [TOKEN]: null, [CURSOR]: null })}>All tokens</a>
        </>
      }
    >
      <Show loaded={moves} rows={8}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <Table
              label={title}
              rows={results}
              keyOf={({ transaction }) => `${transaction.tx_id} ${transaction.event_index}`}
              empty="The principal neither sent nor received this token."
              columns={[
                { name: 'Transaction', class: 'nowrap', cell: ({ transaction }) => <TxLink id={transaction.tx_id} /> },
                {
                  name: 'Other side',
                  class: 'main',
                  cell: ({ sender, recipient }) =>
                    sender === principal ? (
                      <End word="to" principal={recipient} nobody="burnt" />
                    ) : (
                      <End word="from" principal={sender} nobody="minted" />
                    ),
                },
                {
                  name: 'Amount',
                  class: 'number',
                  cell: ({ sender, amount }) => (
                    <Amount value={sender === principal ? `-${amount}` : amount} decimals={0} signed />
                  ),
                },
                { name: 'Block', class: 'number wide', cell: ({ block }) => <BlockLink height={block.height} /> },
                { name: 'Age', class: 'number medium', cell: ({ block }) => <Ago at={block.time} /> },
              ]}
            />
            <Pager name={CURSOR} next={next} previous={previous} total={plural(total, 'transfer')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

interface EndProps {
  word: string;
  principal: string | null;
  /** What is said where nobody stands there. */
  nobody: string;
}

const End = ({ word, principal, nobody }: EndProps) =>
  principal === null ? (
    <span class="quiet">{nobody}</span>
  ) : (
    <>
      <span class="quiet">{word}</span> <Principal principal={principal} />
    </>
  );
