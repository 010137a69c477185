/** Changes that `bun run mutants` can make in a line. Each is small, and some test should notice it. */
import ts from 'typescript';

/** A change of a file's text. */
export interface Mutation {
  kind: 'comparison' | 'statement' | 'arguments' | 'return' | 'await' | 'sql';
  /** Position of the replaced text. */
  start: number;
  end: number;
  after: string;
}

/** Operators and their replacements. A sum is changed if both sides are numbers. */
const OPERATORS = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
  [ts.SyntaxKind.PlusToken, '-'],
  [ts.SyntaxKind.MinusToken, '+'],
]);

/** Words of SQL and their replacements. */
const SQL_WORDS: Readonly<Record<string, string>> = {
  ' = ': ' <> ',
  ' <> ': ' = ',
  ' != ': ' = ',
  ' < ': ' <= ',
  ' <= ': ' < ',
  ' > ': ' >= ',
  ' >= ': ' > ',
  ' AND ': ' OR ',
  ' OR ': ' AND ',
  ' DESC': '',
};
const SQL_WORD = new RegExp(
  Object.keys(SQL_WORDS)
    .sort((a, b) => b.length - a.length)
    .join('|'),
  'g',
);
const isSql = (text: string): boolean => /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ORDER BY)\b/.test(text);

const isNumeric = (type: ts.Type): boolean => (type.flags & (ts.TypeFlags.NumberLike | ts.TypeFlags.BigIntLike)) !== 0;

const isJump = (node: ts.Statement): boolean =>
  ts.isReturnStatement(node) || ts.isThrowStatement(node) || ts.isContinueStatement(node) || ts.isBreakStatement(node);

/** A check that leaves early, and does nothing else. */
function isGuard({ thenStatement, elseStatement }: ts.IfStatement): boolean {
  const only = ts.isBlock(thenStatement) && thenStatement.statements.length === 1 ? thenStatement.statements[0] : null;
  return elseStatement === undefined && isJump(only ?? thenStatement);
}

const isLoop = (node: ts.Node): node is ts.IterationStatement => ts.isIterationStatement(node, false);

/** Returns every possible change of a file. @param checker provides the types of its expressions */
export function mutationsOf(source: ts.SourceFile, checker: ts.TypeChecker): Mutation[] {
  const mutations: Mutation[] = [];
  const text = source.text;
  const add = (kind: Mutation['kind'], start: number, end: number, after: string) =>
    mutations.push({ kind, start, end, after });
  const replace = (kind: Mutation['kind'], node: ts.Node, after: string) =>
    add(kind, node.getStart(source), node.end, after);

  /** Returns a function's return type, without its promise, or null if it is unknown. */
  function resultOf(node: ts.SignatureDeclaration): ts.Type | null {
    const signature = checker.getSignatureFromDeclaration(node);
    if (signature === undefined) return null;
    const type = checker.getReturnTypeOfSignature(signature);
    return checker.getAwaitedType(type) ?? type;
  }

  /** Another result of a function in place of an expression. */
  function otherResults(value: ts.Expression, signature: ts.SignatureDeclaration): void {
    const type = resultOf(signature);
    if (type === null || type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return;
    const types = type.isUnion() ? type.types : [type];
    const has = (flags: ts.TypeFlags) => types.some((part) => (part.flags & flags) !== 0);
    const was = value.getText(source);
    if (has(ts.TypeFlags.Null) && was !== 'null') replace('return', value, 'null');
    else if (has(ts.TypeFlags.Undefined) && was !== 'undefined') replace('return', value, 'undefined');
    if (types.every((part) => part.flags & ts.TypeFlags.BooleanLike)) {
      replace('return', value, was === 'true' ? 'false' : was === 'false' ? 'true' : `!(${was})`);
    }
    if (types.some((part) => checker.isArrayType(part)) && was !== '[]') replace('return', value, '[]');
  }

  function ofFunction(node: ts.FunctionLikeDeclaration): void {
    if (node.body === undefined) return;
    if (!ts.isBlock(node.body)) {
      otherResults(node.body, node);
      return;
    }
    const type = resultOf(node);
    if (ts.isConstructorDeclaration(node) || type === null || (type.flags & ts.TypeFlags.Void) === 0) return;
    for (const statement of node.body.statements) {
      const start = statement.getStart(source);
      if (!isJump(statement) && !ts.isFunctionDeclaration(statement)) add('return', start, start, 'return; ');
    }
  }

  function ofArguments(node: ts.CallExpression | ts.NewExpression): void {
    const args = node.arguments ?? [];
    for (const [index, first] of args.entries()) {
      const second = args[index + 1];
      if (second === undefined || ts.isSpreadElement(first) || ts.isSpreadElement(second)) continue;
      const [left, right] = [first, second].map((value) =>
        checker.getBaseTypeOfLiteralType(checker.getTypeAtLocation(value)),
      );
      const [before, after] = [first.getText(source), second.getText(source)];
      if (before === after || !checker.isTypeAssignableTo(left!, right!) || !checker.isTypeAssignableTo(right!, left!))
        continue;
      add('arguments', first.getStart(source), second.end, `${after}, ${before}`);
    }
  }

  function ofSql(node: ts.Node, whole: string): void {
    if (!isSql(whole)) return;
    const start = node.getStart(source);
    for (const { 0: word, index } of text.slice(start, node.end).matchAll(SQL_WORD)) {
      add('sql', start + index, start + index + word.length, SQL_WORDS[word]!);
    }
  }

  function visit(node: ts.Node): void {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const { kind } = node.operatorToken;
      const after = OPERATORS.get(kind);
      const isSum = kind === ts.SyntaxKind.PlusToken || kind === ts.SyntaxKind.MinusToken;
      const fits = !isSum || [node.left, node.right].every((side) => isNumeric(checker.getTypeAtLocation(side)));
      if (after !== undefined && fits) replace('comparison', node.operatorToken, after);
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      replace('comparison', node, node.operand.getText(source));
    } else if (ts.isExpressionStatement(node)) {
      if (!/^super\b/.test(node.getText(source))) replace('statement', node, ';');
    } else if (ts.isIfStatement(node)) {
      const { expression } = node;
      if (ts.isIdentifier(expression) || ts.isCallExpression(expression) || ts.isPropertyAccessExpression(expression)) {
        replace('comparison', expression, `!${expression.getText(source)}`);
      }
      if (isGuard(node)) replace('statement', node, ';');
    } else if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      ofArguments(node);
    } else if (ts.isAwaitExpression(node)) {
      replace('await', node, node.expression.getText(source));
    } else if (ts.isReturnStatement(node) && node.expression !== undefined) {
      const owner = ts.findAncestor(node, ts.isFunctionLike);
      if (owner !== undefined) otherResults(node.expression, owner as ts.SignatureDeclaration);
    } else if (isLoop(node) && ts.isBlock(node.statement)) {
      const last = node.statement.statements.at(-1);
      if (last !== undefined && !isJump(last)) {
        add('return', node.statement.end - 1, node.statement.end - 1, 'break; ');
      }
    } else if (ts.isFunctionLike(node) && 'body' in node) {
      ofFunction(node as ts.FunctionLikeDeclaration);
    } else if (ts.isTemplateExpression(node)) {
      for (const part of [node.head, ...node.templateSpans.map(({ literal }) => literal)])
        ofSql(part, node.getText(source));
    } else if (ts.isStringLiteralLike(node)) {
      ofSql(node, node.text);
    }
    ts.forEachChild(node, visit);
  }
  visit(source);
  return mutations;
}
