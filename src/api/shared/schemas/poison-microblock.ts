import { Type } from '@sinclair/typebox';
import { Hex } from './values.ts';

export const poisonMicroblock = Type.Object(
  { microblock_header_1: Hex, microblock_header_2: Hex },
  { $id: 'PoisonMicroblock' },
);
