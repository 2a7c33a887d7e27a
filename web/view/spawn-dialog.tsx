/** A form to start a run, by itself or below another one. */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { get, post, wordsOf } from '../api/request.ts';
import type { ToolListing } from '../api/types.ts';
import { tell } from '../model/notices.ts';
import { loadPool, pool } from '../model/pool.ts';
import { linkToRun } from '../model/parse-route.ts';
import { goTo } from '../model/route.ts';
import { emptyForm, newRequestId, spawnBody, type SpawnForm } from '../model/spawn-form.ts';
import { Dialog } from './dialog.tsx';
import { SpawnLimits } from './spawn-limits.tsx';
import { SpawnTools } from './spawn-tools.tsx';

/** null: closed. */
const opened = signal<{ readonly parent: string | null } | null>(null);

/** @param parent handle of the run that it shall belong to; null: none. */
export function openSpawn(parent: string | null): void {
  opened.value = { parent };
}

export function SpawnDialog() {
  if (opened.value === null) return null;
  return <SpawnFields parent={opened.value.parent} />;
}

interface Started {
  readonly handle: string;
  readonly notes: readonly string[];
}

function SpawnFields({ parent }: { readonly parent: string | null }) {
  const [form, setForm] = useState<SpawnForm>(emptyForm);
  const [requestId, setRequestId] = useState(newRequestId);
  const [fault, setFault] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const change = (part: Partial<SpawnForm>): void => {
    setForm((before) => ({ ...before, ...part }));
    // Another request than the one that was sent.
    setRequestId(newRequestId());
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setSending(true);
    setFault(null);
    try {
      const { handle, notes } = await post<Started>('runs', spawnBody(form, parent, requestId));
      for (const note of notes) tell('bad', note);
      opened.value = null;
      goTo(linkToRun(handle));
    } catch (error) {
      setFault(wordsOf(error));
      setSending(false);
    }
  };
  return (
    <Dialog
      id="spawn-title"
      title={parent === null ? 'Spawn a run' : 'Spawn below this run'}
      onClose={() => {
        opened.value = null;
      }}
    >
      <form class="spawn" onSubmit={(event) => void submit(event)}>
        <TaskFields form={form} onChange={change} />
        <Tools form={form} onChange={change} />
        <SpawnLimits form={form} onChange={change} />
        {fault !== null && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <p class="actions">
          <button type="submit" class="primary" disabled={isSending || form.task.trim() === ''}>
            {isSending ? 'Starting …' : 'Spawn'}
          </button>
        </p>
      </form>
    </Dialog>
  );
}

export interface PartProps {
  readonly form: SpawnForm;
  readonly onChange: (part: Partial<SpawnForm>) => void;
}

function TaskFields({ form, onChange }: PartProps) {
  useEffect(() => void loadPool(), []);
  const replicas = pool.value?.replicas.filter(({ kind }) => kind === 'generative') ?? [];
  const models = [...new Set(replicas.flatMap((replica) => replica.models))].toSorted();
  return (
    <>
      <label class="field wide">
        <span>Task</span>
        <textarea
          rows={4}
          required
          value={form.task}
          onInput={(event) => onChange({ task: event.currentTarget.value })}
        />
      </label>
      <div class="fields">
        <label class="field">
          <span>Model</span>
          <select value={form.model} onChange={(event) => onChange({ model: event.currentTarget.value })}>
            <option value="">first of the pool</option>
            {models.map((model) => (
              <option key={model} value={model}>
                {model}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Class</span>
          <select
            value={form.serviceClass}
            onChange={(event) =>
              onChange({ serviceClass: event.currentTarget.value === 'batch' ? 'batch' : 'interactive' })
            }
          >
            <option value="interactive">interactive: somebody waits</option>
            <option value="batch">batch: may yield to others</option>
          </select>
        </label>
      </div>
      <details>
        <summary>System prompt</summary>
        <label class="field wide">
          <span>System prompt</span>
          <textarea
            rows={3}
            value={form.system}
            onInput={(event) => onChange({ system: event.currentTarget.value })}
          />
        </label>
      </details>
    </>
  );
}

function Tools({ form, onChange }: PartProps) {
  const [listing, setListing] = useState<ToolListing | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  useEffect(() => {
    const ended = new AbortController();
    get<ToolListing>('tools', { signal: ended.signal }).then(setListing, (error: unknown) => {
      if (!ended.signal.aborted) setFault(wordsOf(error));
    });
    return () => ended.abort();
  }, []);
  if (fault !== null) return <p class="fault">The tools are not known: {fault}</p>;
  if (listing === null) return <p role="status">Reading the tools …</p>;
  return <SpawnTools form={form} onChange={onChange} listing={listing} />;
}
