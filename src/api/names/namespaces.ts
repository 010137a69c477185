/** Namespaces, and what they and their names cost. */
import { Type } from '@sinclair/typebox';
import { ApiError } from '../../http/errors.ts';
import { route } from '../../http/route.ts';
import { family, pageOf } from './names.ts';
import { Name, Namespace, paged, unanchored } from './parameters.ts';
import { namePrice, namespacePrice } from './prices.ts';
import { NameList, Price } from './schemas.ts';

const inMicroStx = (amount: bigint) => ({ units: 'STX' as const, amount: amount.toString() });

export const namespaces = [
  route({
    ...family,
    path: '/v1/namespaces',
    operationId: 'getAllNamespaces',
    summary: 'Namespaces',
    description: 'Returns the namespaces that are open for registration, in alphabetical order.',
    query: unanchored,
    response: Type.Object({ namespaces: NameList }, { $id: 'Namespaces' }),
    handle: async ({ read }) => ({ namespaces: await read.names.namespaces() }),
  }),
  route({
    ...family,
    path: '/v1/namespaces/{tld}/names',
    operationId: 'getNamespaceNames',
    summary: 'Names of a namespace',
    description:
      'Returns the names of a namespace that are not revoked, in alphabetical order, 100 on a page. A page after the last one is an error.',
    params: { tld: Namespace },
    query: { ...unanchored, ...paged },
    response: NameList,
    handle: async ({ params: { tld }, query: { page }, read }) => {
      const names = await read.names.ofNamespace(tld, page);
      if (names === undefined) throw new ApiError(400, 'No such namespace');
      return pageOf(names, page);
    },
  }),
  route({
    ...family,
    path: '/v2/prices/namespaces/{tld}',
    operationId: 'getNamespacePrice',
    summary: 'Price of a namespace',
    description: 'Returns the price of a namespace in micro-STX, which depends on the length of its name.',
    params: { tld: Namespace },
    response: Price,
    handle: ({ params: { tld } }) => {
      const price = namespacePrice(tld);
      if (price === undefined) throw new ApiError(400, 'Invalid namespace');
      return inMicroStx(price);
    },
  }),
  route({
    ...family,
    path: '/v2/prices/names/{name}',
    operationId: 'getNamePrice',
    summary: 'Price of a name',
    description: 'Returns the price of a name in micro-STX, computed from the price function of its namespace.',
    params: { name: Name },
    response: Price,
    handle: async ({ params: { name }, read }) => {
      const [label = '', namespace = '', ...more] = name.split('.');
      const set = more.length > 0 ? undefined : await read.names.price(namespace);
      const price = set === undefined ? undefined : namePrice(label, set);
      if (price === undefined) throw new ApiError(400, 'Invalid name');
      return inMicroStx(price);
    },
  }),
];
