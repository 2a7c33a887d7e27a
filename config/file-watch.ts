/**
 * Tells that a file may have changed: written in place, replaced by rename as editors do, exchanged behind
 * a symbolic link as Kubernetes does with config maps, deleted, or there again. By its state, which is
 * looked at, not by events: those follow a file's old inode, and do not come from network mounts. Whether
 * the content is another one is up to whoever reads it.
 */
import { stat } from 'node:fs/promises';

export interface FileWatch {
  close(): void;
}

export interface FileWatchOptions {
  /** Milliseconds from one look to the next. */
  readonly everyMs: number;
  /**
   * Called once for each change, when two looks in a row have found the same: who writes has finished by
   * then. While it never stays the same, called after every `longestUnsettledLooks` looks.
   */
  readonly onChange: () => void;
}

const longestUnsettledLooks = 4;

/** The first look is taken before this resolves, so that no change after it is missed. */
export async function watchFileState(path: string, options: FileWatchOptions): Promise<FileWatch> {
  const { everyMs, onChange } = options;
  let told = await stateOf(path);
  let last = told;
  let unsettledLooks = 0;
  let closed = false;
  const look = async (): Promise<void> => {
    const now = await stateOf(path);
    if (closed) return;
    const settled = now === last;
    last = now;
    if (now !== told || unsettledLooks > 0) {
      unsettledLooks += 1;
      if (settled || unsettledLooks >= longestUnsettledLooks) {
        unsettledLooks = 0;
        told = now;
        onChange();
      }
    }
    lookLater();
  };
  const lookLater = (): void => {
    // Looking keeps no process alive.
    timer = setTimeout(() => void look(), everyMs);
    timer.unref();
  };
  let timer: NodeJS.Timeout;
  lookLater();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** What changes with every change of the file that a link ends at. Never rejects. */
async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}
