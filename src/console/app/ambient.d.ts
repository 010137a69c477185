/** Types of imported texts, and of methods of ECMAScript 2026 that browsers have since 2025, but TypeScript lacks. */
declare module '*.css';
declare module '*.txt' {
  const text: string;
  export default text;
}

interface Uint8Array {
  toHex(): string;
}
interface Uint8ArrayConstructor {
  fromHex(text: string): Uint8Array<ArrayBuffer>;
}
