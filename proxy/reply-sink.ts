/** Where a relayed reply goes: to the client as it comes, or into memory to be translated first. */
export interface ReplySink {
  /** Replaces what happens when the client leaves; runs it at once if it has. */
  onGone(listener: () => void): void;
  /** @param pairs name, value, name, value, … */
  writeHead(status: number, pairs: readonly string[]): void;
  /** @returns false when nothing more must be written before `onDrain`. */
  write(bytes: Uint8Array, onDrain: () => void, onStall: () => void): boolean;
  end(): void;
  destroy(): void;
}
