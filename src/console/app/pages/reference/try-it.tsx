/** A form that sends a request of an operation to this server, and its response. */

import { useState } from 'preact/hooks';
import { parsedJson } from '../../../../base/json.ts';
import { throwUnreachable } from '../../api/api.ts';
import {
  exampleOf,
  exampleText,
  type FormContents,
  limitsText,
  type Operation,
  type Parameter,
  type Request,
  type Schemas,
  toCurl,
  toRequest,
  typeText,
} from '../../chain/api-reference.ts';
import { bytes, count } from '../../chain/format.ts';
import { ChoiceField, Form, TextField, useAction } from '../../ui/form.tsx';
import { Button, Copy, Panel, Problem, TextBlock } from '../../ui/parts.tsx';
import { DocumentText } from './schema.tsx';

/** Maximum characters of a response to read. A stream that is longer ends there. */
const MAX_READ = 100_000;

/** A response, or the part of it that has arrived. */
interface Response {
  status: number;
  type: string;
  milliseconds: number;
  bytes: number;
  /** Null if the body isn't a text. */
  text: string | null;
}

/** Sends a request, and reports its response whenever more of it arrives. @throws RequestError if there is none */
async function send(request: Request, signal: AbortSignal, report: (response: Response) => void): Promise<void> {
  const start = performance.now();
  const { method, path, headers, body } = request;
  const response = await fetch(path, { method, headers, body, signal }).catch(throwUnreachable);
  const type = response.headers.get('content-type') ?? '';
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = /text|json|^$/.test(type) ? '' : null;
  let size = 0;
  let isDone = false;
  while (!isDone && (text?.length ?? 0) < MAX_READ) {
    const chunk = await reader?.read().catch(throwUnreachable);
    isDone = chunk?.done ?? true;
    size += chunk?.value?.length ?? 0;
    if (text !== null) text += decoder.decode(chunk?.value, { stream: !isDone });
    report({ status: response.status, type, milliseconds: performance.now() - start, bytes: size, text });
  }
  if (!isDone) await reader?.cancel();
}

function indentJson(text: string): string {
  const value = parsedJson(text);
  return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : text;
}

function ResponseView({ response: { status, type, milliseconds, bytes: size, text } }: { response: Response }) {
  const body = text === null ? null : indentJson(text);
  return (
    <div class="result">
      <div class="panel-head small">
        <span class={status < 400 ? 'badge ok' : 'badge bad'}>{status}</span> {count(Math.round(milliseconds))} ms,{' '}
        {bytes(size)}
        {type === '' ? '' : `, ${type}`} {body === null ? null : <Copy text={body} name="response" />}
      </div>
      {body ? (
        <TextBlock label="Body of the response" text={body} />
      ) : (
        <p class="panel-body quiet">{body === null ? 'The response isn’t a text.' : 'The response has no body.'}</p>
      )}
      {(text?.length ?? 0) < MAX_READ ? null : <p class="panel-body quiet">The rest of the response is cut off.</p>}
    </div>
  );
}

interface FieldProps {
  parameter: Parameter;
  schemas: Schemas;
  value: string;
  onChange: (value: string) => void;
}

function ParameterField({ parameter, schemas, value, onChange }: FieldProps) {
  const { name, required = false, description = '', schema } = parameter;
  const words = schema.enum ?? (schema.type === 'boolean' ? [true, false] : null);
  const limits = [words === null ? typeText(schema, schemas) : '', limitsText(schema)].filter((text) => text !== '');
  const common = {
    value,
    required,
    onChange,
    label: (
      <span>
        <code>{name}</code> {required ? <span class="badge accent">required</span> : null}
      </span>
    ),
    help: (
      <>
        <DocumentText text={description} />
        <br />
        {limits.join(', ')}
      </>
    ),
  };
  return words === null ? (
    <TextField {...common} placeholder={exampleText(parameter)} />
  ) : (
    <ChoiceField {...common} choices={[['', '–'], ...words.map(String)]} />
  );
}

/** Returns the first contents of a form: examples of the parameters and the body that the operation requires. */
function initialContents({ parameters, body, types }: Operation, schemas: Schemas): FormContents {
  const required = parameters.filter((parameter) => parameter.required === true);
  const example = body === null ? undefined : (body.example ?? exampleOf(body.schema, schemas));
  return {
    values: Object.fromEntries(required.map((parameter) => [parameter.name, exampleText(parameter)])),
    body: example === undefined ? '' : JSON.stringify(example, null, 2),
    key: '',
    type: types.length > 1 ? (types[0] ?? '') : '',
  };
}

/** Renders the parameters of an operation as a form, which sends the request. */
export function TryIt({ operation, schemas }: { operation: Operation; schemas: Schemas }) {
  const [contents, setContents] = useState(() => initialContents(operation, schemas));
  const [response, setResponse] = useState<Response | null>(null);
  const { run, cancel, problem, busy } = useAction();
  const change = (part: Partial<FormContents>) => setContents((previous) => ({ ...previous, ...part }));
  const request = toRequest(operation, contents);
  const submit = () => {
    cancel();
    setResponse(null);
    run((signal) => send(request, signal, setResponse), 'The response has arrived');
  };
  const { parameters, body, needsKey, types } = operation;
  return (
    <Panel title="Try it">
      <div class="panel-body">
        <Form class="form stack" onSubmit={submit}>
          {parameters.length === 0 && body === null ? <p class="quiet">The request has no parameters.</p> : null}
          <div class="form grid">
            {parameters.map((parameter) => (
              <ParameterField
                key={parameter.name}
                parameter={parameter}
                schemas={schemas}
                value={contents.values[parameter.name] ?? ''}
                onChange={(value) => change({ values: { ...contents.values, [parameter.name]: value } })}
              />
            ))}
            {needsKey ? (
              <TextField
                label="API key"
                type="password"
                value={contents.key}
                help="Not needed if this browser is signed in, or if the server is open"
                onChange={(key) => change({ key })}
              />
            ) : null}
            {types.length > 1 ? (
              <ChoiceField
                label={<code>accept</code>}
                value={contents.type}
                choices={types}
                help="Format of the response"
                onChange={(type) => change({ type })}
              />
            ) : null}
          </div>
          {body === null ? null : (
            <label>
              Body{body.required ? '' : ' (optional)'}
              <textarea
                class="json editor"
                spellcheck={false}
                value={contents.body}
                onInput={({ currentTarget }) => change({ body: currentTarget.value })}
              />
            </label>
          )}
          <TextBlock label="Request as a curl command" text={toCurl(request, location.origin)} boxed />
          <div class="row">
            <Button text="Send" type="submit" class="primary" />
            {busy ? <Button text="Stop" onClick={cancel} /> : null}
            <Copy text={toCurl(request, location.origin)} name="curl command" />
            <Problem text={problem} />
          </div>
        </Form>
      </div>
      {response === null ? null : <ResponseView response={response} />}
    </Panel>
  );
}
