/** The statements that make an index. What each table and column holds is told in schema.sql. */
import schema from '../../../schema.sql' with { type: 'text' };

export { schema };

/** The statement of schema.sql that makes an index that may hold a key several times. */
export function creationOf(index: string): string {
  const start = schema.indexOf(`CREATE INDEX ${index} `);
  if (start === -1) throw new Error(`schema.sql makes no ${index}`);
  return schema.slice(start, schema.indexOf(';\n', start));
}
