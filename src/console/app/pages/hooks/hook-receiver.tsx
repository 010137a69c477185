/** A receiver to copy, which checks signatures. */
import { Copy } from '../../ui/copy.tsx';
import { Panel } from '../../ui/parts.tsx';
import { Scrollable } from '../../ui/scrollable.tsx';

/** A receiver in TypeScript that needs no package; it runs in Bun, and in Node with its own HTTP server. */
const RECEIVER = `// bun receiver.ts
const secret = process.env.STACKSIDE_SECRET ?? '';
const key = await crypto.subtle.importKey(
  'raw',
  Uint8Array.fromBase64(secret.replace('whsec_', '')),
  { name: 'HMAC', hash: 'SHA-256' },
  false,
  ['verify'],
);

/** Checks one of the signatures of a delivery (Standard Webhooks). */
async function isSigned(headers: Headers, body: string): Promise<boolean> {
  const id = headers.get('webhook-id');
  const time = headers.get('webhook-timestamp');
  const signed = new TextEncoder().encode(\`\${id}.\${time}.\${body}\`);
  for (const part of (headers.get('webhook-signature') ?? '').split(' ')) {
    const [version, signature = ''] = part.split(',');
    if (version !== 'v1') continue;
    if (await crypto.subtle.verify('HMAC', key, Uint8Array.fromBase64(signature), signed)) return true;
  }
  return false;
}

const seen = new Set<string>();

Bun.serve({
  port: 8080,
  async fetch(request) {
    const body = await request.text();
    if (!(await isSigned(request.headers, body))) return new Response('wrong signature', { status: 401 });
    // A delivery may come twice: its id is the same each time.
    const id = request.headers.get('webhook-id') ?? '';
    if (seen.has(id)) return new Response('known');
    const { event } = JSON.parse(body);
    for (const { block_identifier } of event.rollback) console.log('undo', block_identifier.index);
    for (const { block_identifier, transactions } of event.apply) {
      console.log('block', block_identifier.index, transactions.length, 'transactions');
    }
    seen.add(id);
    // Any 2xx says that the delivery is taken; everything else is tried again.
    return new Response('taken');
  },
});
`;

export const SampleReceiver = () => (
  <Panel title="A receiver in TypeScript" aside={<Copy text={RECEIVER} what="receiver" />}>
    <div class="panel-body">
      <p>
        The receiver checks the signature, takes each delivery once, and undoes blocks that a fork took back. Set{' '}
        <code>STACKSIDE_SECRET</code> to the signing secret.
      </p>
    </div>
    <Scrollable label="Source of the receiver" class="code">
      {RECEIVER}
    </Scrollable>
  </Panel>
);
