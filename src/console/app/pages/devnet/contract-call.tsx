/** Calls of a contract's public functions, with a form for the arguments from the node's interface of the contract. */

import { useState } from 'preact/hooks';
import { abiTypeString } from '../../../../codec/abi.ts';
import { clarity } from '../../../../codec/clarity-encode.ts';
import { fromHex, toHex } from '../../../../codec/hex.ts';
import { post } from '../../api/api.ts';
import {
  type Argument,
  type ContractFunction,
  type Draft,
  encodedArguments,
  formFields,
  functionsOf,
} from '../../chain/contract-values.ts';
import { visible, words } from '../../chain/format.ts';
import { useAction } from '../../ui/actions.tsx';
import { Check, ChoiceField, Form, Mistakes, TextField } from '../../ui/form.tsx';
import { Button, Empty, Problem } from '../../ui/parts.tsx';
import { go, place, withQuery } from '../../ui/router.ts';
import { ChainText } from '../../ui/values.tsx';
import { ArgumentField, OfInterface } from '../account/contract-values.tsx';
import { type DevnetAccount, OfAccounts, type Sent, SentTransaction, useSender } from './sending.tsx';

/** The query parameter that names the function. */
const CALLED = 'call';

export const ContractCall = ({ contract }: { contract: string }) => (
  <OfInterface contract={contract} title="Call a function">
    {(found) => <Caller contract={contract} functions={functionsOf(found, 'public')} />}
  </OfInterface>
);

/** Renders the choice of a function, and its form. */
function Caller({ contract, functions }: { contract: string; functions: readonly ContractFunction[] }) {
  const [first] = functions;
  if (first === undefined) return <Empty>The contract has no public function.</Empty>;
  const functionName = place.value.query.get(CALLED);
  const called = functionName === null ? first : functions.find(({ name }) => name === functionName);
  return (
    <>
      <div class="panel-body form stack">
        <ChoiceField
          label="Function"
          value={called?.name ?? ''}
          choices={[
            ...(called === undefined ? [''] : []),
            ...functions.map(({ name }) => [name, visible(name)] as const),
          ]}
          help={
            called === undefined ? '' : `Returns ${visible(called.output ?? 'a type that this page does not support')}`
          }
          onChange={(name) => go(withQuery({ [CALLED]: name }))}
        />
      </div>
      {called === undefined ? (
        <Empty>
          The contract has no public function <ChainText text={functionName ?? ''} />.
        </Empty>
      ) : called.args === null ? (
        <Empty>This function has an argument type that the form doesn’t support.</Empty>
      ) : (
        <FunctionForm key={called.name} contract={contract} name={called.name} args={called.args} />
      )}
    </>
  );
}

/**
 * Converts an argument to a literal for the route. The route reads hex as a serialized value, but Clarity reads it as a
 * buffer.
 */
function literalArgument(text: string): string {
  const literal = text.trim();
  return /^0x([0-9a-f]{2})*$/i.test(literal) ? toHex(clarity.buffer(fromHex(literal))) : literal;
}

interface FunctionFormProps {
  contract: string;
  name: string;
  args: readonly Argument[];
}

const FunctionForm = (props: FunctionFormProps) => (
  <OfAccounts>{(accounts) => <CallForm accounts={accounts} {...props} />}</OfAccounts>
);

/** Renders the form of a call, and the result of the last call. */
function CallForm({ contract, name, args, accounts }: FunctionFormProps & { accounts: readonly DevnetAccount[] }) {
  const [draft, setDraft] = useState<Draft>(new Map());
  const [literals, setLiterals] = useState<Draft>(new Map());
  const [areLiteral, setAreLiteral] = useState(false);
  const [tried, setTried] = useState(false);
  const [sent, setSent] = useState<Sent | null>(null);
  const { sender, field: senderField } = useSender(accounts);
  const { run, problem, busy } = useAction();
  const { values, mistakes } = areLiteral ? { values: [], mistakes: [] } : encodedArguments(args, draft);
  const shown = tried ? mistakes : [];

  const submit = () => {
    setTried(true);
    if (mistakes.length > 0) return;
    setSent(null);
    const given = areLiteral ? args.map((one) => literalArgument(literals.get(one.name) ?? '')) : values.map(toHex);
    const body = { ...sender, contract, function: name, arguments: given };
    run(
      async () => {
        const answer = await post('/stackside/v1/devnet/call', {}, body);
        setSent(answer);
        return answer;
      },
      ({ status }) => `The call was mined: ${words(status)}`,
    );
  };
  return (
    <>
      <Form class="panel-body form stack" aria-label={`Call ${visible(name)}`} onSubmit={submit}>
        {areLiteral
          ? args.map((one) => (
              <TextField
                key={one.name}
                label={visible(one.name)}
                value={literals.get(one.name) ?? ''}
                help={visible(abiTypeString(one.type) ?? '')}
                onChange={(text) => setLiterals(new Map(literals).set(one.name, text))}
              />
            ))
          : args
              .flatMap((one) => formFields(one, draft))
              .map((field) => (
                <ArgumentField
                  key={field.path}
                  field={field}
                  value={draft.get(field.path) ?? ''}
                  mistake={shown.find(({ path }) => path === field.path)?.message ?? null}
                  onChange={(value) => setDraft(new Map(draft).set(field.path, value))}
                />
              ))}
        {args.length === 0 ? null : (
          <Check checked={areLiteral} onChange={setAreLiteral}>
            Write them as Clarity literals, such as <code>u1</code>, <code>none</code> or <code>(list u1 u2)</code>
          </Check>
        )}
        {senderField}
        <Mistakes mistakes={shown.map(({ path, message }) => `${path} ${message}`)} />
        <Problem text={problem} />
        <div class="row">
          <Button text="Call" type="submit" class="primary" disabled={busy} />
        </div>
      </Form>
      {sent === null ? null : <SentTransaction sent={sent} />}
    </>
  );
}
