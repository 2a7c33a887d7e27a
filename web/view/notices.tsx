/** Words about what has just been done. */
import { dismiss, notices } from '../model/notices.ts';

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, kind, words }) => (
        <p key={id} class={`notice ${kind}`}>
          {words}
          <button type="button" class="quiet" onClick={() => dismiss(id)}>
            <span aria-hidden="true">×</span>
            <span class="unseen">Dismiss</span>
          </button>
        </p>
      ))}
    </div>
  );
}
