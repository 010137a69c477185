/** Tables of decoded values that are found by an index of the operator's. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const valueIndexesTable = tableShape('value_indexes', ['id'], {
  id: 'id',
  subject: 'integer',
  contract: 'text',
  scope: 'text',
  wanted: 'integer',
  from_position: 'integer',
  from_event: 'integer',
});

export const valueIndexEntriesTable = tableShape(
  'value_index_entries',
  ['index_id', 'path', 'value', 'position', 'event_index'],
  {
    index_id: 'integer',
    path: 'text',
    value: 'text',
    position: 'integer',
    event_index: 'integer',
  },
);
