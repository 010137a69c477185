declare module '*.sql' {
  const text: string;
  export default text;
}

declare module '*.gz' {
  /** Path of the file, inside a compiled executable too. */
  const path: string;
  export default path;
}

declare module '*.yml' {
  const text: string;
  export default text;
}
