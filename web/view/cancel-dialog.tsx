/** Asks once more before a run is ended, and what of its tree is meant. */
import { useState } from 'preact/hooks';
import { post, wordsOf } from '../api/request.ts';
import type { RunDetail } from '../api/types.ts';
import { tell } from '../model/notices.ts';
import { plural } from '../model/words.ts';
import { closeDialog, Dialog } from './dialog.tsx';

interface CancelAnswer {
  readonly reached: number;
  readonly later: boolean;
}

export function CancelDialog({ run, onClose }: { readonly run: RunDetail; readonly onClose: () => void }) {
  const [isWhole, setWhole] = useState(false);
  const [reason, setReason] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const isRoot = run.root === run.handle;
  const below = run.subtree.runs - 1;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setSending(true);
    try {
      const handle = isWhole ? run.root : run.handle;
      const body = reason.trim() === '' ? {} : { reason: reason.trim() };
      const { reached, later } = await post<CancelAnswer>(`runs/${handle}/cancel`, body);
      tell(
        'good',
        `${plural(reached, 'run')} asked to end${later ? '; the rest as soon as a worker answers' : ''}`,
      );
      onClose();
    } catch (error) {
      setFault(wordsOf(error));
      setSending(false);
    }
  };
  return (
    <Dialog id="cancel-title" title="Cancel" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <fieldset>
          <legend>What shall end?</legend>
          <label class="check">
            <input type="radio" name="what" checked={!isWhole} onChange={() => setWhole(false)} />
            This run{below > 0 && ` and the ${plural(below, 'run')} below it`}
          </label>
          {!isRoot && (
            <label class="check">
              <input type="radio" name="what" checked={isWhole} onChange={() => setWhole(true)} />
              The whole tree that it belongs to, from its root
            </label>
          )}
        </fieldset>
        <label class="field">
          <span>Reason (kept with the run)</span>
          <input
            type="text"
            maxLength={1_000}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </label>
        {fault !== null && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <p class="hint">What has been done stays done; it cannot be taken up again.</p>
        <p class="actions">
          <button type="submit" class="danger" disabled={isSending}>
            End it
          </button>
          <button type="button" onClick={closeDialog}>
            Keep it running
          </button>
        </p>
      </form>
    </Dialog>
  );
}
