/** Tables of the name system. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const namespacesTable = tableShape('namespaces', ['namespace', 'position', 'event_index'], {
  namespace: 'text',
  position: 'integer',
  event_index: 'integer',
  lifetime: 'integer',
});

export const namespacePricesTable = tableShape('namespace_prices', ['namespace', 'position', 'event_index'], {
  namespace: 'text',
  position: 'integer',
  event_index: 'integer',
  base: 'text',
  coefficient: 'text',
  exponents: 'text',
  nonalpha_discount: 'text',
  no_vowel_discount: 'text',
});

export const nameOperationsTable = tableShape('name_operations', ['name', 'position', 'event_index'], {
  name: 'text',
  position: 'integer',
  event_index: 'integer',
  operation: 'integer',
  sender_id: 'integer',
  zonefile_hash: 'blob?',
});

export const namesTable = tableShape('names', ['name'], {
  name: 'text',
  namespace: 'text',
  position: 'integer',
  event_index: 'integer',
  active: 'integer',
});

export const attachmentsTable = tableShape('attachments', ['id'], {
  id: 'id',
  content_hash: 'blob',
  tx_id: 'blob',
  index_block_hash: 'blob',
  contract_id: 'text',
  metadata: 'blob',
  content: 'blob',
});

export const subdomainsTable = tableShape('subdomains', ['attachment_id', 'record'], {
  attachment_id: 'integer',
  record: 'integer',
  subdomain: 'text',
  name: 'text',
  owner: 'text',
  resolver: 'text',
  zonefile: 'blob',
});

export const oldNamespacesTable = tableShape('old_namespaces', ['namespace'], {
  namespace: 'text',
  lifetime: 'integer',
  base: 'text',
  coefficient: 'text',
  exponents: 'text',
  nonalpha_discount: 'text',
  no_vowel_discount: 'text',
});

export const oldNamesTable = tableShape('old_names', ['name'], {
  name: 'text',
  namespace: 'text',
  owner: 'text',
  zonefile_hash: 'blob',
});

export const oldZonefilesTable = tableShape('old_zonefiles', ['hash'], {
  hash: 'blob',
  content: 'text',
});

export const oldSubdomainsTable = tableShape('old_subdomains', ['subdomain'], {
  subdomain: 'text',
  name: 'text',
  owner: 'text',
  resolver: 'text',
  zonefile_hash: 'blob',
  zonefile: 'text',
});
