/** Blocks in charts: of the last hour, and by day. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { secondsBetween } from '../../chain/chart.ts';
import { count, duration } from '../../chain/format.ts';
import { Chart } from '../../ui/chart.tsx';
import { Panel, Show } from '../../ui/parts.tsx';

const TOO_FEW = 'A chart needs two blocks of one hour.';

/** Times and sizes of the blocks of the last hour. */
export function HourCharts() {
  const hour = useAnswer(
    'last hour',
    (signal) => bodyOf(api.GET('/stackside/v1/blocks/last-hour', { signal })),
    tipVersion.value,
  );
  const source = '/stackside/v1/blocks/last-hour';
  return (
    <div class="columns">
      <Panel title="Block times" source={source}>
        <Show loaded={hour}>
          {({ blocks }) => (
            <Chart
              label="Seconds between blocks in the last hour"
              times={blocks.map(({ time }) => time)}
              series={[
                {
                  name: 'Since the block before',
                  colour: 'accent',
                  values: secondsBetween(blocks.map(({ time }) => time)),
                },
              ]}
              format={duration}
              steps="seconds"
              empty={TOO_FEW}
            />
          )}
        </Show>
      </Panel>
      <Panel title="Transactions a block" source={source}>
        <Show loaded={hour}>
          {({ blocks }) => (
            <Chart
              label="Transactions of each block in the last hour"
              times={blocks.map(({ time }) => time)}
              series={[{ name: 'Transactions', colour: 'ok', values: blocks.map(({ transactions }) => transactions) }]}
              format={count}
              steps="whole"
              empty={TOO_FEW}
            />
          )}
        </Show>
      </Panel>
    </div>
  );
}

/** Blocks and transactions of each day. */
export function DayCharts() {
  const loaded = useAnswer(
    'days',
    (signal) => bodyOf(api.GET('/stackside/v1/blocks/days', { signal })),
    tipVersion.value,
  );
  return (
    <Panel title="By day" source="/stackside/v1/blocks/days">
      <Show loaded={loaded}>
        {({ days }) => (
          <div class="columns">
            {(
              [
                ['Transactions', 'ok', days.map(({ transactions }) => transactions)],
                ['Blocks', 'accent', days.map(({ blocks }) => blocks)],
              ] as const
            ).map(([name, colour, values]) => (
              <Chart
                key={name}
                label={`${name} of each day`}
                times={days.map(({ start }) => start)}
                series={[{ name, colour, values }]}
                format={count}
                steps="whole"
                scale="days"
                bars
                empty="No block has arrived yet."
              />
            ))}
          </div>
        )}
      </Show>
    </Panel>
  );
}
