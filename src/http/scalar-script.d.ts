declare module '*/@scalar/api-reference/dist/browser/standalone.js' {
  /** Path of the file, inside a compiled executable too. */
  const path: string;
  export default path;
}
