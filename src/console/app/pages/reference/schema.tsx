/** The schema of a value: its type, its members, and theirs in parts that open. */
import { useState } from 'preact/hooks';
import {
  type Field,
  fieldsOf,
  itemOf,
  limitsText,
  resolveSchema,
  type Schema,
  type Schemas,
  typeText,
  variantsOf,
} from '../../chain/api-reference.ts';

/** Renders a text of the document: parts between backticks are code. */
export const DocumentText = ({ text }: { text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
);

interface PartProps {
  schema: Schema;
  schemas: Schemas;
}

/** Renders a part that is closed at first. Its contents are made when it opens, because schemas contain themselves. */
function Toggle({ title, schema, schemas }: PartProps & { title: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen ? <Members schema={schema} schemas={schemas} /> : null}
    </details>
  );
}

function Member({ name, schema, isRequired, schemas }: Field & { schemas: Schemas }) {
  const target = resolveSchema(schema, schemas);
  const inner = itemOf(target, schemas);
  const type = typeText(schema, schemas);
  const description = schema.description ?? target.description ?? '';
  return (
    <li>
      <code class="break">{name}</code> <span class="quiet break">{type}</span>
      {isRequired ? null : <span class="badge">optional</span>}
      <div class="quiet tiny">
        <DocumentText text={description} /> {limitsText(target)}
      </div>
      {hasMembers(inner, schemas) ? <Toggle title={`Members of ${name}`} schema={inner} schemas={schemas} /> : null}
    </li>
  );
}

/** Reports whether a value has members that its type doesn't show. */
const hasMembers = (schema: Schema, schemas: Schemas): boolean =>
  fieldsOf(schema, schemas).length > 0 ||
  variantsOf(schema, schemas).some((variant) => hasMembers(itemOf(variant, schemas), schemas));

function Members({ schema, schemas }: PartProps) {
  const variants = variantsOf(schema, schemas).filter((variant) => hasMembers(itemOf(variant, schemas), schemas));
  return (
    <>
      <ul class="members stack small">
        {fieldsOf(schema, schemas).map((field) => (
          <Member key={field.name} {...field} schemas={schemas} />
        ))}
      </ul>
      {variants.map((variant, index) => (
        <Toggle key={index} title={typeText(variant, schemas)} schema={itemOf(variant, schemas)} schemas={schemas} />
      ))}
    </>
  );
}

/** Renders the type of a value, with its members. */
export function SchemaTree({ schema, schemas }: PartProps) {
  const inner = itemOf(schema, schemas);
  return (
    <div class="panel-body stack">
      <p class="quiet break">{typeText(schema, schemas)}</p>
      {hasMembers(inner, schemas) ? <Members schema={inner} schemas={schemas} /> : null}
    </div>
  );
}
