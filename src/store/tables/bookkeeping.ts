/** Tables of what happened, of what faucets gave, and of what the index was made with. What each column holds is told in schema.sql. */
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

export const sendManyContractsTable = tableShape('send_many_contracts', ['network'], {
  network: 'text',
  contract_id: 'text',
});
