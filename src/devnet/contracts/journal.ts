import { clarity } from '../../codec/clarity-encode.ts';
import {
  type ChainEvent,
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  ok,
  publicFunction,
  someOf,
} from '../contract.ts';
import type { Prng } from '../prng.ts';

const notes = ['sunrise', 'tide "high"', 'three\nlines\nof text', "it's late", 'back\\slash'];
const translations = ['grüße', '空', 'ok ⭐', 'naïve café', 'plain'];

/** A contract that only prints values of all types. */
export const journal: ContractTemplate = {
  name: 'journal',
  clarityVersion: undefined,
  source: `;; Prints what it is given.
(define-public (note (text (string-ascii 80)) (translation (string-utf8 80)))
  (begin (print text) (print translation) (ok true)))

(define-public (measure (value int) (samples (list 10 uint)))
  (begin (print value) (print samples) (ok value)))

(define-public (mark (seal (buff 32)) (parent (optional uint)))
  (begin
    (print { author: tx-sender, final: (is-none parent), parent: parent, seal: seal })
    (ok true)))
`,
  abi: contractInterface({
    clarity_version: 'Clarity1',
    functions: [
      publicFunction('mark', { seal: { buffer: { length: 32 } }, parent: { optional: 'uint128' } }),
      publicFunction('measure', { value: 'int128', samples: { list: { type: 'uint128', length: 10 } } }, 'int128'),
      publicFunction('note', {
        text: { 'string-ascii': { length: 80 } },
        translation: { 'string-utf8': { length: 80 } },
      }),
    ],
  }),
  propose({ prng }) {
    return prng.pick([note, measure, mark])(prng);
  },
  calls: {
    note: ([text, translation]) => ({ run: printing(clarity.bool(true), [text!.bytes, translation!.bytes]) }),
    measure: ([value, samples]) => ({ run: printing(value!.bytes, [value!.bytes, samples!.bytes]) }),
    mark: ([seal, parent]) => ({ run: marking(seal!.bytes, parent!.bytes, someOf(parent) === undefined) }),
  },
};

function note(prng: Prng) {
  const args = [clarity.ascii(prng.pick(notes)), clarity.utf8(prng.pick(translations))];
  return { functionName: 'note', args, run: printing(clarity.bool(true), args) };
}

function measure(prng: Prng) {
  const value = clarity.int(BigInt(prng.between(-1_000_000, 1_000_000)));
  const samples = clarity.list(Array.from({ length: prng.below(11) }, () => clarity.uint(BigInt(prng.u32()))));
  return { functionName: 'measure', args: [value, samples], run: printing(value, [value, samples]) };
}

function mark(prng: Prng) {
  const seal = clarity.buffer(prng.bytes(32));
  const first = prng.chance(0.5);
  const parent = first ? clarity.none() : clarity.some(clarity.uint(BigInt(prng.below(1000))));
  return {
    functionName: 'mark',
    args: [seal, parent],
    run: marking(seal, parent, first),
  };
}

const marking =
  (seal: Uint8Array, parent: Uint8Array, final: boolean): ContractCall['run'] =>
  ({ contract, sender }) => {
    const value = clarity.tuple({ author: clarity.principal(sender), final: clarity.bool(final), parent, seal });
    return ok(clarity.bool(true), { type: 'contract_event', contract, value });
  };

function printing(result: Uint8Array, values: readonly Uint8Array[]) {
  return ({ contract }: { contract: string }) =>
    ok(result, ...values.map((value): ChainEvent => ({ type: 'contract_event', contract, value })));
}
