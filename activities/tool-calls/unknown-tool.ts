/** What the model is told when it names a tool that does not exist. Pure. */
import type { ListedTool } from '../../contracts/tool-listing.ts';
import type { CallRefusal } from '../activity-types.ts';

const mostHints = 3;
const mostListed = 30;

export function unknownToolRefusal(name: string, tools: readonly ListedTool[]): CallRefusal {
  const shown = name === '' ? 'a tool without a name' : `'${name.slice(0, 64)}'`;
  const hints = similarTools(name, tools);
  const known = tools.slice(0, mostListed).map((tool) => tool.name);
  const advice =
    hints.length > 0
      ? `Did you mean ${hints.map((hint) => `'${hint}'`).join(' or ')}?`
      : known.length > 0
        ? `The tools are: ${known.join(', ')}${tools.length > known.length ? ', …' : ''}.`
        : 'There are no tools here; answer without one.';
  return { kind: 'unknown-tool', text: `Error: there is no tool ${shown}, so nothing was run. ${advice}` };
}

/** Names that differ in case, punctuation or the server's part only, then those that contain the name. */
function similarTools(name: string, tools: readonly ListedTool[]): string[] {
  const wanted = reduce(name);
  if (wanted === '') return [];
  const equal = tools.filter((tool) => reduce(tool.name) === wanted || reduce(tool.serverTool) === wanted);
  const near = equal.length > 0 ? equal : tools.filter((tool) => contains(reduce(tool.name), wanted));
  return near.slice(0, mostHints).map((tool) => tool.name);
}

function contains(name: string, wanted: string): boolean {
  return wanted.length >= 4 && (name.includes(wanted) || wanted.includes(name));
}

function reduce(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
