/** Making and changing a chainhook: as a form or as JSON, tried on past blocks before it is saved. */
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { actingFor } from '../../api/consumer.ts';
import type { paths } from '../../api/openapi.d.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { visible } from '../../chain/format.ts';
import { type Draft, draftOf, mistakesOf, newDraft } from '../../chain/hook-form.ts';
import { Page, Panel, Show } from '../../ui/parts.tsx';
import { go, pathTo, place } from '../../ui/router.ts';
import { useAction } from '../../ui/use-action.ts';
import { HookForm } from './hook-form.tsx';
import { HookPreview } from './hook-preview.tsx';

type Definition = paths['/chainhooks/me']['post']['requestBody']['content']['application/json'];

/** The draft as the API takes it. The server checks each of its fields. */
const definitionOf = (draft: Draft) => draft as unknown as Definition;

/** The network of the chain: addresses of mainnet begin with SP or SM (SIP-005). */
async function networkOf(signal: AbortSignal): Promise<string> {
  const params = { query: { limit: 1 } };
  const { results } = await bodyOf(api.GET('/extended/v3/transactions', { params, signal }));
  return /^S[PM]/.test(results[0]?.sender.address ?? '') ? 'mainnet' : 'testnet';
}

export function NewHook() {
  const network = useAnswer('network', networkOf);
  const consumer = place.value.query.get('consumer');
  const headers = actingFor(consumer);
  return (
    <Page
      title={consumer === null ? 'New chainhook' : `New chainhook of ${visible(consumer)}`}
      lead="Choose what to wait for, see what it would have matched, then save it."
    >
      <Show loaded={network}>
        {(found) => (
          <Editor
            initial={newDraft(found)}
            action="Create"
            save={async (draft) =>
              (await bodyOf(api.POST('/chainhooks/me', { headers, body: definitionOf(draft) }))).uuid
            }
          />
        )}
      </Show>
    </Page>
  );
}

export function EditHook({ id }: { id: string }) {
  const params = { path: { uuid: id } };
  const hook = useAnswer(`edited hook ${id}`, (signal) => bodyOf(api.GET('/chainhooks/me/{uuid}', { params, signal })));
  return (
    <Page kind="Chainhook" title="Edit" lead="Blocks that were evaluated before stay as they were.">
      <Show loaded={hook}>
        {({ definition }) => {
          const initial = draftOf(JSON.stringify(definition));
          if (typeof initial === 'string') return <p class="problem">{initial}</p>;
          return (
            <Editor
              initial={initial}
              action="Save"
              save={async (draft) =>
                (await bodyOf(api.PATCH('/chainhooks/me/{uuid}', { params, body: definitionOf(draft) }))).uuid
              }
            />
          );
        }}
      </Show>
    </Page>
  );
}

interface EditorProps {
  initial: Draft;
  /** What the button that saves says. */
  action: string;
  /** Saves a draft. @returns the id of the chainhook @throws RequestError */
  save: (draft: Draft) => Promise<string>;
}

/** The form and the JSON show one draft: a change of either is a change of both. */
function Editor({ initial, action, save }: EditorProps) {
  const [draft, setDraft] = useState(initial);
  const [text, setText] = useState<string | null>(null);
  const [tried, setTried] = useState(false);
  const { run, problem, busy } = useAction();
  const read = text === null ? draft : draftOf(text);
  const mistakes = typeof read === 'string' ? [] : mistakesOf(read);
  const isRight = typeof read !== 'string' && mistakes.length === 0;
  const submit = () => {
    setTried(true);
    if (!isRight) return;
    run(async () => go(pathTo('hook', { id: await save(read) })), 'The chainhook is saved');
  };
  return (
    <>
      <nav class="tabs" aria-label="How to edit">
        <button
          type="button"
          aria-pressed={text === null}
          disabled={typeof read === 'string'}
          onClick={() => {
            if (typeof read === 'string') return;
            setDraft(read);
            setText(null);
          }}
        >
          Form
        </button>
        <button
          type="button"
          aria-pressed={text !== null}
          onClick={() => setText((typed) => typed ?? JSON.stringify(draft, null, 2))}
        >
          JSON
        </button>
      </nav>
      {text === null ? (
        <HookForm draft={draft} mistakes={tried ? mistakes : []} onChange={setDraft} />
      ) : (
        <Panel title="Definition as JSON">
          <textarea
            class="json"
            aria-label="Definition as JSON"
            spellcheck={false}
            rows={24}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Panel>
      )}
      <Mistakes
        mistakes={
          typeof read === 'string'
            ? [read]
            : tried || text !== null
              ? mistakes.map(({ path, message }) => `${path} ${message}`)
              : []
        }
      />
      {problem === null ? null : (
        <p class="problem" role="alert">
          {visible(problem)}
        </p>
      )}
      <HookPreview draft={typeof read === 'string' ? null : read} />
      <div class="buttons">
        <button type="button" class="primary" disabled={busy} onClick={submit}>
          {action}
        </button>
        <a class="button" href={pathTo('hooks')}>
          Cancel
        </a>
      </div>
    </>
  );
}

const Mistakes = ({ mistakes }: { mistakes: readonly string[] }) =>
  mistakes.length === 0 ? null : (
    <section class="note bad" aria-label="Mistakes" aria-live="polite">
      <ul>
        {mistakes.map((mistake) => (
          <li key={mistake} class="break">
            {visible(mistake)}
          </li>
        ))}
      </ul>
    </section>
  );
