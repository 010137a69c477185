/** Methods of ECMAScript 2026 that all browsers have since 2025, and the types of TypeScript's library lack. */
interface Uint8Array {
  toHex(): string;
}
interface Uint8ArrayConstructor {
  fromHex(text: string): Uint8Array<ArrayBuffer>;
}
