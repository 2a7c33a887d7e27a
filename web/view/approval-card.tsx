/** A tool call that waits: exactly what is asked, and the two answers. Allowing needs to have seen all of it. */
import { useEffect, useState } from 'preact/hooks';
import { wordsOf } from '../api/request.ts';
import { answers, decide, sending, wholeApproval, type OpenApproval } from '../model/approvals.ts';
import { tell } from '../model/notices.ts';
import { linkToRun } from '../model/parse-route.ts';
import { readableJson, visible } from '../model/visible-text.ts';

interface ApprovalCardProps {
  readonly open: OpenApproval;
  readonly showRun: boolean;
  readonly onDecided: () => void;
}

type Shown =
  | { readonly kind: 'reading' }
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'gone' }
  | { readonly kind: 'fault'; readonly words: string };

export function ApprovalCard({ open, showRun, onDecided }: ApprovalCardProps) {
  const { handle, task, caller, approval } = open;
  const [shown, setShown] = useState<Shown>({ kind: 'reading' });
  const read = async (): Promise<void> => {
    try {
      const whole = await wholeApproval(handle, approval.id);
      setShown(whole === null ? { kind: 'gone' } : { kind: 'whole', text: whole.arguments });
    } catch (error) {
      setShown({ kind: 'fault', words: wordsOf(error) });
    }
  };
  useEffect(() => void read(), [approval.id]);
  const answer = async (allow: boolean): Promise<void> => {
    await decide(handle, approval.id, allow);
    const now = answers.peek().get(approval.id);
    if (now !== undefined) tell(now.kind === 'accepted' ? 'good' : 'bad', now.words);
    onDecided();
  };
  const isSending = sending.value.has(approval.id);
  const became = answers.value.get(approval.id);
  const isAnswered = became !== undefined && became.kind !== 'failed';
  const title = `approval-${approval.id}`;
  return (
    <section class="card approval" aria-labelledby={title}>
      <h3 id={title}>
        <code>{visible(approval.tool)}</code> waits for your approval
      </h3>
      {showRun && (
        <p>
          Run <a href={linkToRun(handle)}>{task === '' ? handle : task}</a>
          {caller !== null && ` of ${caller}`}
        </p>
      )}
      <p class="hint" id={`${title}-what`}>
        The call is made once, with exactly these arguments:
      </p>
      <Arguments shown={shown} labelledBy={`${title}-what`} onAgain={() => void read()} />
      <p class="actions">
        <button
          type="button"
          class="primary"
          disabled={isSending || isAnswered || shown.kind !== 'whole'}
          aria-describedby={title}
          onClick={() => void answer(true)}
        >
          Allow
        </button>
        <button
          type="button"
          class="danger"
          disabled={isSending || isAnswered}
          aria-describedby={title}
          onClick={() => void answer(false)}
        >
          Decline
        </button>
      </p>
    </section>
  );
}

interface ArgumentsProps {
  readonly shown: Shown;
  readonly labelledBy: string;
  readonly onAgain: () => void;
}

function Arguments({ shown, labelledBy, onAgain }: ArgumentsProps) {
  switch (shown.kind) {
    case 'reading':
      return <p role="status">Reading …</p>;
    case 'whole':
      return (
        <pre class="arguments" tabIndex={0} role="region" aria-labelledby={labelledBy}>
          {readableJson(shown.text)}
        </pre>
      );
    case 'gone':
      return <p role="status">It waits no more: it was decided, or its run has ended.</p>;
    case 'fault':
      return (
        <p class="fault" role="alert">
          {shown.words}{' '}
          <button type="button" onClick={onAgain}>
            Try again
          </button>
        </p>
      );
    default:
      return shown satisfies never;
  }
}
