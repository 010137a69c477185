/** What a token's contract declares of it. Whoever wrote the contract says so; nobody checked it. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { assetContract } from '../../chain/format.ts';
import { tokenFacts } from '../../chain/token-facts.ts';
import { Facts, Panel } from '../../ui/parts.tsx';
import { ChainText } from '../../ui/values.tsx';

const textOrNull = (text: string | null) => (text === null ? null : <ChainText text={text} />);

/** Shown where the source says something plainly: no link of it is followed, and no picture loaded. */
export function DeclaredFacts({ asset }: { asset: string }) {
  const contract = assetContract(asset);
  const params = { path: { contract_id: contract }, query: { include: ['source_code' as const] } };
  const { data } = useAnswer(`contract ${contract}`, (signal) =>
    bodyOf(api.GET('/extended/v3/smart-contracts/{contract_id}', { params, signal })),
  );
  const { name, symbol, decimals, uri } = tokenFacts(data?.source_code ?? '');
  if (name === null && symbol === null && decimals === null && uri === null) return null;
  return (
    <Panel title="What the contract declares" source={`/extended/v3/smart-contracts/${contract}?include=source_code`}>
      <Facts
        facts={[
          ['Name', textOrNull(name)],
          ['Symbol', textOrNull(symbol)],
          ['Decimals', decimals],
          ['Metadata', textOrNull(uri)],
        ]}
      />
    </Panel>
  );
}
