/** Which tools a run may use, and which of them wait for approval each time. */
import type { ToolListing } from '../api/types.ts';
import type { SpawnForm } from '../model/spawn-form.ts';

interface SpawnToolsProps {
  readonly form: SpawnForm;
  readonly onChange: (part: Partial<SpawnForm>) => void;
  readonly listing: ToolListing;
}

export function SpawnTools({ form, onChange, listing }: SpawnToolsProps) {
  const all = listing.tools.map(({ name }) => name);
  const chosen = form.tools ?? all;
  const toggle = (name: string): void => {
    const next = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
    onChange({
      tools: next.length === all.length ? null : next,
      approveTools: form.approveTools.filter((one) => next.includes(one)),
    });
  };
  const toggleApproval = (name: string): void => {
    const { approveTools } = form;
    onChange({
      approveTools: approveTools.includes(name)
        ? approveTools.filter((one) => one !== name)
        : [...approveTools, name],
    });
  };
  return (
    <details>
      <summary>
        Tools: {form.tools === null ? `all ${all.length}` : `${chosen.length} of ${all.length}`}
        {form.approveTools.length > 0 && `, ${form.approveTools.length} with approval`}
      </summary>
      {listing.warnings.map((warning) => (
        <p key={warning} class="fault">
          {warning}
        </p>
      ))}
      <p class="actions">
        <button type="button" onClick={() => onChange({ tools: null })}>
          All
        </button>
        <button type="button" onClick={() => onChange({ tools: [], approveTools: [] })}>
          None
        </button>
      </p>
      <ul class="tools">
        {listing.tools.map((tool) => {
          const { name, annotations } = tool;
          const isMarked = annotations.destructiveHint === true && annotations.readOnlyHint !== true;
          const isOn = chosen.includes(name);
          return (
            <li key={name}>
              <label class="check" title={tool.description}>
                <input type="checkbox" checked={isOn} onChange={() => toggle(name)} />
                <code>{name}</code>
              </label>
              <label class="check">
                <input
                  type="checkbox"
                  checked={isMarked || form.approveTools.includes(name)}
                  disabled={isMarked || !isOn}
                  aria-label={`Approve each call of ${name}`}
                  onChange={() => toggleApproval(name)}
                />
                {isMarked ? 'approve (destructive)' : 'approve'}
              </label>
            </li>
          );
        })}
      </ul>
    </details>
  );
}
