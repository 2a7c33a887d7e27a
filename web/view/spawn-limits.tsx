/** How much a run may do and spend. */
import type { SpawnForm } from '../model/spawn-form.ts';

interface SpawnLimitsProps {
  readonly form: SpawnForm;
  readonly onChange: (part: Partial<SpawnForm>) => void;
}

const budgets = [
  { name: 'budgetTokens', label: 'Tokens', most: 1_000_000_000_000 },
  { name: 'budgetToolCalls', label: 'Tool calls', most: 10_000_000 },
  { name: 'budgetSeconds', label: 'Seconds', most: 31_536_000 },
] as const;

const limits = [
  { name: 'maxToolCalls', label: 'Most tool calls', least: 0, most: 10_000, usual: '8' },
  { name: 'maxTokens', label: 'Most tokens a reply', least: 0, most: 1_000_000, usual: '256' },
] as const;

export function SpawnLimits({ form, onChange }: SpawnLimitsProps) {
  return (
    <details>
      <summary>Budget and limits</summary>
      <fieldset class="fields">
        <legend>Budget, of the run and all below it</legend>
        {budgets.map(({ name, label, most }) => (
          <label key={name} class="field">
            <span>{label}</span>
            <input
              type="number"
              min={1}
              max={most}
              step={1}
              placeholder="no limit"
              value={form[name]}
              onInput={(event) => onChange({ [name]: event.currentTarget.value })}
            />
          </label>
        ))}
      </fieldset>
      <fieldset class="fields">
        <legend>Limits</legend>
        {limits.map(({ name, label, least, most, usual }) => (
          <label key={name} class="field">
            <span>{label}</span>
            <input
              type="number"
              min={least}
              max={most}
              step={1}
              placeholder={usual}
              value={form[name]}
              onInput={(event) => onChange({ [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        <label class="check">
          <input
            type="checkbox"
            checked={form.parallelToolCalls}
            onChange={(event) => onChange({ parallelToolCalls: event.currentTarget.checked })}
          />
          Calls of one reply side by side
        </label>
      </fieldset>
    </details>
  );
}
