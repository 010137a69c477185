/** Settings of the simulated node that `stackside demo` runs beside the server. */
import { Type } from '@sinclair/typebox';
import { group, setting } from './setting.ts';
import { integer, yesOrNo } from './values.ts';

export const simulatedNodeSettings = group('Simulated node', {
  seed: setting({
    commands: ['demo'],
    flag: '--seed <number>',
    variables: ['STACKSIDE_DEMO_SEED'],
    type: Type.Integer({ minimum: 0, default: 1 }),
    read: integer,
    help: 'Seed of the simulated chain',
    accepts: 'a number from 0 on',
  }),
  interval: setting({
    commands: ['demo'],
    flag: '--interval <seconds>',
    variables: ['STACKSIDE_DEMO_INTERVAL'],
    type: Type.Integer({ minimum: 0, maximum: 3_600, default: 5 }),
    read: integer,
    help: 'Time between two blocks; 0 mines only what POST /devnet/mine asks for, and lets time pass only on the chain',
    accepts: 'a number of seconds from 0 to 3600',
  }),
  history: setting({
    commands: ['demo'],
    flag: '--history <blocks>',
    variables: ['STACKSIDE_DEMO_HISTORY'],
    type: Type.Integer({ minimum: 1, maximum: 100_000, default: 100 }),
    read: integer,
    help: 'Blocks that the simulated chain has from the start',
    accepts: 'a number from 1 to 100000',
  }),
  traffic: setting({
    commands: ['demo'],
    flag: '--traffic <number>',
    variables: ['STACKSIDE_DEMO_TRAFFIC'],
    type: Type.Integer({ minimum: 0, maximum: 200, default: 10 }),
    read: integer,
    help: 'Average number of transactions that simulated users send for each block',
    accepts: 'a number from 0 to 200',
  }),
  pox5Height: setting({
    commands: ['demo'],
    flag: '--pox-5-height <height>',
    variables: ['STACKSIDE_DEMO_POX_5_HEIGHT'],
    type: Type.Union([Type.Null(), Type.Integer({ minimum: 0, maximum: 1_000_000_000 })], { default: null }),
    read: integer,
    absent: 'pox-4 stays active',
    help: 'Bitcoin height from which pox-5 is active in place of pox-4; the simulated chain begins at 214',
    accepts: 'a height from 0 on',
  }),
  untilStdinEnds: setting({
    commands: ['demo'],
    flag: '--until-stdin-ends',
    variables: ['STACKSIDE_DEMO_UNTIL_STDIN_ENDS'],
    type: Type.Boolean({ default: false }),
    read: yesOrNo,
    help: 'End when stdin ends, so that the demo never outlives the program that started it',
    accepts: 'true or false',
  }),
});
