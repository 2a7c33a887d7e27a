/** Verbs that only look: status, tree, transcript, tools, decide. */
import { setTimeout as delay } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { exitCodes, CommandFault } from '../exit-codes.ts';
import { poolText, runDetail, runList, transcriptText, treeText } from '../output/run-text.ts';
import { alignColumns, oneLine } from '../output/text.ts';
import type { TranscriptEntry } from '../server/api-client.ts';
import { deskOf, type CommonOptions, type Desk, type Verb } from './verb.ts';

interface StatusOptions extends CommonOptions {
  readonly handle?: string | undefined;
  readonly watch?: boolean | undefined;
  readonly status?: string | undefined;
  readonly text?: string | undefined;
  readonly limit: number;
}

export const statusVerb: Verb<StatusOptions> = {
  command: 'status [handle]',
  describe: 'The pool and the latest runs, or one run',
  options: (yargs) =>
    yargs
      .positional('handle', { type: 'string', describe: 'a run' })
      .option('watch', { type: 'boolean', alias: 'w', describe: 'again after each change, until Ctrl-C' })
      .option('status', { type: 'string', describe: 'only runs like this: Running,Failed' })
      .option('text', { type: 'string', describe: 'only runs with this in the first line of the task' })
      .option('limit', { type: 'number', default: 20, describe: 'most runs, up to 200' }),
  async run(args, world) {
    const desk = deskOf(args, world);
    const look = async (): Promise<void> => await showStatus(args, desk);
    await look();
    if (args.watch === true) await watch(desk, look);
    return exitCodes.ok;
  },
};

async function showStatus(args: StatusOptions, { api, printer, world }: Desk): Promise<void> {
  const paint = printer.style;
  if (args.handle !== undefined) {
    const run = await api.run(args.handle);
    printer.answer(run, () => runDetail(run, paint, world.nowMs()));
    return;
  }
  // A scheduler that is down hides the pool, not the runs.
  const [pool, { runs, nextCursor }] = await Promise.all([
    api.pool().catch((error: unknown) => {
      if (error instanceof CommandFault) return error.message;
      throw error;
    }),
    api.runs({ status: args.status, text: args.text, limit: String(args.limit) }),
  ]);
  const poolFault = typeof pool === 'string' ? pool : null;
  printer.answer({ pool: typeof pool === 'string' ? null : pool, poolFault, runs, nextCursor }, () =>
    [
      typeof pool === 'string' ? paint('red', `the pool is not known: ${pool}`) : poolText(pool, paint),
      '',
      runList(runs, paint, world.nowMs()),
    ].join('\n'),
  );
}

const clearScreen = '\x1b[2J\x1b[H';
/** Changes come in bursts; a person reads one picture a second. */
const quietMs = 500;
const betweenStreamsMs = 1_000;

/** Looks again after each burst of events, and asks for the next stream when one has ended. */
async function watch({ api, printer, world }: Desk, look: () => Promise<void>): Promise<void> {
  const { interrupted } = world;
  let due: NodeJS.Timeout | null = null;
  const stop = new AbortController();
  const signal = AbortSignal.any([interrupted, stop.signal]);
  const lookSoon = (): void => {
    due ??= setTimeout(() => {
      due = null;
      if (!printer.json) world.stdout.write(clearScreen);
      look().catch((error: unknown) => stop.abort(error));
    }, quietMs);
  };
  try {
    while (!signal.aborted) {
      const { body } = await api.events(signal);
      if (body === null) return;
      const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
      for await (const { event } of events) if (event !== 'ready') lookSoon();
      // The server ends a stream after a while; one that it ends at once is not asked for without a pause.
      await delay(betweenStreamsMs, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (due !== null) clearTimeout(due);
  }
  stop.signal.throwIfAborted();
}

interface HandleOptions extends CommonOptions {
  readonly handle: string;
}

export const treeVerb: Verb<HandleOptions> = {
  command: 'tree <handle>',
  describe: 'The tree a run belongs to, with what each part of it has used',
  options: (yargs) =>
    yargs.positional('handle', { type: 'string', demandOption: true, describe: 'a run of it' }),
  async run(args, world) {
    const { api, printer } = deskOf(args, world);
    const tree = await api.tree(args.handle);
    printer.answer(tree, () => treeText(tree, printer.style, world.nowMs()));
    return exitCodes.ok;
  },
};

export const transcriptVerb: Verb<HandleOptions & { readonly full?: boolean | undefined }> = {
  command: 'transcript <handle>',
  describe: 'The messages of a run',
  options: (yargs) =>
    yargs
      .positional('handle', { type: 'string', demandOption: true, describe: 'the run' })
      .option('full', { type: 'boolean', describe: 'long entries are not cut' }),
  async run(args, world) {
    const { api, printer } = deskOf(args, world);
    const entries: TranscriptEntry[] = [];
    // Bounded: a transcript has at most some thousand entries, and each page some.
    for (let offset: number | null = 0; offset !== null;) {
      const page = await api.transcript(args.handle, offset, args.full === true);
      entries.push(...page.entries);
      offset = page.nextOffset;
    }
    printer.answer({ handle: args.handle, entries }, () => transcriptText(entries, printer.style));
    return exitCodes.ok;
  },
};

export const toolsVerb: Verb<CommonOptions> = {
  command: 'tools',
  describe: 'The tools that runs can use',
  options: (yargs) => yargs,
  async run(args, world) {
    const { api, printer } = deskOf(args, world);
    const listing = await api.tools();
    printer.answer(listing, () =>
      alignColumns(
        listing.tools.map(({ name, annotations, description }) => [
          name,
          annotations.readOnlyHint === true
            ? 'reads'
            : annotations.destructiveHint === true
              ? 'asks first'
              : '',
          oneLine(description, 80),
        ]),
      ).join('\n'),
    );
    for (const warning of listing.warnings) printer.note(`warning: ${warning}`);
    return exitCodes.ok;
  },
};

interface DecideOptions extends CommonOptions {
  readonly input: string;
  readonly labels?: string | undefined;
  readonly model?: string | undefined;
}

export const decideVerb: Verb<DecideOptions> = {
  command: 'decide <input>',
  describe: 'Classify a text in one short model step',
  options: (yargs) =>
    yargs
      .positional('input', { type: 'string', demandOption: true, describe: 'the text' })
      .option('labels', { type: 'string', describe: 'what it may be, with commas between' })
      .option('model', { type: 'string', describe: 'a model of the pool' }),
  async run({ input, labels, model, ...args }, world) {
    const { api, printer } = deskOf(args, world);
    const decided = await api.decide({
      input,
      ...(labels === undefined ? {} : { labels: labels.split(',').map((label) => label.trim()) }),
      ...(model === undefined ? {} : { model }),
    });
    printer.answer(decided, () => {
      const rows = Object.entries(decided.probabilities)
        .toSorted(([, a], [, b]) => b - a)
        .map(([label, value]) => [
          label === decided.label ? printer.style('bold', label) : label,
          value.toFixed(3),
        ]);
      return alignColumns(rows).join('\n');
    });
    return exitCodes.ok;
  },
};
