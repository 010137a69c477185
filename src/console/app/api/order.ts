/** Discards answers that arrive out of order. */

/** Called when the answer arrives; returns whether to use it. */
type Counts = () => boolean;

/**
 * Numbers requests. An answer is used unless the answer to a later request was used.
 * @returns a function to call at each request
 */
export function inOrder(): () => Counts {
  let [asked, newest] = [0, 0];
  return () => {
    asked += 1;
    const number = asked;
    return () => {
      if (number < newest) return false;
      newest = number;
      return true;
    };
  };
}

/**
 * Numbers requests. An answer is used unless a later request was made.
 * @returns a function to call when a request is made or given up
 */
export function onlyLast(): () => Counts {
  let asked = 0;
  return () => {
    asked += 1;
    const number = asked;
    return () => number === asked;
  };
}
