/** Stores attachments as the node posts them, with the subdomains that zonefiles declare. */
import type { Database } from 'bun:sqlite';
import { attachmentMetadata, isNameContract } from '../../chain/name-system.ts';
import type { AttachmentsPayload } from '../../chain/payload-schemas.ts';
import { fromHex } from '../../codec/hex.ts';
import { lossyText } from '../../codec/utf8.ts';
import { declaredSubdomains, resolverOf, zoneRecords } from '../../codec/zonefile.ts';
import { table } from '../rows/table.ts';
import { attachmentsTable, subdomainsTable } from '../rows/tables.ts';

/** Makes a function that stores attachments, and returns how many were new. */
export function attachmentWriter(db: Database) {
  const { addIfAbsent: add } = table(db, attachmentsTable);
  const { add: addSubdomain } = table(db, subdomainsTable);

  /** Only an update declares subdomains; the zonefile of a name's registration does not. */
  function addSubdomains(id: number, metadata: Uint8Array, content: Uint8Array): void {
    const named = attachmentMetadata(metadata);
    if (named === null || named.operation !== 'name-update') return;
    const records = zoneRecords(lossyText(content));
    const resolver = resolverOf(records);
    for (const [record, { label, owner, zonefile }] of declaredSubdomains(records).entries()) {
      addSubdomain({
        attachment_id: id,
        record,
        subdomain: `${label}.${named.name}`,
        name: named.name,
        owner,
        resolver,
        zonefile,
      });
    }
  }

  return (attachments: AttachmentsPayload): number => {
    let added = 0;
    for (const { content_hash, tx_id, index_block_hash, contract_id, metadata, content } of attachments) {
      const [metadataBytes, contentBytes] = [fromHex(metadata), fromHex(content)];
      const id = add({
        content_hash: fromHex(content_hash),
        tx_id: fromHex(tx_id),
        index_block_hash: fromHex(index_block_hash),
        contract_id,
        metadata: metadataBytes,
        content: contentBytes,
      });
      // The node may post an attachment more than once.
      if (id === null) continue;
      added += 1;
      if (isNameContract(contract_id)) addSubdomains(id, metadataBytes, contentBytes);
    }
    return added;
  };
}
