/** All calls that wait for a decision. */
import { fault, loadApprovals, moreWait, open } from '../model/approvals.ts';
import { ApprovalCard } from './approval-card.tsx';

export function ApprovalsView() {
  const waiting = [...open.value.values()];
  return (
    <section aria-labelledby="approvals-title">
      <h2 id="approvals-title">Approvals</h2>
      {fault.value !== null && (
        <p class="banner" role="alert">
          They could not be read: {fault.value}{' '}
          <button type="button" onClick={() => void loadApprovals()}>
            Try again
          </button>
        </p>
      )}
      {waiting.length === 0 && fault.value === null && <p class="empty card">Nothing waits for you.</p>}
      {waiting.map((one) => (
        <ApprovalCard key={one.approval.id} open={one} showRun onDecided={() => undefined} />
      ))}
      {moreWait.value && <p class="hint">More runs wait; they come up as these are decided.</p>}
    </section>
  );
}
