/** Parts that were started one after the other and are to be stopped in the reverse order. */
export interface Closable {
  close(): Promise<void>;
}

/**
 * Stops every part, the last one first, and leaves the list empty. One that fails to stop keeps none of the
 * others running.
 * @throws the first failure, once all were asked to stop.
 */
export async function closeInReverse(parts: Closable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts.splice(0).toReversed()) {
    await part.close().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
