/**
 * How the list of tools is told to a model (by server, name and what it does; schemas stay with the
 * runs), and how a decision is. Pure.
 */
import type { DecideResponse } from '../../contracts/decide.ts';
import type { ListedTool, ToolListing } from '../../contracts/tool-listing.ts';
import { answerBytes, cutMiddle, cutTogether } from '../runs/fair-cut.ts';
import type { ToolAnswer } from './run-text.ts';

const descriptionBytes = 600;
/** Warnings that are told, and what they take together. */
const shownWarnings = 20;
const warningBytes = 8_000;

function hints({ annotations }: ListedTool): string {
  const said = [
    ...(annotations.readOnlyHint === true ? ['reads only'] : []),
    ...(annotations.destructiveHint === true && annotations.readOnlyHint !== true ? ['destructive'] : []),
  ];
  return said.length === 0 ? '' : ` [${said.join(', ')}]`;
}

/** What `tools` tells of a tool beside its description, as structured content. */
function named({ name, server, annotations }: ListedTool) {
  return { name, server, description: '', annotations };
}

/** How many of the first tools fit `bytes` without their descriptions, and the bytes they take. */
function fitting(
  tools: readonly ListedTool[],
  bytes: number,
): { readonly count: number; readonly used: number } {
  let used = 0;
  for (const [count, tool] of tools.entries()) {
    const size = Buffer.byteLength(JSON.stringify(named(tool)));
    if (used + size > bytes) return { count, used };
    used += size;
  }
  return { count: tools.length, used };
}

/** With very many tools the descriptions get shorter, so that no name is left out while names fit. */
export function tellTools({ tools, warnings: all }: ToolListing): ToolAnswer {
  const { count, used } = fitting(tools, answerBytes);
  const perTool = Math.min(descriptionBytes, Math.floor((answerBytes - used) / Math.max(1, count)));
  const shown = tools.slice(0, count).map((tool) => ({
    ...named(tool),
    description: perTool < 150 ? '' : cutMiddle(tool.description, perTool),
  }));
  const warnings = [
    ...cutTogether(all.slice(0, shownWarnings), warningBytes),
    ...(all.length > shownWarnings ? [`${all.length - shownWarnings} more warnings`] : []),
  ];
  const servers = [...new Set(shown.map((tool) => tool.server))].toSorted();
  const lines = servers.flatMap((server) => [
    `${server}:`,
    ...tools
      .slice(0, shown.length)
      .map((tool, index) => ({ tool, description: shown[index]?.description ?? '' }))
      .filter(({ tool }) => tool.server === server)
      .map(
        ({ tool, description }) =>
          `  ${tool.name}${hints(tool)}${description === '' ? '' : `: ${description}`}`,
      ),
  ]);
  const notes = [
    ...(tools.length === 0 ? ['No tools are offered to sub-agents.'] : []),
    ...(shown.length < tools.length ? [`${tools.length - shown.length} more tools are left out here`] : []),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  return {
    text: [...lines, ...notes].join('\n'),
    structured: { tools: shown, warnings, total: tools.length },
  };
}

export function tellDecision(decision: DecideResponse): ToolAnswer {
  const odds = Object.entries(decision.probabilities)
    .toSorted(([, a], [, b]) => b - a)
    .map(([label, probability]) => `${label} ${probability.toFixed(3)}`);
  const unscored = decision.unscored.length === 0 ? '' : `; not scored: ${decision.unscored.join(', ')}`;
  return { text: `${decision.label} (${odds.join(', ')}${unscored})`, structured: { ...decision } };
}
