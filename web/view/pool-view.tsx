/** The pool: replicas with their load and residency, what is held, and what is at work on them. */
import { useEffect } from 'preact/hooks';
import { useNow } from '../model/clock.ts';
import { live, loadPool, policy, pool, toldAtMs } from '../model/pool.ts';
import { linkToRun } from '../model/parse-route.ts';
import { count, duration, plural } from '../model/words.ts';
import { ReplicaCard } from './replica-card.tsx';

const everyMs = 3_000;

export function PoolView() {
  useEffect(() => {
    void loadPool();
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void loadPool();
    }, everyMs);
    return () => clearInterval(timer);
  }, []);
  const now = pool.value;
  return (
    <section aria-labelledby="pool-title">
      <h2 id="pool-title">Pool</h2>
      {now === null ? (
        <p class="empty card" role="status">
          Not known yet.
        </p>
      ) : (
        <>
          <p class="run-line">
            {Object.entries(now.runsByPhase).map(([phase, many]) => (
              <span key={phase} class="chip">
                {many} {phase}
              </span>
            ))}
            <span class="chip">{plural(now.proxies, 'proxy', 'proxies')}</span>
            {policy.value !== null && (
              <span class="chip">
                admission {policy.value.admission}, fairness {policy.value.fairness}
              </span>
            )}
          </p>
          <div class="replicas">
            {now.replicas.map((replica) => (
              <ReplicaCard key={replica.id} replica={replica} />
            ))}
          </div>
          <Held />
          <LiveRuns />
        </>
      )}
    </section>
  );
}

function Held() {
  useNow();
  const held = pool.value?.held ?? [];
  const sinceMs = performance.now() - toldAtMs.value;
  return (
    <section class="card" aria-labelledby="held-title">
      <h3 id="held-title">Held turns</h3>
      {held.length === 0 ? (
        <p class="hint">None: every turn has room.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col">Caller</th>
              <th scope="col" class="number">
                Turns
              </th>
              <th scope="col" class="number">
                Oldest
              </th>
            </tr>
          </thead>
          <tbody>
            {held.map((entry) => (
              <tr key={`${entry.class} ${entry.caller}`}>
                <td>{entry.class}</td>
                <td>{entry.caller ?? 'others'}</td>
                <td class="number">{count(entry.turns)}</td>
                <td class="number">{duration(entry.oldestMs + sinceMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const mostShown = 100;

function LiveRuns() {
  const runs = live.value;
  return (
    <section class="card" aria-labelledby="live-title">
      <h3 id="live-title">At work on it</h3>
      {runs.length === 0 ? (
        <p class="hint">No run is live.</p>
      ) : (
        <div class="scroll" role="region" aria-labelledby="live-title" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Phase</th>
                <th scope="col">Caller</th>
                <th scope="col">Class</th>
                <th scope="col">Replica</th>
                <th scope="col" class="number">
                  Turns
                </th>
                <th scope="col" class="number">
                  Pauses
                </th>
              </tr>
            </thead>
            <tbody>
              {runs.slice(0, mostShown).map((run) => (
                <tr key={run.run}>
                  <th scope="row">
                    {/^run_[A-Za-z0-9]{22}$/.test(run.run) ? (
                      <a href={linkToRun(run.run)}>{run.run}</a>
                    ) : (
                      run.run
                    )}
                  </th>
                  <td>{run.phase}</td>
                  <td>{run.caller}</td>
                  <td>{run.class}</td>
                  <td>{run.replica ?? 'none'}</td>
                  <td class="number">{run.turns}</td>
                  <td class="number">{run.pauses}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {runs.length > mostShown && (
            <p class="hint">
              The latest {mostShown} of {runs.length}.
            </p>
          )}
        </div>
      )}
    </section>
  );
}
