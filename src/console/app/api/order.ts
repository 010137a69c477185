/** Keeps what comes late from taking the place of what is newer. */

/** Says of an answer, once it is there, whether it counts. */
type Counts = () => boolean;

/**
 * Numbers questions. An answer counts unless one to a later question has counted.
 * @returns what is called when a question is asked
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
 * Numbers questions. An answer counts as long as no later question was asked.
 * @returns what is called when a question is asked, or given up
 */
export function onlyLast(): () => Counts {
  let asked = 0;
  return () => {
    asked += 1;
    const number = asked;
    return () => number === asked;
  };
}
