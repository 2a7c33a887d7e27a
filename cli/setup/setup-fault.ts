/** Something that set-up needs is not there; the message is one readable line that says what to do. */
export class SetupFault extends Error {
  override readonly name = 'SetupFault';
}

/** Told one line at each step that takes more than a moment. */
export type Progress = (line: string) => void;
