/**
 * Reads from a contract through the node, with a form for the arguments, and the contract's logs as a table of fields.
 * They are a separate part of the bundle, because no other page encodes or decodes Clarity values.
 */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ClarityField, ClarityFields } from '../../../../codec/clarity-fields.ts';
import { clarityRepr } from '../../../../codec/clarity-text.ts';
import { toHex } from '../../../../codec/hex.ts';
import { type Answer, fetchJson } from '../../api/api.ts';
import { interfacePath, readContract } from '../../api/node.ts';
import { mapLoaded, useAnswer } from '../../api/use-answer.ts';
import {
  type Argument,
  type ContractFunction,
  type Draft,
  decodeHex,
  encodeArguments,
  formFields,
  leavesOf,
  logColumns,
  logFields,
  type Readable,
  readables,
} from '../../chain/contract-values.ts';
import { count, printableText, shortHash, visible } from '../../chain/format.ts';
import type { Mistake } from '../../chain/hook-definition.ts';
import { LongValue, Value } from '../../ui/code.tsx';
import { BLOCK_HEIGHT, TIME, TX_ID } from '../../ui/columns.tsx';
import { ChoiceField, Form, Mistakes, TextField } from '../../ui/form.tsx';
import {
  announce,
  Button,
  type Column,
  Copied,
  Empty,
  Facts,
  Failed,
  ListPanel,
  Panel,
  Show,
  useList,
} from '../../ui/parts.tsx';
import { go, url, withQuery } from '../../ui/router.ts';
import { ChainText, Principal } from '../../ui/values.tsx';

/** Statuses of the server if the node can't be reached, or doesn't answer in time. */
const AWAY = [502, 504];

const NODE_AWAY =
  'The node reads contracts, and it can’t be reached now. Start the node, or name another one with --node-rpc.';

interface InterfacePanelProps {
  contract: string;
  title: string;
  children: (contractInterface: unknown) => ComponentChildren;
}

/** Renders a panel that depends on the node's interface of a contract. */
export function InterfacePanel({ contract, title, children }: InterfacePanelProps) {
  const path = interfacePath(contract);
  const loaded = useAnswer(path, (signal) => fetchJson(path, { signal }));
  const isAway = loaded.data === null && AWAY.includes(loaded.error?.status ?? 0);
  return (
    <Panel title={title} source={isAway ? undefined : path}>
      {isAway ? (
        <Failed message={NODE_AWAY} retry={loaded.retry} />
      ) : (
        <Show loaded={loaded} missing="The node does not have this contract.">
          {children}
        </Show>
      )}
    </Panel>
  );
}

const KINDS = [
  ['function', 'Read-only functions'],
  ['variable', 'Variables'],
  ['map', 'Maps'],
  ['constant', 'Constants'],
] as const satisfies readonly (readonly [Readable['kind'], string])[];

interface ChosenItemProps<Item> {
  label: string;
  /** Query parameter for the name of the item. */
  parameter: string;
  /** The items in groups, each with its title. */
  groups: readonly (readonly [title: string, items: readonly Item[]])[];
  none: string;
  /** Text before the name of an unknown item. */
  unknown: string;
  children: (item: Item, args: readonly Argument[]) => ComponentChildren;
}

