declare module '*.sql' {
  const text: string;
  export default text;
}

declare module '*.yml' {
  const text: string;
  export default text;
}
