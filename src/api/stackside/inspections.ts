/** Inspections of the index on demand: the checks of `stackside check`, and the sizes of its tables. Stackside's own. */
import { type Static, Type } from '@sinclair/typebox';
import { ApiError } from '../../http/errors.ts';
import { route } from '../../http/route.ts';
import { nullable, UnixTime, words } from '../shared/values.ts';
import { digestRoute, type MakeDigests } from './digests.ts';
import type { OperatorFamily } from './operator-family.ts';

const kinds = ['check', 'tables'] as const;
export type InspectionKind = (typeof kinds)[number];

const common = {
  state: words('running', 'done', 'failed', 'cancelled'),
  started_at: UnixTime,
  ended_at: nullable(UnixTime),
  progress: nullable(
    Type.Object(
      {
        number: Type.Integer({ description: 'Number of the step that is under way, from 1 on' }),
        of: Type.Integer({ description: 'Number of steps' }),
        name: Type.String({ description: 'What the step reads' }),
        detail: Type.String({ description: 'How far it has read; empty where that is not known' }),
      },
      { $id: 'InspectionProgress' },
    ),
  ),
  problem: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the inspection failed; null where it did not',
  }),
};

export const CheckFinding = Type.Object(
  {
    name: Type.String({ description: 'What was checked' }),
    problems: Type.Array(Type.String(), { description: 'What is wrong; empty where nothing is' }),
  },
  { $id: 'CheckFinding' },
);
export const TableSize = Type.Object(
  {
    name: Type.String(),
    kind: words('table', 'index'),
    table: Type.String({ description: 'The table itself, or that of the index' }),
    bytes: Type.Integer(),
  },
  { $id: 'TableSize' },
);

export const InspectionsState = Type.Object(
  {
    check: nullable(Type.Object({ ...common, findings: Type.Array(CheckFinding) })),
    tables: nullable(Type.Object({ ...common, sizes: Type.Array(TableSize) })),
  },
  { $id: 'InspectionsState' },
);
/** The newest inspection of each kind, as the route answers it. */
export type InspectionsState = Static<typeof InspectionsState>;

/** The inspections of a process. One runs at a time, since each reads the whole index. */
export interface Inspections {
  state(): InspectionsState;
  /** Begins one. @returns whether it did: none begins while one runs */
  start(kind: InspectionKind): boolean;
  /** Digests the tables, which counts as one; null while another runs. */
  digests: MakeDigests;
  /** Ends the one that runs. @returns whether one did */
  cancel(): boolean;
}

/** @param inspections those of this process */
export function inspectionRoutes(family: OperatorFamily, inspections: () => Inspections) {
  const path = '/stackside/v1/inspections';
  return [
    route({
      ...family,
      path,
      operationId: 'getInspections',
      summary: 'Inspections of the index',
      description:
        'Returns the newest inspection of each kind with its progress and findings, null where none was started. Only the admin key may ask.',
      response: InspectionsState,
      handle: () => inspections().state(),
    }),
    route({
      ...family,
      refusals: { ...family.refusals, 409: 'An inspection is under way' },
      method: 'POST',
      path,
      operationId: 'startInspection',
      summary: 'Start an inspection of the index',
      description:
        'Starts to check the index as `stackside check` does, or to measure its tables. Both read the whole index in a process of their own with low priority. One inspection runs at a time. Only the admin key may start it.',
      body: Type.Object({ kind: words(...kinds) }),
      response: InspectionsState,
      handle({ body: { kind } }) {
        if (!inspections().start(kind))
          throw new ApiError(409, 'Another inspection is running; cancel it, or wait until it ends');
        return inspections().state();
      },
    }),
    route({
      ...family,
      refusals: { ...family.refusals, 409: 'No inspection is running' },
      method: 'DELETE',
      path,
      operationId: 'cancelInspection',
      summary: 'Cancel the inspection of the index',
      description: 'Ends the inspection that is under way. Only the admin key may do so.',
      response: InspectionsState,
      handle() {
        if (!inspections().cancel()) throw new ApiError(409, 'No inspection is running');
        return inspections().state();
      },
    }),
    digestRoute(family, (query) => inspections().digests(query)),
  ];
}
