/** The API reference: the operations of the server's OpenAPI document, and the page of each. */

import { signal } from '@preact/signals';
import { fetchJson } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import {
  type ApiDocument,
  exampleOf,
  type Group,
  isMatch,
  type Operation,
  type Reference,
  readReference,
} from '../../chain/api-reference.ts';
import { count } from '../../chain/format.ts';
import { Check, TextField } from '../../ui/form.tsx';
import { ButtonLink, type Column, Empty, JsonLink, Page, Panel, Show, TablePanel, TextBlock } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { DocumentText, SchemaTree } from './schema.tsx';
import { TryIt } from './try-it.tsx';

const DOCUMENT = '/docs/json';
const TITLE = 'API reference';

const loadReference = async (signal: AbortSignal): Promise<Reference> =>
  readReference((await fetchJson(DOCUMENT, { signal })) as ApiDocument);

/** The text of the search, and whether the list has deprecated operations. They stay while operations are shown. */
const searchText = signal('');
const withDeprecated = signal(false);

const Method = ({ method }: { method: string }) => (
  <span class={method === 'GET' ? 'badge ok' : method === 'DELETE' ? 'badge bad' : 'badge wait'}>{method}</span>
);

const COLUMNS: readonly Column<Operation>[] = [
  ['Method', '', ({ method }) => <Method method={method} />],
  [
    'Path',
    'first',
    ({ id, path, isDeprecated }) => (
      <>
        <a class="mono break" href={pathTo('operation', { operation: id })}>
          {path}
        </a>{' '}
        {isDeprecated ? <span class="badge">deprecated</span> : null}
      </>
    ),
  ],
  ['Summary', 'half', ({ summary }) => summary],
];

const anchorOf = (tag: string): string => tag.replaceAll(/\W+/g, '-');

function Operations({ groups }: { groups: readonly Group[] }) {
  const matches = (all: readonly Operation[]) => all.filter((operation) => isMatch(operation, searchText.value));
  const deprecated = groups.flatMap(({ operations }) => matches(operations)).filter(({ isDeprecated }) => isDeprecated);
  const shownGroups = groups
    .map((group) => ({
      ...group,
      operations: matches(group.operations).filter((operation) => withDeprecated.value || !operation.isDeprecated),
    }))
    .filter(({ operations }) => operations.length > 0);
  return (
    <>
      <div class="form row">
        <TextField
          type="search"
          class="grow"
          label="Search operations"
          value={searchText.value}
          placeholder="path, name or words: balances"
          onChange={(text) => {
            searchText.value = text;
          }}
        />
        <Check
          checked={withDeprecated.value}
          onChange={(checked) => {
            withDeprecated.value = checked;
          }}
        >
          Show deprecated operations ({count(deprecated.length)})
        </Check>
      </div>
      <nav class="row small" aria-label="Groups">
        {shownGroups.map(({ name }) => (
          <a key={name} href={`#${anchorOf(name)}`}>
            {name}
          </a>
        ))}
      </nav>
      {shownGroups.length === 0 ? (
        <Empty>
          No {deprecated.length > 0 ? 'current ' : ''}operation contains these words. Search for a part of a path, such
          as “holders”.
        </Empty>
      ) : null}
      {shownGroups.map(({ name, description, operations }) => (
        <TablePanel
          key={name}
          id={anchorOf(name)}
          title={name}
          columns={COLUMNS}
          rows={operations}
          keyOf={({ id }) => id}
          stacked
        >
          <p class="panel-head small">
            <DocumentText text={description} />
          </p>
        </TablePanel>
      ))}
    </>
  );
}

/** Renders the list of operations. */
export function ApiReference() {
  const loaded = useAnswer(DOCUMENT, loadReference);
  return (
    <Page
      title={TITLE}
      aside={<JsonLink source={DOCUMENT} subject="this page" />}
      lead={<DocumentText text={loaded.data?.description ?? ''} />}
    >
      <Show loaded={loaded} rows={12}>
        {({ groups }) => <Operations groups={groups} />}
      </Show>
    </Page>
  );
}

/** Renders the page of an operation. @param id the `operationId` */
export function OperationPage({ id }: { id: string }) {
  const loaded = useAnswer(DOCUMENT, loadReference);
  const operation = loaded.data?.groups.flatMap(({ operations }) => operations).find((item) => item.id === id);
  return (
    <Page
      kind={TITLE}
      title={operation?.summary ?? id}
      aside={<ButtonLink text="All operations" href={pathTo('reference')} />}
      lead={
        operation === undefined ? null : (
          <>
            <p>
              <Method method={operation.method} /> <code class="break">{operation.path}</code>{' '}
              {operation.isDeprecated ? <span class="badge">deprecated</span> : null}
            </p>
            <DocumentText text={operation.description} />
          </>
        )
      }
    >
      <Show loaded={loaded}>
        {({ schemas }) =>
          operation === undefined ? (
            <Empty>
              This server has no operation with the id {id}. <a href={pathTo('reference')}>All operations</a>
            </Empty>
          ) : (
            <>
              <TryIt operation={operation} schemas={schemas} />
              <Answers operation={operation} schemas={schemas} />
            </>
          )
        }
      </Show>
    </Page>
  );
}

function Answers({ operation: { answers }, schemas }: { operation: Operation } & Pick<Reference, 'schemas'>) {
  const { schema = null } = answers.find(({ status }) => status.startsWith('2')) ?? {};
  const example = schema === null ? undefined : exampleOf(schema, schemas);
  return (
    <>
      <div class="grid">
        {schema === null ? null : (
          <Panel title="Response">
            <SchemaTree schema={schema} schemas={schemas} />
          </Panel>
        )}
        {example === undefined ? null : (
          <Panel title="Example of a response">
            <TextBlock label="Example in JSON" text={JSON.stringify(example, null, 2)} />
          </Panel>
        )}
      </div>
      <Panel
        title="Statuses"
        facts={answers.map(({ status, description }) => [
          status,
          <DocumentText key={status} text={description.replace(/^OK$/, 'The response is above')} />,
        ])}
      />
    </>
  );
}
