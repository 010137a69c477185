import { clarity } from '../../codec/clarity-encode.ts';
import { type ContractTemplate, contractInterface, interfaceOf, ok, publicFunction, userCall } from '../contract.ts';

const notes = ['sunrise', 'tide "high"', 'three\nlines\nof text', "it's late", 'back\\slash'];
const translations = ['grüße', '空', 'ok ⭐', 'naïve café', 'plain'];

const okWithPrints = (contract: string, result: Uint8Array, ...values: readonly Uint8Array[]) =>
  ok(result, ...values.map((value) => ({ type: 'contract_event', contract, value }) as const));

const functions = {
  mark: publicFunction(
    { seal: { buffer: { length: 32 } }, parent: { optional: 'uint128' } },
    ({ contract, sender }, { seal, parent }) => {
      const mark = clarity.tuple({
        author: clarity.principal(sender),
        final: clarity.bool(parent === undefined),
        parent: parent === undefined ? clarity.none() : clarity.some(clarity.uint(parent)),
        seal: clarity.buffer(seal),
      });
      return okWithPrints(contract, clarity.bool(true), mark);
    },
  ),
  measure: publicFunction(
    { value: 'int128', samples: { list: { type: 'uint128', length: 10 } } },
    ({ contract }, { value: { bytes }, samples }) =>
      okWithPrints(contract, bytes, bytes, clarity.list(samples.map((sample) => clarity.uint(sample)))),
    'int128',
  ),
  note: publicFunction(
    { text: { 'string-ascii': { length: 80 } }, translation: { 'string-utf8': { length: 80 } } },
    ({ contract }, { text, translation }) => okWithPrints(contract, clarity.bool(true), text.bytes, translation.bytes),
  ),
};

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
  abi: contractInterface({ clarity_version: 'Clarity1', functions: interfaceOf(functions) }),
  functions,
  propose({ prng }) {
    switch (prng.pick(['note', 'measure', 'mark'] as const)) {
      case 'note': {
        const text = { bytes: clarity.ascii(prng.pick(notes)) };
        return userCall(functions, 'note', { text, translation: { bytes: clarity.utf8(prng.pick(translations)) } });
      }
      case 'measure': {
        const value = { bytes: clarity.int(prng.between(-1_000_000, 1_000_000)) };
        const samples = Array.from({ length: prng.below(11) }, () => BigInt(prng.u32()));
        return userCall(functions, 'measure', { value, samples });
      }
      case 'mark': {
        const seal = prng.bytes(32);
        const parent = prng.chance(0.5) ? undefined : BigInt(prng.below(1000));
        return userCall(functions, 'mark', { seal, parent });
      }
    }
  },
};
