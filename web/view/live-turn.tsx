/** What the model of a run writes at this moment, as far as its worker can be asked. */
import { useEffect, useState } from 'preact/hooks';
import type { LiveTurnState } from '../model/live-text.ts';
import { followTurn } from '../model/live-turn.ts';
import { visible } from '../model/visible-text.ts';

interface LiveTurnProps {
  readonly handle: string;
  /** Another turn has begun, or the one at work has ended. */
  readonly onTurn: () => void;
}

export function LiveTurn({ handle, onTurn }: LiveTurnProps) {
  const [now, setNow] = useState<LiveTurnState | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    void followTurn(handle, { onState: setNow, onTurn }, ended.signal);
    return () => ended.abort();
  }, [handle]);
  if (now === null) return null;
  return (
    <div class="message assistant live">
      <h4>
        Model, turn {now.turn} <span class="dot" aria-hidden="true" /> {phases[now.phase]}
      </h4>
      {now.text !== '' && <pre class="text">{visible(now.text)}</pre>}
      {now.calls.length > 0 && <p>writes calls of {now.calls.join(', ')}</p>}
    </div>
  );
}

const phases = { asked: 'held, or reading its prompt', writing: 'writing' } as const;
