/** The pages that create and edit a chainhook, as a form or as JSON, with a preview of matches in past blocks. */

import { useState } from 'preact/hooks';
import { isObject, parsedJson } from '../../../../base/json.ts';
import { MAINNET_CHAIN_ID } from '../../../../chain/network.ts';
import { type Answer, type Body, get, patch, post } from '../../api/api.ts';
import { tip } from '../../api/live.ts';
import { consumerHeaders } from '../../api/session.ts';
import { useAnswer, useGet } from '../../api/use-answer.ts';
import { plural, stxText, visible, words } from '../../chain/format.ts';
import {
  type Draft,
  FIELD_TITLES,
  type FilterField,
  type FilterValues,
  fieldsOf,
  fieldTitle,
  fieldValue,
  filterTypes,
  type Mistake,
  mistakeIn,
  titleOf,
  toDraft,
  withField,
  withType,
} from '../../chain/hook-definition.ts';
import { isAboutSame, makeDraft, type TemplateName, templateOf, templates } from '../../chain/hook-templates.ts';
import { Check, ChoiceField, TextField, useAction } from '../../ui/form.tsx';
import { Button, ButtonLink, Page, Panel, Problem, Show, TextBlock } from '../../ui/parts.tsx';
import { go, pathTo, url, withQuery } from '../../ui/router.ts';
import { isDevnet } from '../../ui/server-status.tsx';
import { missingHookText } from './hooks.tsx';

/** Returns a definition as a request body. The server checks each field. */
const bodyOf = (definition: object) => definition as Body<'/chainhooks/me', 'post'>;

/** Returns the network of the chain, which the node knows before the first block arrives. */
async function loadNetwork(signal: AbortSignal): Promise<string> {
  const { index, node } = await get('/stackside/v1/status', {}, signal);
  return (index.chain_id ?? node.chain_id) === MAINNET_CHAIN_ID ? 'mainnet' : 'testnet';
}

export function NewHook() {
  const loaded = useAnswer('network', loadNetwork);
  const { query } = url.value;
  const consumer = query.get('consumer');
  const headers = consumerHeaders(consumer);
  const template = templateOf(query.get('template'));
  const subject = query.get('of') ?? '';
  const receiver = isDevnet() === true ? EXAMPLE_RECEIVER : '';
  return (
    <Page
      title={consumer === null ? 'New chainhook' : `New chainhook of ${visible(consumer)}`}
      lead="Choose filters, preview their matches in past blocks, then save."
    >
      <Templates chosen={template} />
      {receiver === '' ? null : (
        <p class="quiet row small">
          <span>
            To see deliveries in a terminal of this machine, run <code>stackside hooks listen --port 8080</code>, which
            listens at the URL below.
          </span>
        </p>
      )}
      <Show loaded={loaded}>
        {(network) => (
          <Editor
            key={`${template} ${subject} ${receiver}`}
            initial={makeDraft(template, subject, network, receiver)}
            action="Create"
            cancelPath={pathTo('hooks', { consumer })}
            save={(definition) => post('/chainhooks/me', {}, bodyOf(definition), headers)}
          />
        )}
      </Show>
    </Page>
  );
}

/** URL of `stackside hooks listen`. */
const EXAMPLE_RECEIVER = 'http://127.0.0.1:8080/';

/** Renders links that start the form again with the filters of a template. The watched object stays if it fits. */
const Templates = ({ chosen }: { chosen: TemplateName | null }) => (
  <nav class="row small" aria-label="Templates">
    <span class="quiet">Begin with:</span>
    {(Object.keys(templates) as TemplateName[]).map((name) => (
      <a
        key={name}
        href={withQuery(isAboutSame(chosen, name) ? { template: name } : { template: name, of: null })}
        aria-current={name === chosen ? 'true' : undefined}
      >
        {templates[name].title}
      </a>
    ))}
  </nav>
);

export function EditHook({ id }: { id: string }) {
  const hook = useGet('/chainhooks/me/{uuid}', { uuid: id });
  return (
    <Page
      title="Edit chainhook"
      lead="A change applies to later blocks: blocks that were evaluated are not evaluated again."
    >
      <Show loaded={hook} missing={missingHookText(id)}>
        {({ definition: stored }) => (
          <Editor
            initial={toDraft(stored)!}
            action="Save"
            cancelPath={pathTo('hook', { id })}
            save={(definition) => patch('/chainhooks/me/{uuid}', { uuid: id }, bodyOf(definition))}
          />
        )}
      </Show>
    </Page>
  );
}

interface EditorProps {
  initial: Draft;
  action: string;
  /** Path of the page that the user came from. */
  cancelPath: string;
  /** Saves a definition. @throws RequestError */
  save: (definition: object) => Promise<{ uuid: string }>;
}

