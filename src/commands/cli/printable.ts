/** Texts from elsewhere on a terminal. */

/** Control characters, which would let a text from elsewhere draw on the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A text without control characters other than tabs and line ends. */
export const printableText = (text: string): string => text.replaceAll(CONTROL, '?');
