/** Values of options that belong to one command, from their text. */
import { InvalidArgumentError, Option } from 'commander';

/** Reads a whole number. @param least the smallest number that is accepted @param most the greatest one */
const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < least || number > most) {
      const bounds = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`;
      throw new InvalidArgumentError(`It must be a whole number ${bounds}.`);
    }
    return number;
  };

/** The longest time that an option may name, in seconds: a day. A timer of more than 24 days would end at once. */
export const LONGEST_SECONDS = 86_400;

/** Checks the URL of an HTTP server. @returns the URL as it was given */
export function httpUrl(text: string): string {
  const protocol = URL.parse(text)?.protocol;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new InvalidArgumentError('It must be the URL of an HTTP server, such as http://127.0.0.1:3700.');
  }
  return text;
}

/**
 * An option that takes a whole number.
 * @param fallback where it isn't given; undefined for none
 * @param most the greatest number that is accepted
 */
export const numberOption = (
  flag: string,
  help: string,
  least: number,
  fallback?: number,
  most: number = Number.MAX_SAFE_INTEGER,
): Option => new Option(flag, help).argParser(wholeNumber(least, most)).default(fallback);

/** An option that is given or not. */
export const switchOption = (flag: string, help: string): Option => new Option(flag, help).default(false, 'off');

export type OutputFormat = 'text' | 'json';

/** The option that chooses between text for people and JSON for programs. */
export const formatOption = (help: string): Option =>
  new Option('--format <format>', help).choices(['text', 'json']).default('text');
