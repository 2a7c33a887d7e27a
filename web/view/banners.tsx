/** What is wrong with the whole, above every view. */
import { connection } from '../api/event-stream.ts';
import { configFaults } from '../model/config.ts';
import { trouble } from '../model/live.ts';
import { poolFault } from '../model/pool.ts';

export function Banners() {
  const { state, words } = connection.value;
  return (
    <div class="banners">
      {state === 'lost' && (
        <p class="banner" role="alert">
          Not live: {words}. What is shown may be old; it is tried again.
        </p>
      )}
      {trouble.value !== null && (
        <p class="banner" role="alert">
          {trouble.value}
        </p>
      )}
      {poolFault.value !== null && (
        <p class="banner" role="alert">
          The pool is not known: {poolFault.value}
        </p>
      )}
      {configFaults.value.map(({ file, lines }) => (
        <section key={file ?? ''} class="banner" role="alert" aria-label="Configuration">
          <p>
            The configuration{file === null ? '' : ` file ${file}`} has faults as it is now; the one before
            stays in force:
          </p>
          <ul>
            {lines.map((line) => (
              <li key={line}>
                <code>{line}</code>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}
