/** Methods of ECMAScript 2026 that all browsers have since 2025, but TypeScript's library lacks. */
interface Uint8Array {
  toHex(): string;
}
interface Uint8ArrayConstructor {
  fromHex(text: string): Uint8Array<ArrayBuffer>;
}