function Editor({ initial, action, cancelPath, save }: EditorProps) {
  const [draft, setDraft] = useState(initial);
  const [text, setText] = useState<string | null>(null);
  const [sentDraft, setSentDraft] = useState<Draft | null>(null);
  const { run, problem: lastProblem, busy } = useAction();
  // A changed form has no problem yet: the fields of the last one may be gone.
  const problem = text === null && draft !== sentDraft ? null : lastProblem;
  const parsed: unknown = text === null ? draft : parsedJson(text);
  const definition = isObject(parsed) ? parsed : null;
  const asDraft = toDraft(parsed);
  const mistake = mistakeIn(problem ?? '');
  const submit = () => {
    if (definition === null) return;
    setSentDraft(draft);
    run(() => save(definition), 'The chainhook is saved', {
      onSuccess: ({ uuid }) => go(pathTo('hook', { id: uuid })),
    });
  };
  return (
    <>
      <nav class="tabs" aria-label="How to edit">
        <Button
          text="Form"
          aria-pressed={text === null}
          disabled={asDraft === null}
          onClick={() => {
            if (asDraft !== null) setDraft(asDraft);
            setText(null);
          }}
        />
        <Button
          text="JSON"
          aria-pressed={text !== null}
          onClick={() => setText((typed) => typed ?? JSON.stringify(draft, null, 2))}
        />
      </nav>
      {text === null ? (
        <HookForm draft={draft} mistake={mistake} onChange={setDraft} />
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
      <Problem text={definition === null ? jsonMistake(text ?? '') : messageIn(problem, text === null)} />
      <HookPreview definition={definition} inForm={text === null} />
      <div class="row">
        <Button text={action} class="primary" disabled={busy || definition === null} onClick={submit} />
        <ButtonLink text="Cancel" href={cancelPath} />
      </div>
    </>
  );
}

/** Returns why a text isn't a JSON object. The browser's message names the line and column, or quotes the place. */
function jsonMistake(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return `This is not JSON: ${(error as SyntaxError).message}`;
  }
  return 'This is not a JSON object.';
}

/** Returns the server's message with the field's name. The form names fields by their labels, the JSON by their paths. */
function messageIn(problem: string | null, inForm: boolean): string | null {
  const mistake = mistakeIn(problem ?? '');
  return mistake === null ? problem : `${inForm ? fieldTitle(mistake.path) : mistake.path} ${mistake.message}`;
}

interface HookFormProps {
  draft: Draft;
  /** The mistake that the server found; null if there is none. */
  mistake: Mistake | null;
  onChange: (draft: Draft) => void;
}

function HookForm({ draft, mistake, onChange }: HookFormProps) {
  const { filters, options, action } = draft;
  const mistakeAt = (path: string): string | null => (mistake?.path === path ? mistake.message : null);
  const setEvents = (events: FilterValues[]) => onChange({ ...draft, filters: { events } });
  const setOption = (name: string, value: unknown) => onChange({ ...draft, options: { ...options, [name]: value } });
  return (
    <>
      <Panel title="Chainhook">
        <div class="panel-body form stack">
          <TextField
            label={`${FIELD_TITLES.name} (optional)`}
            value={draft.name}
            help="Only you see the name: it distinguishes this chainhook from others."
            mistake={mistakeAt('name')}
            onChange={(name) => onChange({ ...draft, name: name.trimStart() })}
          />
          <TextField
            label={FIELD_TITLES['action.url']}
            value={action.url}
            help="Stackside sends each matching block to this URL by POST, and repeats it until the answer is 2xx."
            mistake={mistakeAt('action.url')}
            onChange={(url) => onChange({ ...draft, action: { ...action, url: url.trimStart() } })}
          />
          <TextField
            label={`${FIELD_TITLES['options.alert_url']} (optional)`}
            value={typeof options.alert_url === 'string' ? options.alert_url : ''}
            help="Receives a POST when the chainhook is interrupted or expires."
            mistake={mistakeAt('options.alert_url')}
            onChange={(url) => setOption('alert_url', url.trim() || null)}
          />
        </div>
      </Panel>
      <Panel title="Filters" aside={<span class="quiet">A block matches if any filter matches.</span>}>
        <div class="panel-body form stack">
          {filters.events.map((filter, index) => (
            <FilterForm
              key={index}
              number={index + 1}
              filter={filter}
              mistakeAt={(name) => mistakeAt(`filters.events.${index}.${name}`)}
              onChange={(changed) => setEvents(filters.events.with(index, changed))}
              onRemove={filters.events.length === 1 ? null : () => setEvents(filters.events.toSpliced(index, 1))}
            />
          ))}
          <div class="row">
            <Button text="Add a filter" onClick={() => setEvents([...filters.events, { type: 'stx_transfer' }])} />
          </div>
        </div>
      </Panel>
      <Panel title="Options">
        <div class="panel-body form grid">
          {FLAGS.map(([name, title]) => (
            <Check key={name} checked={options[name] === true} onChange={(checked) => setOption(name, checked)}>
              {title}
            </Check>
          ))}
          {LIMITS.map((name) => (
            <TextField
              key={name}
              label={FIELD_TITLES[`options.${name}`]}
              type="number"
              min={0}
              placeholder="no limit"
              value={typeof options[name] === 'number' ? String(options[name]) : ''}
              onChange={(value) => setOption(name, value === '' ? null : Number(value))}
            />
          ))}
        </div>
      </Panel>
    </>
  );
}

const FLAGS = [
  ['enable_on_registration', 'Enable at once'],
  ['decode_clarity_values', 'Decode Clarity values'],
  ['include_contract_abi', 'Include interfaces of contracts'],
  ['include_contract_source_code', 'Include sources of contracts'],
  ['include_post_conditions', 'Include post-conditions'],
  ['include_raw_transactions', 'Include raw transactions'],
  ['include_block_metadata', 'Include metadata of the block'],
  ['include_block_signatures', 'Include signatures of the block'],
] as const;

const LIMITS = ['expire_after_occurrences', 'expire_after_evaluations'] as const;

interface FilterFormProps {
  number: number;
  filter: FilterValues;
  mistakeAt: (name: string) => string | null;
  onChange: (filter: FilterValues) => void;
  /** Null if the filter is the only one. */
  onRemove: (() => void) | null;
}

function FilterForm({ number, filter, mistakeAt, onChange, onRemove }: FilterFormProps) {
  return (
    <fieldset class="stack">
      <legend>Filter {number}</legend>
      <div class="form row">
        <ChoiceField
          label="Event"
          value={filter.type}
          choices={filterTypes.map((type) => [type, titleOf(type)])}
          onChange={(type) => onChange(withType(filter, type))}
        />
        {onRemove === null ? null : <Button text="Remove" onClick={onRemove} />}
      </div>
      {fieldsOf(filter.type).map((field) => (
        <Field
          key={field.name}
          field={field}
          isStx={field.name === 'min_amount' && filter.type.startsWith('stx_')}
          value={fieldValue(filter, field.name)}
          mistake={mistakeAt(field.name)}
          onChange={(value) => onChange(withField(filter, field.name, value))}
        />
      ))}
    </fieldset>
  );
}

interface FieldProps {
  field: FilterField;
  /** Whether it is an amount of micro-STX. Its help has the amount in STX. */
  isStx: boolean;
  value: unknown;
  mistake: string | null;
  onChange: (value: string | readonly string[]) => void;
}

function Field({ field, isStx, value, mistake, onChange }: FieldProps) {
  const { name, required, help, choices, isList } = field;
  const label = required ? titleOf(name) : `${titleOf(name)} (optional)`;
  if (choices === null) {
    const text = value === undefined ? '' : String(value);
    return (
      <TextField
        label={label}
        value={text}
        help={isStx && /^\d{1,39}$/.test(text) ? `${help}: ${stxText(text)}` : help}
        mistake={mistake}
        onChange={(changed) => onChange(changed.trimStart())}
      />
    );
  }
  if (!isList) {
    const all = [['', 'any'] as const, ...choices.map((choice) => [choice, words(choice)] as const)];
    return (
      <ChoiceField label={label} value={typeof value === 'string' ? value : ''} choices={all} onChange={onChange} />
    );
  }
  const chosen = Array.isArray(value) ? (value as string[]) : [];
  return (
    <fieldset class="row">
      <legend>{label}</legend>
      {choices.map((word) => (
        <Check
          key={word}
          checked={chosen.includes(word)}
          onChange={(checked) => onChange(choices.filter((item) => (item === word ? checked : chosen.includes(item))))}
        >
          {words(word)}
        </Check>
      ))}
    </fieldset>
  );
}

type Preview = Answer<'/chainhooks/preview', 'post'>;

interface HookPreviewProps {
  /** Null if the JSON is invalid. */
  definition: Readonly<Record<string, unknown>> | null;
  inForm: boolean;
}

/** Renders a preview of the filters' matches in the newest blocks. */
function HookPreview({ definition, inForm }: HookPreviewProps) {
  const [blocks, setBlocks] = useState('100');
  const { run, result, problem, busy } = useAction<Preview>();
  const search = () => {
    const { filters, options } = definition ?? {};
    const to_height = tip.value?.block_height ?? 1;
    const from_height = Math.max(1, to_height - Number(blocks) + 1);
    const body = { filters, options, from_height, to_height };
    run(() => post('/chainhooks/preview', {}, body), 'The preview is ready');
  };
  return (
    <Panel title="Preview">
      <div class="panel-body form row">
        <TextField
          label="Newest blocks to search"
          type="number"
          min={1}
          max={1000}
          value={blocks}
          onChange={setBlocks}
        />
        <Button text={busy ? 'Searching…' : 'Search'} disabled={busy || definition === null} onClick={search} />
        <Problem text={messageIn(problem, inForm)} />
      </div>
      {result === null ? null : <PreviewResult {...result} />}
    </Panel>
  );
}

function PreviewResult({ matched_blocks: blocks, matched_transactions: transactions, payloads: [first] }: Preview) {
  return (
    <>
      <p class="panel-body" role="status">
        {blocks === 0
          ? 'Nothing would have been delivered.'
          : `${plural(blocks, 'block')} with ${plural(transactions, 'transaction')} would have been delivered.`}
      </p>
      {first === undefined ? null : <TextBlock label="The first delivery" text={JSON.stringify(first, null, 2)} />}
    </>
  );
}
