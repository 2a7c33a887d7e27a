/** A dialog over the page, by the browser's own: it keeps the focus, and Escape closes it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** Closes the dialog that the element of the event stands in; the focus goes back to where it came from. */
export function closeDialog(event: Event): void {
  if (event.currentTarget instanceof Element) event.currentTarget.closest('dialog')?.close();
}

interface DialogProps {
  readonly id: string;
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Open for as long as it is rendered. */
export function Dialog({ id, title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" onClick={closeDialog}>
          <span aria-hidden="true">×</span>
          <span class="unseen">Close</span>
        </button>
      </header>
      {children}
    </dialog>
  );
}
