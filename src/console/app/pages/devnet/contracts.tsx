/**
 * Calls and deployments of contracts on a simulated chain. The node signs and mines their transactions for the chosen
 * account.
 */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { MAX_CLARITY_VERSION } from '../../../../codec/clarity.ts';
import { toHex } from '../../../../codec/hex.ts';
import { EPOCH_VERSION } from '../../../../devnet/limits.ts';
import { type Answer, post } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { type Argument, type Draft, encodeArguments, functionsOf } from '../../chain/contract-values.ts';
import { shortPrincipal, visible, words } from '../../chain/format.ts';
import { ChoiceField, Form, Mistakes, onCtrlEnter, TextField, useAction } from '../../ui/form.tsx';
import { Button, ButtonLink, Facts, Panel, Problem, Show } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { MinedStatus } from '../../ui/transactions.tsx';
import { BlockLink, Stx, TxLink } from '../../ui/values.tsx';
import { ArgumentFields, ChosenItem, InterfacePanel, WholeValue } from '../account/contract-values.tsx';

type DevnetAccount = Answer<'/stackside/v1/devnet'>['accounts'][number];

/** Renders content from the accounts of a simulated chain, which are read again at each block. */
const WithAccounts = ({ children }: { children: (accounts: readonly DevnetAccount[]) => ComponentChildren }) => (
  <Show loaded={useGet('/stackside/v1/devnet', {}, tipVersion.value)}>{({ accounts }) => children(accounts)}</Show>
);

/** Value of the choice for another account. */
const OTHER = '…';

/** The sender that was chosen last. Its name is null before the first choice, and empty for the faucet. */
const chosen = signal<{ name: string | null; isTyped: boolean }>({ name: null, isTyped: false });

/** Returns the account that sends, by default the first, and the field for choosing it. */
function useSender(accounts: readonly DevnetAccount[]) {
  const { name, isTyped } = chosen.value;
  const sender = (name ?? accounts[0]?.name ?? '').trim();
  const account = accounts.find(({ name }) => name === sender);
  const field = (
    <>
      <ChoiceField
        label="Sender"
        value={isTyped ? OTHER : sender}
        choices={[
          ...accounts.map(({ name, address }) => [name, `${name} · ${shortPrincipal(address)}`] as const),
          ['', 'the faucet'],
          [OTHER, 'another account'],
        ]}
        help={
          account === undefined ? (
            ''
          ) : (
            <>
              It has <Stx micro={account.balance} />
            </>
          )
        }
        onChange={(value) => {
          chosen.value = value === OTHER ? { name: '', isTyped: true } : { name: value, isTyped: false };
        }}
      />
      {isTyped ? (
        <TextField
          label="Account"
          value={name ?? ''}
          help="A name of your choice (its account needs funds), or an address if the devnet was started with --unsafe-impersonate"
          onChange={(text) => {
            chosen.value = { name: text, isTyped: true };
          }}
        />
      ) : null}
    </>
  );
  return { sender: sender === '' ? {} : { sender }, field };
}

type CallAnswer = Answer<'/stackside/v1/devnet/call', 'post'>;

interface SentTransactionProps {
  answer: CallAnswer;
  /** Button or link to the line of the error. */
  errorLink?: ComponentChildren;
  /** Content that replaces the returned value. */
  children?: ComponentChildren;
}

const SentTransaction = ({
  answer: { tx_id: id, status, error, block, result },
  errorLink,
  children,
}: SentTransactionProps) => (
  <section class="result" aria-label="Result">
    <Facts
      facts={[
        [
          'Status',
          <>
            <MinedStatus status={status} /> <span class="quiet">in block</span> <BlockLink height={block.height} />
          </>,
        ],
        ['Transaction', <TxLink id={id} whole />],
        [
          'Error',
          error === null ? null : (
            <>
              <span class="break">{visible(error)}</span> {errorLink}
            </>
          ),
        ],
      ]}
    />
    {children === undefined ? <WholeValue hex={result} /> : children}
  </section>
);

/** Renders the choice of a function of a contract, and its form. */
export const ContractCall = ({ contract }: { contract: string }) => (
  <InterfacePanel contract={contract} title="Call a function">
    {(contractInterface) => (
      <ChosenItem
        label="Function"
        parameter="call"
        groups={[['Public functions', functionsOf(contractInterface, 'public')]]}
        none="The contract has no public function."
        unknown="The contract has no public function"
      >
        {({ name }, args) => (
          <WithAccounts key={name}>
            {(accounts) => <CallForm accounts={accounts} contract={contract} name={name} args={args} />}
          </WithAccounts>
        )}
      </ChosenItem>
    )}
  </InterfacePanel>
);

interface CallFormProps {
  contract: string;
  name: string;
  args: readonly Argument[];
  accounts: readonly DevnetAccount[];
}

function CallForm({ contract, name, args, accounts }: CallFormProps) {
  const [draft, setDraft] = useState<Draft>(new Map());
  const [isSubmitted, setIsSubmitted] = useState(false);
  const { sender, field: senderField } = useSender(accounts);
  const { run, result, problem, busy } = useAction<CallAnswer>();
  const { values, mistakes } = encodeArguments(args, draft);
  const shownMistakes = isSubmitted ? mistakes : [];

  const submit = () => {
    setIsSubmitted(true);
    if (mistakes.length > 0) return;
    const body = { ...sender, contract, function: name, arguments: values.map(toHex) };
    run(
      () => post('/stackside/v1/devnet/call', {}, body),
      ({ status }) => `The call was mined: ${words(status)}`,
    );
  };
  return (
    <>
      <Form class="panel-body form stack" aria-label={`Call ${visible(name)}`} onSubmit={submit}>
        <ArgumentFields args={args} draft={draft} mistakes={shownMistakes} onChange={setDraft} />
        {senderField}
        <Mistakes mistakes={shownMistakes} />
        <Problem text={problem} />
        <div class="row">
          <Button text="Call" type="submit" class="primary" disabled={busy} />
        </div>
      </Form>
      {result === null ? null : <SentTransaction answer={result} />}
    </>
  );
}

/** Returns the Clarity versions up to the newest one. */
const versionsUpTo = (newest: number): string[] => Array.from({ length: newest }, (_, index) => String(index + 1));

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
  const runsContracts = accounts.length > 0;

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
      async () => ({ name: body.name, answer: await post('/stackside/v1/devnet/deploy', {}, body) }),
      ({ answer }) => `The deployment was mined: ${words(answer.status)}`,
    );
  };
  return (
    <>
      <Form class="panel-body form stack" aria-label="Deploy a contract" onSubmit={submit}>
        {runsContracts ? null : (
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
            choices={[
              ['', 'the default of the epoch'],
              ...versionsUpTo(runsContracts ? EPOCH_VERSION : MAX_CLARITY_VERSION),
            ]}
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

function DeployedContract({ answer, name, showLine }: Deployment & { showLine: (line: number) => void }) {
  const path = pathTo('contract', { id: `${answer.sender}.${name}` });
  const line = answer.error_line;
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