/** Renders the choice of a function or of data in the node's interface of a contract, and the form of the chosen item. */
export function ChosenItem<Item extends ContractFunction>(props: ChosenItemProps<Item>) {
  const { label, parameter, groups, none, unknown, children } = props;
  const items = groups.flatMap(([, items]) => items);
  if (items.length === 0) return <Empty>{none}</Empty>;
  const chosenName = url.value.query.get(parameter);
  const item = chosenName === null ? items[0] : items.find(({ name }) => name === chosenName);
  return (
    <>
      <div class="panel-body form stack">
        <label>
          {label}
          <select
            value={item?.name ?? ''}
            onChange={({ currentTarget }) => go(withQuery({ [parameter]: currentTarget.value }))}
          >
            {item === undefined ? <option value="" /> : null}
            {groups.map(([title, items]) =>
              items.length === 0 ? null : (
                <optgroup key={title} label={title}>
                  {items.map(({ name }) => (
                    <option key={name} value={name}>
                      {visible(name)}
                    </option>
                  ))}
                </optgroup>
              ),
            )}
          </select>
          {item === undefined ? null : (
            <span class="quiet tiny">Returns {visible(item.output ?? 'a type that this page does not support')}</span>
          )}
        </label>
      </div>
      {item === undefined ? (
        <Empty>
          {unknown} <ChainText text={chosenName ?? ''} />.
        </Empty>
      ) : item.args === null ? (
        <Empty>This function has an argument type that the form doesn’t support.</Empty>
      ) : (
        children(item, item.args)
      )}
    </>
  );
}

interface ContractReadsProps {
  contract: string;
  /** Query parameter for the name of the read object. */
  parameter: string;
}

/** Reads from a contract through the node. The node's interface of the contract determines the forms. */
export const ContractReads = ({ contract, parameter }: ContractReadsProps) => (
  <InterfacePanel contract={contract} title="Read-only calls">
    {(contractInterface) => (
      <ChosenItem
        label="Function or data"
        parameter={parameter}
        groups={KINDS.map(([kind, title]) => [
          title,
          readables(contractInterface).filter((readable) => readable.kind === kind),
        ])}
        none="There is nothing to read: no read-only function, variable, map or constant."
        unknown="The node’s interface of the contract has no readable"
      >
        {(item, args) => <ReadForm key={`${item.kind} ${item.name}`} contract={contract} item={item} args={args} />}
      </ChosenItem>
    )}
  </InterfacePanel>
);

/** A read, with its arguments in hex. */
interface ReadRequest {
  args: readonly string[];
  sender: string;
  /** Number of the read. Another number repeats the same read. */
  number: number;
}

interface ReadFormProps {
  contract: string;
  item: Readable;
  args: readonly Argument[];
}

/** Renders the form of the arguments, and the result of the call. An item without arguments is read at once. */
function ReadForm({ contract, item, args }: ReadFormProps) {
  const [draft, setDraft] = useState<Draft>(new Map());
  // Every node accepts the address of an account as the sender.
  const [sender, setSender] = useState(contract.split('.').at(0) ?? '');
  const { values, mistakes } = encodeArguments(args, draft);
  const [senderMistake = null] = encodeArguments(
    [{ name: 'Sender', type: 'principal' }],
    new Map([['Sender', sender]]),
  ).mistakes;
  const allMistakes = senderMistake === null ? mistakes : [...mistakes, senderMistake];
  const toRequest = (number: number): ReadRequest => ({ args: values.map(toHex), sender: sender.trim(), number });
  const [request, setRequest] = useState(() => (args.length === 0 ? toRequest(0) : null));
  const [isSubmitted, setIsSubmitted] = useState(false);
  const shownMistakes = isSubmitted ? allMistakes : [];

  const submit = () => {
    setIsSubmitted(true);
    if (allMistakes.length === 0) setRequest(toRequest((request?.number ?? 0) + 1));
  };
  return (
    <>
      <Form class="panel-body form stack" onSubmit={submit}>
        <ArgumentFields args={args} draft={draft} mistakes={shownMistakes} onChange={setDraft} />
        {item.kind === 'function' ? (
          <TextField
            label="Sender"
            value={sender}
            help="The principal that is tx-sender during the call; the deployer by default"
            mistake={isSubmitted ? (senderMistake?.message ?? null) : null}
            onChange={setSender}
          />
        ) : null}
        <Mistakes mistakes={shownMistakes} />
        <div class="row">
          <Button text="Read" type="submit" class="primary" />
        </div>
      </Form>
      {request === null ? null : <ReadResult contract={contract} item={item} request={request} />}
    </>
  );
}

