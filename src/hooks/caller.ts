/** Who asks. */
export interface Caller {
  consumer: string;
  /** Acts for every consumer. */
  isOperator: boolean;
}

/** Who has the admin key, with the consumer whose hooks are the operator's own. */
export const OPERATOR: Caller = { consumer: 'default', isOperator: true };
