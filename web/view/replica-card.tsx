/** One replica: whether it is well, how loaded it is, and whose contexts are in its memory. */
import type { Replica } from '../api/types.ts';
import { count } from '../model/words.ts';

const refusals: Readonly<Record<string, string>> = {
  places: 'its places are taken',
  engine_queue: 'its own queue is not empty',
  memory: 'its memory is kept for runs that come back',
};

export function ReplicaCard({ replica }: { readonly replica: Replica }) {
  const { id, healthy, residency, inFlight, limit } = replica;
  const health = healthy === null ? 'not probed yet' : healthy ? 'healthy' : 'not healthy';
  const seen = residency.hits + residency.misses;
  return (
    <section class="card replica" aria-labelledby={`replica-${id}`}>
      <h3 id={`replica-${id}`}>
        {id}{' '}
        <span class={healthy === true ? 'health good' : healthy === false ? 'health bad' : 'health'}>
          {health}
        </span>
      </h3>
      <p class="hint">
        {[replica.engine, replica.kind, replica.models.join(', '), replica.url ?? '']
          .filter((text) => text !== '')
          .join(' · ')}
      </p>
      <Meter name="In flight" used={inFlight} limit={limit} id={id} />
      <Meter
        name="Residency"
        used={residency.tokens}
        limit={residency.capacityTokens}
        id={id}
        unit=" tokens"
      />
      <dl class="facts">
        <Fact
          name="Resident runs"
          value={
            residency.capacityContexts === null
              ? count(residency.residents)
              : `${count(residency.residents)} of ${count(residency.capacityContexts)}`
          }
        />
        <Fact name="Paused interactive" value={count(replica.pausedInteractive)} />
        <Fact name="Engine runs" value={replica.running === null ? 'not told' : count(replica.running)} />
        <Fact name="Engine queue" value={replica.waiting === null ? 'not told' : count(replica.waiting)} />
        <Fact
          name="Resumed in cache"
          value={seen === 0 ? 'none yet' : `${Math.round((100 * residency.hits) / seen)} % of ${count(seen)}`}
        />
      </dl>
      {replica.refuses !== null && (
        <p class="fault">A turn is held: {refusals[replica.refuses] ?? replica.refuses}.</p>
      )}
    </section>
  );
}

interface MeterProps {
  readonly id: string;
  readonly name: string;
  readonly used: number;
  /** null: not limited. */
  readonly limit: number | null;
  readonly unit?: string;
}

function Meter({ id, name, used, limit, unit = '' }: MeterProps) {
  const label = `meter-${id}-${name.replaceAll(' ', '-')}`;
  const text = `${count(used)}${limit === null ? '' : ` of ${count(limit)}`}${unit}`;
  return (
    <div class="budget">
      <span id={label}>{name}</span>
      {limit === null ? (
        <span class="hint">not limited</span>
      ) : (
        <div
          class={used >= limit * 0.9 ? 'meter high' : 'meter'}
          role="meter"
          aria-labelledby={label}
          aria-valuemin={0}
          aria-valuemax={limit}
          aria-valuenow={Math.min(used, limit)}
          aria-valuetext={text}
        >
          <span style={{ inlineSize: `${limit === 0 ? 100 : Math.min(100, (100 * used) / limit)}%` }} />
        </div>
      )}
      <span class="number">{text}</span>
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