interface ArgumentFieldsProps {
  args: readonly Argument[];
  draft: Draft;
  mistakes: readonly Mistake[];
  onChange: (draft: Draft) => void;
}

/** Renders the fields of arguments that their draft needs. */
export const ArgumentFields = ({ args, draft, mistakes, onChange }: ArgumentFieldsProps) => (
  <>
    {formFields(args, draft).map(({ path, help, choices, maxItems }) => {
      const value = draft.get(path) ?? '';
      const common = {
        label: visible(path),
        help,
        onChange: (changed: string) => onChange(new Map(draft).set(path, changed)),
      };
      if (choices !== undefined)
        return <ChoiceField key={path} {...common} value={value || (choices[0] ?? '')} choices={choices} />;
      return (
        <TextField
          key={path}
          {...common}
          {...(maxItems === undefined ? { value } : { value: value || '0', type: 'number', min: 0, max: maxItems })}
          mistake={mistakes.find((entry) => entry.path === path)?.message ?? null}
        />
      );
    })}
  </>
);

interface ReadResultProps {
  contract: string;
  item: Readable;
  request: ReadRequest;
}

function ReadResult({ contract, item: { kind, name }, request: { args, sender, number } }: ReadResultProps) {
  const loaded = useAnswer(
    `read ${contract} ${kind} ${name} ${sender} ${args.join()}`,
    async (signal) => {
      const { hex, cause } = await readContract({ contract, kind, name, args, sender }, signal);
      announce(cause === null ? 'The node answered' : 'The call failed');
      return hex === null ? cause : { hex };
    },
    number,
  );
  return (
    <section aria-label="Result" class="result">
      <Show loaded={loaded}>
        {(result) =>
          typeof result === 'string' ? (
            <p class="panel-body problem">
              The node refused the call: <ChainText text={result} />
            </p>
          ) : (
            <WholeValue hex={result.hex} />
          )
        }
      </Show>
    </section>
  );
}

/** Maximum characters to show of a text or of hex. The copy buttons copy everything. */
const MAX_SHOWN_LENGTH = 2_000;

const shorten = (text: string, limit = MAX_SHOWN_LENGTH): string =>
  text.length > limit ? `${text.slice(0, limit)}… (${count(text.length)} characters)` : text;

/** Number of parts of a value to show at first, and with each request for more. */
const PARTS_PER_PAGE = 100;

/** Splits the type of a part: the containers of the value, and its own type. */
const PART_TYPE = /^((?:(?:ok|err|some) )*)(.*)$/;

/** Renders a value in hex by its parts, each with its type, and the hex. If it isn't a Clarity value, there are no parts. */
export function WholeValue({ hex }: { hex: string }) {
  const [limit, setLimit] = useState(PARTS_PER_PAGE);
  const value = decodeHex(hex);
  const parts = value === null ? [] : [...leavesOf(value).take(limit + 1)];
  const facts = parts.slice(0, limit).map(({ path, type, value: part }): [string, ComponentChildren] => {
    const [, containers = '', ownType = type] = PART_TYPE.exec(type) ?? [];
    return [
      path === '' ? 'Value' : visible(path),
      <>
        <span class="quiet">{containers}</span>
        <LeafValue value={part} whole /> <span class="quiet">{visible(ownType)}</span>
      </>,
    ];
  });
  return (
    <div>
      <Facts
        facts={[
          ...facts,
          [
            'Hex',
            <Copied text={hex} name="hex">
              <code class="break">{shorten(hex)}</code>
            </Copied>,
          ],
        ]}
      />
      {parts.length <= limit ? null : (
        <div class="panel-body row">
          <Button text="Show more parts" onClick={() => setLimit(limit + PARTS_PER_PAGE)} />
        </div>
      )}
    </div>
  );
}

/** Maximum characters of a cell. Its width usually cuts it earlier. */
const MAX_CELL = 80;

