/** The page for writing a contract, or reading it from a file, and deploying it. */

import { useRef, useState } from 'preact/hooks';
import { type Answer, post } from '../../api/api.ts';
import { mistakeLine } from '../../chain/clarity.ts';
import { words } from '../../chain/format.ts';
import { useAction } from '../../ui/actions.tsx';
import { ChoiceField, Form, onCtrlEnter, TextField } from '../../ui/form.tsx';
import { Button, ButtonLink, Panel, Problem } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { type DevnetAccount, SentTransaction, useSender, WithAccounts } from './sending.tsx';

const VERSIONS = ['1', '2', '3', '4', '5'];

const EXAMPLE = `(define-data-var count uint u0)

(define-read-only (get-count) (var-get count))

(define-public (increment (by uint))
  (begin
    (var-set count (+ (var-get count) by))
    (print { event: "incremented", count: (var-get count) })
    (ok (var-get count))))
`;

/** Returns the name of a contract in a file: `counter` of `counter.clar`. */
const nameOf = (file: string): string => file.replace(/\.[^.]*$/, '').replaceAll(/[^a-zA-Z0-9_-]/g, '-');

interface Deployment {
  answer: Answer<'/stackside/v1/devnet/deploy', 'post'>;
  name: string;
  source: string;
}

export const NewContract = () => (
  <Panel title="New contract">
    <WithAccounts>{(accounts) => <ContractForm accounts={accounts} />}</WithAccounts>
  </Panel>
);

function ContractForm({ accounts }: { accounts: readonly DevnetAccount[] }) {
  const editor = useRef<HTMLTextAreaElement>(null);
  const [name, setName] = useState('counter');
  const [version, setVersion] = useState('');
  const { sender, field: senderField } = useSender(accounts);
  const { run, result, problem, busy } = useAction<Deployment>();

  async function open(file: File | undefined): Promise<void> {
    if (file === undefined || editor.current === null) return;
    editor.current.value = await file.text();
    setName(nameOf(file.name));
  }

  const submit = () => {
    const source = editor.current?.value ?? '';
    const chosen = version === '' ? {} : { clarity_version: Number(version) };
    const body = { ...sender, ...chosen, name: name.trim(), source };
    run(
      async () => ({ ...body, answer: await post('/stackside/v1/devnet/deploy', {}, body) }),
      ({ answer }) => `The deployment was mined: ${words(answer.status)}`,
    );
  };
  return (
    <>
      <Form class="panel-body form stack" aria-label="Deploy a contract" onSubmit={submit}>
        {accounts.length > 0 ? null : (
          <p class="note wait">
            This chain only simulates contracts: a source that it doesn’t know can be deployed but not called. With{' '}
            <code>stackside devnet --clarity</code>, contracts run for real.
          </p>
        )}
        <div class="form grid">
          <TextField label="Name" value={name} help="1 to 40 letters, digits, _ and -" onChange={setName} />
          <ChoiceField
            label="Clarity version"
            value={version}
            choices={[['', 'the default of the epoch'], ...VERSIONS]}
            help="A later one has more functions"
            onChange={setVersion}
          />
          {senderField}
          <label>
            File
            <input type="file" accept=".clar" onChange={({ currentTarget }) => void open(currentTarget.files?.[0])} />
            <span class="quiet tiny">Its text comes into the editor</span>
          </label>
        </div>
        <label>
          Source
          <textarea
            ref={editor}
            class="json editor"
            spellcheck={false}
            autocapitalize="off"
            rows={18}
            required
            defaultValue={EXAMPLE}
            onKeyDown={onCtrlEnter(() => editor.current?.form?.requestSubmit())}
          />
        </label>
        <Problem text={problem} />
        <div class="row">
          <button type="submit" class="primary" disabled={busy}>
            Deploy <kbd>Ctrl Enter</kbd>
          </button>
        </div>
      </Form>
      {result === null ? null : (
        <DeployedContract
          {...result}
          showLine={(line) => {
            if (editor.current !== null) selectLine(editor.current, line);
          }}
        />
      )}
    </>
  );
}

function selectLine(editor: HTMLTextAreaElement, line: number): void {
  const lines = editor.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  editor.focus();
  editor.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  editor.scrollTop = (editor.scrollHeight * (line - 1)) / lines.length;
}

function DeployedContract({ answer, name, source, showLine }: Deployment & { showLine: (line: number) => void }) {
  const path = pathTo('contract', { id: `${answer.sender}.${name}` });
  const line = answer.error === null ? null : (mistakeLine(source, answer.error) ?? answer.error_line);
  const lineButton = line === null ? null : <Button text={`Go to line ${line}`} onClick={() => showLine(line)} />;
  return (
    <SentTransaction answer={answer} errorLink={lineButton}>
      {answer.status === 'success' ? (
        <div class="panel-body row">
          <ButtonLink text="Open the contract" href={path} />
          <ButtonLink text="Call a function" href={`${path}?tab=call`} />
        </div>
      ) : null}
    </SentTransaction>
  );
}
