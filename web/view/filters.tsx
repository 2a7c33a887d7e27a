/** What of all runs is listed; it stands in the address, so that it can be kept and sent. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { filter } from '../model/run-list.ts';
import { allStatuses, filterQuery, type Filter } from '../model/run-order.ts';
import { goTo } from '../model/route.ts';
import { statusText } from './status-badge.tsx';

const typingMs = 300;

function change(part: Partial<Filter>): void {
  goTo(filterQuery({ ...filter.peek(), ...part }));
}

export function Filters() {
  const now = filter.value;
  return (
    <search class="filters">
      <TextField label="Search in tasks" value={now.text} onText={(text) => change({ text })} />
      <TextField label="Caller" value={now.caller} onText={(caller) => change({ caller })} />
      <label class="field">
        <span>Class</span>
        <select
          value={now.class ?? ''}
          onChange={(event) => {
            const { value } = event.currentTarget;
            change({ class: value === 'interactive' || value === 'batch' ? value : null });
          }}
        >
          <option value="">any</option>
          <option value="interactive">interactive</option>
          <option value="batch">batch</option>
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={now.children}
          onChange={(event) => change({ children: event.currentTarget.checked })}
        />
        Sub-agents too
      </label>
      <fieldset class="chips">
        <legend class="unseen">Status</legend>
        {allStatuses.map((status) => {
          const isOn = now.statuses.includes(status);
          const others = now.statuses.filter((other) => other !== status);
          return (
            <label key={status} class={isOn ? 'chip on' : 'chip'}>
              <input
                type="checkbox"
                checked={isOn}
                onChange={() => change({ statuses: isOn ? others : [...now.statuses, status] })}
              />
              {statusText(status)}
            </label>
          );
        })}
      </fieldset>
    </search>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onText: (text: string) => void;
}

/** Takes effect when typing pauses. */
function TextField({ label, value, onText }: TextFieldProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (typed: string): void => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onText(typed.trim()), typingMs);
  };
  return (
    <label class="field">
      <span>{label}</span>
      <input type="search" value={text} onInput={(event) => type(event.currentTarget.value)} />
    </label>
  );
}
