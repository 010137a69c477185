/** What a draft would have delivered for past blocks. */
import { useRef, useState } from 'preact/hooks';
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tip } from '../../api/live.ts';
import { count, plural, visible } from '../../chain/format.ts';
import { type Draft, mistakesOf } from '../../chain/hook-form.ts';
import { Panel } from '../../ui/parts.tsx';
import { Scrollable } from '../../ui/scrollable.tsx';
import { useAction } from '../../ui/use-action.ts';

type Preview = Answer<'/chainhooks/preview', 'post'>;

/** Blocks that are searched unless another number is given. */
const USUAL = 100;
/** Characters of a delivery that are shown. */
const SHOWN = 8_000;

/** @param draft null where it can't be read */
export function HookPreview({ draft }: { draft: Draft | null }) {
  const blocks = useRef<HTMLInputElement>(null);
  const [found, setFound] = useState<Preview | null>(null);
  const { run, problem, busy } = useAction();
  const isRight = draft !== null && mistakesOf(draft).every(({ path }) => !path.startsWith('filters'));
  const search = () => {
    if (draft === null) return;
    const { filters, options } = draft;
    const to_height = tip.value?.height ?? 1;
    const from_height = Math.max(1, to_height - (blocks.current?.valueAsNumber ?? USUAL) + 1);
    run(async () => {
      setFound(null);
      setFound(await bodyOf(api.POST('/chainhooks/preview', { body: { filters, options, from_height, to_height } })));
    }, 'The preview is there');
  };
  return (
    <Panel title="Preview">
      <div class="panel-body form row">
        <label>
          Newest blocks to search
          <input ref={blocks} type="number" min={1} max={1000} defaultValue={String(USUAL)} />
        </label>
        <button type="button" disabled={busy || !isRight} onClick={search}>
          {busy ? 'Searching…' : 'Search'}
        </button>
        {isRight ? null : <span class="quiet">The filters must be right first.</span>}
        {problem === null ? null : (
          <span class="problem" role="alert">
            {visible(problem)}
          </span>
        )}
      </div>
      {found === null ? null : <Found preview={found} />}
    </Panel>
  );
}

function Found({
  preview: { matched_blocks: blocks, matched_transactions: transactions, payloads },
}: {
  preview: Preview;
}) {
  const [first] = payloads;
  const text = first === undefined ? '' : JSON.stringify(first, null, 2);
  return (
    <>
      <p class="panel-body" role="status">
        {blocks === 0
          ? 'Nothing would have been delivered.'
          : `${plural(blocks, 'block')} with ${plural(transactions, 'transaction')} would have been delivered.`}
      </p>
      {first === undefined ? null : (
        <Scrollable label="The first delivery" class="code payload">
          {visible(text.slice(0, SHOWN))}
          {text.length > SHOWN ? `\n… ${count(text.length - SHOWN)} more characters` : ''}
        </Scrollable>
      )}
    </>
  );
}