function LeafValue({ value, whole = false }: { value: ClarityField; whole?: boolean }) {
  switch (value.type) {
    case 'int':
    case 'uint':
      return <span class="number">{count(value.value)}</span>;
    case 'bool':
      return <>{String(value.value)}</>;
    case 'none':
      return <span class="quiet">none</span>;
    case 'principal':
      return <Principal principal={value.value} whole={whole} />;
    case 'buffer': {
      const [text, hex] = [printableText(value.value), toHex(value.value)];
      return whole ? (
        <>
          {text === null ? null : <ChainText text={`“${shorten(text)}” `} />}
          <code class="break">{shorten(hex)}</code>
        </>
      ) : (
        <span title={shorten(hex)} class={text === null ? 'mono' : ''}>
          {text === null ? shortHash(hex) : <ChainText text={shorten(text, MAX_CELL)} />}
        </span>
      );
    }
    case 'string-ascii':
    case 'string-utf8':
      return <ChainText text={shorten(value.value, whole ? MAX_SHOWN_LENGTH : MAX_CELL)} />;
    case 'list':
      return <Value repr={shorten(clarityRepr(value.bytes))} />;
  }
}

type Log = Answer<'/stackside/v1/smart-contracts/{contract_id}/logs'>['results'][number];

/** A log with the fields of its tuple; null if it isn't a tuple. */
interface ReadLog extends Log {
  fields: ClarityFields | null;
}

const keyOf = ({ tx_id, event_index }: Log): string => `${tx_id} ${event_index}`;

interface ContractLogsProps {
  contract: string;
  version: string;
  query: Readonly<Record<string, string | null>>;
  children: ComponentChildren;
}

/** Renders the prints of a contract, newest first, with columns for the fields that most logs have. */
export function ContractLogs({ contract, version, query, children }: ContractLogsProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const params = { contract_id: contract, ...query };
  const loaded = useList('/stackside/v1/smart-contracts/{contract_id}/logs', params, version);
  const withFields = (log: Log): ReadLog => ({ ...log, fields: logFields(log.value.hex) });
  const logs = mapLoaded(loaded, (page) => ({ ...page, results: page.results.map(withFields) }));
  const results = logs.data?.results ?? [];
  const columns = logColumns(results.map(({ fields }) => fields));
  const fields = columns.map(({ path, isNumber }, index): Column<ReadLog> => {
    if (path === '') {
      const renderValue = ({ tx_id, value, fields: parts }: ReadLog) =>
        parts === null ? <LongValue repr={value.repr} label={`Value that ${tx_id} printed`} /> : null;
      return ['Value', index === 0 ? 'fill first' : 'fill', renderValue];
    }
    return [
      visible(path),
      `field${isNumber ? ' number' : ''}${index === 0 ? ' first' : ' named'}`,
      ({ fields: parts }) => (parts?.has(path) ? <LeafValue value={parts.get(path)!} /> : null),
      { label: visible(path) },
    ];
  });
  const topic: Column<ReadLog> = ['Topic', 'field', (log) => <ChainText text={shorten(log.topic, MAX_CELL)} />];
  return (
    <ListPanel
      title="Logs"
      loaded={logs}
      keyOf={keyOf}
      empty="No log matches."
      stacked
      columns={[
        ...(results.every((log) => log.topic === 'print') ? [] : [topic]),
        ...fields,
        TX_ID,
        BLOCK_HEIGHT,
        TIME,
        [
          'All fields',
          '',
          (log) => {
            const key = keyOf(log);
            const isOpen = open.has(key);
            const hiddenCount = (log.fields?.size ?? 0) - columns.filter(({ path }) => log.fields?.has(path)).length;
            return (
              <Button
                text={isOpen ? 'Less' : hiddenCount === 0 ? 'Details' : `${count(hiddenCount)} more`}
                aria-expanded={isOpen}
                onClick={() => setOpen(open.symmetricDifference(new Set([key])))}
              />
            );
          },
        ],
      ]}
      below={(log) => (open.has(keyOf(log)) ? <WholeValue hex={log.value.hex} /> : null)}
    >
      {children}
    </ListPanel>
  );
}
