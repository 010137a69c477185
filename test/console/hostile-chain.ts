/** A small chain in which every user-chosen text is an attack on its readers. */
import { deploymentPayload } from '../../src/codec/boot-transaction.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { tokenTransfer } from '../../src/devnet/transaction.ts';
import { alice, block, bob, receipt, signed } from '../support/events/handmade.ts';

const SCRIPT = '<script>window.attacked=1</script><img src=x onerror="window.attacked=1">';
const OVERRIDE = '\u202e\u2066evil\u2069';

/** Text that fits into the 34 bytes of a memo. */
export const MEMO = `<img src=x onerror=attacked=1>${OVERRIDE.slice(0, 1)}`;

/** A source of more than 100 KB with markup, a link that runs a script and characters that change its direction. */
const SOURCE = [
  `;; ${SCRIPT} ${OVERRIDE} javascript:window.attacked=1`,
  '(define-constant ERR_<b>BOLD</b> (err u1))',
  '(define-fungible-token <i>coin</i>)',
  `(define-data-var uri (string-utf8 256) u"javascript:window.attacked=1//${SCRIPT.replaceAll('"', "'")}")`,
  ...Array.from(
    { length: 2_000 },
    (_, line) => `;; line ${line} of a source that is long, with an end tag </code></pre>`,
  ),
].join('\n');

export const deployed = signed(alice, 0, 200, deploymentPayload('hostile', SOURCE, null));
export const sent = signed(alice, 1, 200, tokenTransfer(bob.address, 5n, MEMO));
export const failed = signed(alice, 2, 200, tokenTransfer(bob.address, 5n, ''));

export const CONTRACT = `${alice.address}.hostile`;
/** Not a valid Clarity name, but a node could send it. */
const TOKEN = `${CONTRACT}::<b>coin</b>`;

/** A tuple whose names and values are attacks. One value is long, and one is deeply nested. */
const LOG = clarity.tuple({
  event: clarity.utf8(`${SCRIPT}${OVERRIDE}`),
  [`<b onclick="attacked=1">${'long-name-'.repeat(9)}${OVERRIDE.slice(0, 1)}`]: clarity.uint(2n ** 128n - 1n),
  memo: clarity.buffer(Buffer.from(SCRIPT)),
  flood: clarity.ascii('W'.repeat(30_000)),
  many: clarity.list(Array.from({ length: 500 }, () => clarity.principal(bob.address))),
  deep: Array.from({ length: 24 }).reduce<Uint8Array>(
    (inner) => clarity.tuple({ 'a-name-of-some-length': inner }),
    clarity.principal(`${bob.address}.${'x'.repeat(40)}`),
  ),
});

const event = (index: number, type: string, body: object) => ({
  txid: deployed.id,
  event_index: index,
  committed: true,
  type,
  [type]: body,
});

export const hostileBlock = block(
  null,
  'hostile',
  [deployed, sent, receipt(failed, 2, { status: 'abort_by_post_condition', vm_error: `${SCRIPT}${OVERRIDE}` })],
  {
    events: [
      event(0, 'contract_event', {
        contract_identifier: CONTRACT,
        topic: SCRIPT,
        raw_value: toHex(clarity.utf8(`${SCRIPT}${OVERRIDE}javascript:attacked`)),
      }),
      event(2, 'contract_event', { contract_identifier: CONTRACT, topic: 'print', raw_value: toHex(LOG) }),
      event(1, 'ft_mint_event', { asset_identifier: TOKEN, recipient: bob.address, amount: '5' }),
    ],
  },
);
