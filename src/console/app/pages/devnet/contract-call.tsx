/** Calls of a contract's public functions, with a form for the arguments from the node's interface of the contract. */

import { useState } from 'preact/hooks';
import { abiTypeString } from '../../../../codec/abi.ts';
import { clarity } from '../../../../codec/clarity-encode.ts';
import { fromHex, toHex } from '../../../../codec/hex.ts';
import { post } from '../../api/api.ts';
import { type Argument, type Draft, encodeArguments, functionsOf } from '../../chain/contract-values.ts';
import { visible, words } from '../../chain/format.ts';
import { useAction } from '../../ui/actions.tsx';
import { Check, Form, Mistakes, TextField } from '../../ui/form.tsx';
import { Button, Problem } from '../../ui/parts.tsx';
import { go, withQuery } from '../../ui/router.ts';
import { ArgumentFields, ChosenItem, InterfacePanel } from '../account/contract-values.tsx';
import { type CallAnswer, type DevnetAccount, SentTransaction, useSender, WithAccounts } from './sending.tsx';

const CALL = 'call';

/** Renders the choice of a function of a contract, and its form. */
export const ContractCall = ({ contract }: { contract: string }) => (
  <InterfacePanel contract={contract} title="Call a function">
    {(contractInterface) => (
      <ChosenItem
        label="Function"
        parameter={CALL}
        groups={[['Public functions', functionsOf(contractInterface, 'public')]]}
        none="The contract has no public function."
        unknown="The contract has no public function"
        choose={(name) => go(withQuery({ [CALL]: name }))}
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

/** Converts an argument to a literal. The route reads hex as a serialized value, but Clarity reads it as a buffer. */
function literalArgument(text: string): string {
  const literal = text.trim();
  return /^0x([0-9a-f]{2})*$/i.test(literal) ? toHex(clarity.buffer(fromHex(literal))) : literal;
}

interface CallFormProps {
  contract: string;
  name: string;
  args: readonly Argument[];
  accounts: readonly DevnetAccount[];
}

function CallForm({ contract, name, args, accounts }: CallFormProps) {
  const [draft, setDraft] = useState<Draft>(new Map());
  const [literals, setLiterals] = useState<Draft>(new Map());
  const [areLiteral, setAreLiteral] = useState(false);
  const [isSubmitted, setIsSubmitted] = useState(false);
  const { sender, field: senderField } = useSender(accounts);
  const { run, result, problem, busy } = useAction<CallAnswer>();
  const { values, mistakes } = areLiteral ? { values: [], mistakes: [] } : encodeArguments(args, draft);
  const shownMistakes = isSubmitted ? mistakes : [];

  const submit = () => {
    setIsSubmitted(true);
    if (mistakes.length > 0) return;
    const encoded = areLiteral ? args.map((arg) => literalArgument(literals.get(arg.name) ?? '')) : values.map(toHex);
    const body = { ...sender, contract, function: name, arguments: encoded };
    run(
      () => post('/stackside/v1/devnet/call', {}, body),
      ({ status }) => `The call was mined: ${words(status)}`,
    );
  };
  return (
    <>
      <Form class="panel-body form stack" aria-label={`Call ${visible(name)}`} onSubmit={submit}>
        {areLiteral ? (
          args.map(({ name: argName, type }) => (
            <TextField
              key={argName}
              label={visible(argName)}
              value={literals.get(argName) ?? ''}
              help={visible(abiTypeString(type) ?? '')}
              onChange={(text) => setLiterals(new Map(literals).set(argName, text))}
            />
          ))
        ) : (
          <ArgumentFields args={args} draft={draft} mistakes={shownMistakes} onChange={setDraft} />
        )}
        {args.length === 0 ? null : (
          <Check checked={areLiteral} onChange={setAreLiteral}>
            Write them as Clarity literals, such as <code>u1</code>, <code>none</code> or <code>(list u1 u2)</code>
          </Check>
        )}
        {senderField}
        <Mistakes mistakes={shownMistakes.map(({ path, message }) => `${path} ${message}`)} />
        <Problem text={problem} />
        <div class="row">
          <Button text="Call" type="submit" class="primary" disabled={busy} />
        </div>
      </Form>
      {result === null ? null : <SentTransaction answer={result} />}
    </>
  );
}
