/**
 * What a person presses, in each of the four agents: the task once the agent is ready for it, a yes to the form
 * where one is to come, and goodbye after the last answer. Knows nothing of what is judged.
 */
import { lastText } from './fleet-script.ts';
import type { KeyStep } from './terminal-process.ts';
import { withoutBlanks } from './terminal-screen.ts';

export interface PersonSession {
  readonly task: string;
  /** Whether it has asked our server for its tools and got them. */
  readonly toolsListed: () => boolean;
  /** Whether the agent will show a form. */
  readonly formToCome: boolean;
}

const enter = '\r';
const ctrlC = '\u0003';
const up = '\u001B[A';
const down = '\u001B[B';

const shows =
  (...texts: string[]): KeyStep['when'] =>
  (shown) =>
    texts.every((text) => shown.includes(withoutBlanks(text)));

/** Types the task when the screen says so and the tools are there: a model asked before would not know them. */
const typed = ({ task, toolsListed }: PersonSession, ready: string): KeyStep[] => [
  { when: (shown) => shows(ready)(shown) && toolsListed(), keys: task, afterMs: 1_000 },
  { when: shows(task), keys: enter },
];

/** Ticks the box and goes to Accept. */
const claudeForm: KeyStep[] = [
  { when: shows('requests your input', 'Space to toggle'), keys: ' ', afterMs: 1_000 },
  { when: shows('☒'), keys: down },
  { when: shows('❯Accept'), keys: enter },
];

export const claudeKeys = (session: PersonSession): KeyStep[] => [
  ...typed(session, '? for shortcuts'),
  ...(session.formToCome ? claudeForm : []),
  { when: shows(lastText), keys: ctrlC, afterMs: 1_000 },
  { when: shows('again to exit'), keys: ctrlC },
];

/** Its form begins with a no, as ours does: "False", below "True". */
const codexForm: KeyStep[] = [
  { when: shows('› 2. False', 'enter to submit'), keys: up, afterMs: 1_000 },
  { when: shows('› 1. True', 'enter to submit'), keys: enter },
];

/** It is given its task when it is started. */
export const codexKeys = ({ formToCome }: PersonSession): KeyStep[] => [
  ...(formToCome ? codexForm : []),
  { when: shows(lastText), keys: ctrlC, afterMs: 1_000 },
  { when: shows('again to'), keys: ctrlC },
];

export const openCodeKeys = (session: PersonSession): KeyStep[] => [
  ...typed(session, 'Ask anything'),
  { when: shows(lastText), keys: ctrlC, afterMs: 1_000 },
];

export const geminiKeys = (session: PersonSession): KeyStep[] => [
  ...typed(session, 'Type your message'),
  { when: shows(lastText), keys: ctrlC, afterMs: 1_000 },
  { when: shows('again to exit'), keys: ctrlC },
];
