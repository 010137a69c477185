/** Tables of what happened, and of what faucets gave. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const changesTable = tableShape('changes', ['id'], {
  id: 'id',
  kind: 'integer',
  subject: 'blob',
});

export const faucetRequestsTable = tableShape('faucet_requests', [], {
  currency: 'text',
  address: 'text',
  requested_at: 'integer',
  ip: 'text',
});
