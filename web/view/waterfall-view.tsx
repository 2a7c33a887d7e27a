/** What a run did when, as bars on one time axis; the same in words for who does not see them. */
import { useState } from 'preact/hooks';
import type { RunDetail, Timeline } from '../api/types.ts';
import { useNow } from '../model/clock.ts';
import { linkToRun } from '../model/parse-route.ts';
import { isAtWork } from '../model/run-order.ts';
import { partWords, ticks, waterfallOf, type Bar, type Part, type Waterfall } from '../model/waterfall.ts';
import { duration } from '../model/words.ts';

/** Bars that are drawn at once: a long run has thousands. */
const mostBars = 150;

export function WaterfallView({ run, timeline }: { readonly run: RunDetail; readonly timeline: Timeline }) {
  const [most, setMost] = useState(mostBars);
  const nowMs = useNow();
  const waterfall = waterfallOf({
    spans: timeline.spans,
    children: run.children,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    earlierLeftOut: timeline.earlierLeftOut,
    // What an ended run left open ended with it.
    nowMs: isAtWork(run.status) ? nowMs : Date.parse(run.endedAt ?? run.startedAt),
  });
  const hidden = Math.max(0, waterfall.bars.length - most);
  const bars = waterfall.bars.slice(hidden);
  return (
    <section class="card" aria-labelledby="waterfall-title">
      <h3 id="waterfall-title">Timeline</h3>
      {timeline.earlierLeftOut && <p class="hint">Its newest part; what it did before is left out.</p>}
      {hidden > 0 && (
        <button type="button" onClick={() => setMost(most + mostBars * 4)}>
          Show {hidden} earlier
        </button>
      )}
      <div class="waterfall">
        <Axis waterfall={waterfall} />
        <Pauses waterfall={waterfall} />
        <ol aria-label="What it did, in the order of its start">
          {bars.map((bar) => (
            <BarRow key={bar.key} bar={bar} waterfall={waterfall} />
          ))}
        </ol>
      </div>
      <Legend bars={bars} />
    </section>
  );
}

function place({ startMs, endMs }: Pick<Part, 'startMs' | 'endMs'>, whole: Waterfall) {
  const length = whole.endMs - whole.startMs;
  return {
    insetInlineStart: `${(100 * (startMs - whole.startMs)) / length}%`,
    inlineSize: `${(100 * (endMs - startMs)) / length}%`,
  };
}

function Axis({ waterfall }: { readonly waterfall: Waterfall }) {
  const length = waterfall.endMs - waterfall.startMs;
  return (
    <div class="axis" aria-hidden="true">
      {ticks(length).map((at) => (
        <span key={at} style={{ insetInlineStart: `${(100 * at) / length}%` }}>
          {duration(at)}
        </span>
      ))}
    </div>
  );
}

function Pauses({ waterfall }: { readonly waterfall: Waterfall }) {
  const { pauses } = waterfall;
  if (pauses.length === 0) return null;
  const sum = pauses.reduce((total, { startMs, endMs }) => total + endMs - startMs, 0);
  return (
    <div class="bar-row pauses">
      <span class="bar-label">
        pauses <small>{duration(sum)} away from the engine</small>
      </span>
      <span class="track" aria-hidden="true">
        {pauses.map((part) => (
          <span key={part.startMs} class="part pause" style={place(part, waterfall)} />
        ))}
      </span>
    </div>
  );
}

function BarRow({ bar, waterfall }: { readonly bar: Bar; readonly waterfall: Waterfall }) {
  return (
    <li class={`bar-row ${bar.kind} ${bar.outcome}`} title={bar.words}>
      <span class="bar-label" aria-hidden={bar.handle === null}>
        {bar.handle === null ? bar.label : <a href={linkToRun(bar.handle)}>{bar.label}</a>}{' '}
        <small>{bar.note}</small>
      </span>
      <span class="track" aria-hidden="true">
        {bar.parts.map((part) => (
          <span
            key={part.kind}
            class={`part ${part.kind} ${bar.outcome === 'running' ? 'open' : ''}`}
            style={place(part, waterfall)}
          />
        ))}
      </span>
      <span class="bar-time" aria-hidden="true">
        {duration(bar.endMs - bar.startMs)}
      </span>
      <span class="unseen">{bar.words}</span>
    </li>
  );
}

function Legend({ bars }: { readonly bars: readonly Bar[] }) {
  const kinds = [...new Set(bars.flatMap(({ parts }) => parts.map(({ kind }) => kind)))];
  return (
    <p class="legend" aria-hidden="true">
      {kinds.map((kind) => (
        <span key={kind}>
          <span class={`part sample ${kind}`} /> {partWords[kind]}
        </span>
      ))}
    </p>
  );
}
