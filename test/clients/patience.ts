/**
 * How an agent takes a long await: a minute and a half without a person and without a setting, and half a minute at
 * a terminal, where it is written down what the screen shows meanwhile.
 */
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import type { ClientResult } from './client-result.ts';
import { count, drive, endBars } from './fleet.ts';
import type { Driven, DriveOptions } from './fleet.ts';
import type { FleetClient } from './fleet-clients.ts';
import { patienceScript } from './fleet-script.ts';
import { ProgressWords } from './progress-words.ts';

const plainSeconds = 90;
/** Long enough for three reports of progress. */
const personSeconds = 35;

const task = 'Have a sub-agent wait.';

function waitBars(name: string, seconds: number, driven: Driven): Bar[] {
  const { tapped } = driven;
  const awaits = tapped.calls.filter(({ tool }) => tool === 'await');
  const answered = count(awaits, ({ tookMs, isError }) => tookMs !== null && !isError);
  return [
    bar(`${name} awaits`, awaits.length, '=', 1),
    bar(`${name} awaits that were answered`, answered, '=', 1),
    bar(`${name} seconds of its await`, Math.round((awaits[0]?.tookMs ?? 0) / 1_000), '>=', seconds - 5),
    bar(`${name} calls taken back`, tapped.cancelled, '=', 0),
    ...endBars(name, driven),
  ];
}

/** @param showsProgress whether its screen is known to show the words of our reports. */
export async function drivePatience(
  client: FleetClient,
  showsProgress: boolean,
  options: DriveOptions,
): Promise<ClientResult> {
  const common = { client, task, formToCome: false };
  const plain = await drive({ ...common, variant: 'plain', script: patienceScript(plainSeconds) }, options);
  const words = new ProgressWords();
  const person = await drive(
    {
      ...common,
      variant: 'person',
      script: patienceScript(personSeconds),
      looked: (lines, awaiting) => words.look(lines, awaiting),
    },
    options,
  );
  const name = `${client.name} patience`;
  const atTerminal = `${name} (person)`;
  const bars = [
    ...waitBars(name, plainSeconds, plain),
    ...waitBars(atTerminal, personSeconds, person),
    bar(`${atTerminal} reports of progress`, person.tapped.progressSent, '>=', 3),
    bar(`${atTerminal} our words on its screen`, words.ours.length > 0 ? 1 : 0, '=', showsProgress ? 1 : 0),
  ];
  const report = [
    `${client.name} at a terminal, while it waited ${personSeconds} s:`,
    ...words.lastScreen.map((line) => `  | ${line}`),
    words.ours.length === 0 ? 'None of our words of progress.' : 'Our words of progress on it:',
    ...words.ours.map((line) => `  ${line}`),
  ];
  const seen = {
    plain: { ...plain.seen, tapped: plain.tapped },
    person: { ...person.seen, tapped: person.tapped, screen: words.lastScreen, words: words.ours },
  };
  return { bars, ended: [plain.ended, person.ended], seen, report };
}
