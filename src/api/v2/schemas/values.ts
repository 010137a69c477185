import { Type } from '@sinclair/typebox';

export const IsoTime = Type.String({ pattern: '^[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z$', description: 'UTC' });
