/** Schemas and serializers that a single table of fields defines. */
import { describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { fields, object, variants } from '../../src/api/shared/fields.ts';

interface Item {
  id: number;
  note: string | null;
  payload: { type: 'sum'; amount: number } | { type: 'text'; words: string[] };
}

interface Kinds {
  sum: Item & { payload: { type: 'sum' } };
  text: Item & { payload: { type: 'text' } };
}

const shared = fields<Item>()({
  id: [Type.Integer(), ({ id }) => id],
  note: [Type.Optional(Type.String()), ({ note }) => note ?? undefined],
});
const sum: Item = { id: 1, note: null, payload: { type: 'sum', amount: 5 } };
const words: Item = { id: 2, note: 'new', payload: { type: 'text', words: ['a', 'b'] } };

describe('an object', () => {
  const [schema, serialize] = object<Item, [factor: number]>('ScaledItem')({
    ...shared,
    'scaled-id': [Type.Integer(), ({ id }, factor) => factor * id],
  });

  test('has its fields in table order, and omits an optional field that is undefined', () => {
    expect(JSON.stringify(serialize(sum, 3))).toBe('{"id":1,"scaled-id":3}');
    expect(JSON.stringify(serialize({ ...sum, note: 'x' }, 4))).toBe('{"id":1,"note":"x","scaled-id":4}');
  });

  test('has a schema that requires all but the optional fields', () => {
    expect(schema.$id).toBe('ScaledItem');
    expect(schema.required).toEqual(['id', 'scaled-id']);
  });
});

describe('variants', () => {
  const [schema, serialize] = variants<Item, Kinds>('Item')(
    ['kind', ({ payload }) => payload.type],
    shared,
    {
      sum: { amount: [Type.Integer(), ({ payload }) => payload.amount] },
      text: { first: [Type.String(), ({ payload }) => payload.words[0] ?? ''] },
    },
    { last: [Type.Literal(true), () => true as const] },
  );

  test('have the shared fields, the tag, the fields of the type, then the last fields', () => {
    expect(JSON.stringify(serialize(sum))).toBe('{"id":1,"kind":"sum","amount":5,"last":true}');
    const text = '{"id":2,"note":"new","kind":"text","first":"a","last":true}';
    expect(JSON.stringify(serialize(words))).toBe(text);
  });

  test("have a schema that accepts a type's fields only with its tag", () => {
    expect(Value.Check(schema, { id: 1, kind: 'sum', amount: 5, last: true })).toBe(true);
    expect(Value.Check(schema, { id: 1, kind: 'text', amount: 5, last: true })).toBe(false);
    expect(schema.$id).toBe('Item');
  });
});
