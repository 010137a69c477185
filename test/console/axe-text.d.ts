declare module 'axe-core/axe.min.js' {
  /** The script, imported `with { type: 'text' }`. */
  const text: string;
  export default text;
}
