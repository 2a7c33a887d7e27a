/** What was said in a run: its messages, tool calls with their results, and what the model writes now. */
import { useEffect, useState } from 'preact/hooks';
import type { RunDetail, TranscriptEntry } from '../api/types.ts';
import type { RunPageModel } from '../model/run-page.ts';
import { isAtWork } from '../model/run-order.ts';
import { TranscriptModel } from '../model/transcript.ts';
import { readableJson, visible } from '../model/visible-text.ts';
import { bytes } from '../model/words.ts';
import { LiveTurn } from './live-turn.tsx';

export function TranscriptView({ run, model }: { readonly run: RunDetail; readonly model: RunPageModel }) {
  const [transcript] = useState(() => new TranscriptModel(run.handle));
  const version = model.version.value;
  useEffect(() => void transcript.follow(), [version]);
  const entries = transcript.entries.value;
  const total = transcript.total.value ?? 0;
  const first = entries[0]?.index ?? 0;
  const left = total - (entries.at(-1)?.index ?? -1) - 1;
  return (
    <section class="card transcript" aria-labelledby="transcript-title">
      <h3 id="transcript-title">Transcript</h3>
      {transcript.fault.value !== null && (
        <p class="fault" role="alert">
          {transcript.fault.value}{' '}
          <button type="button" onClick={() => void transcript.follow()}>
            Try again
          </button>
        </p>
      )}
      {first > 0 && (
        <button type="button" onClick={() => void transcript.earlier()}>
          Show earlier ({first})
        </button>
      )}
      <ol class="messages" aria-busy={transcript.loading.value}>
        {entries.map((entry) => (
          <Message key={entry.index} entry={entry} onWhole={() => void transcript.whole(entry.index)} />
        ))}
      </ol>
      {left > 0 && total > 0 && (
        <p class="actions">
          <button type="button" onClick={() => void transcript.more()}>
            Show more ({left})
          </button>
          <button type="button" onClick={() => void transcript.newest()}>
            Go to the newest
          </button>
        </p>
      )}
      {isAtWork(run.status) && <LiveTurn handle={run.handle} onTurn={() => model.refresh()} />}
    </section>
  );
}

const roles = { system: 'System', user: 'Task', assistant: 'Model', tool: 'Tool result' } as const;

function Message({ entry, onWhole }: { readonly entry: TranscriptEntry; readonly onWhole: () => void }) {
  const { role, content, toolCalls, images } = entry;
  const body = content === null ? null : <pre class="text">{visible(content)}</pre>;
  const isLong = role === 'tool' && (content?.length ?? 0) > 600;
  return (
    <li class={`message ${role}`}>
      <h4>{roles[role]}</h4>
      {isLong ? (
        <details>
          <summary>{visible((content ?? '').slice(0, 120))} …</summary>
          {body}
        </details>
      ) : (
        body
      )}
      {toolCalls.map((call) => (
        <div key={call.id} class="call">
          <p>
            calls <code>{call.name}</code>
          </p>
          <pre tabIndex={0} role="group" aria-label={`Arguments of ${call.name}`}>
            {readableJson(call.arguments)}
          </pre>
        </div>
      ))}
      {images.map((image, at) => (
        <p key={at} class="hint">
          Image, {image.mimeType}, {bytes(image.bytes)}
        </p>
      ))}
      {entry.cutFromBytes !== null && (
        <button type="button" onClick={onWhole}>
          Show all {bytes(entry.cutFromBytes)}
        </button>
      )}
    </li>
  );
}
