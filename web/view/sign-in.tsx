/** Asks for a token, where the server does. It is kept in this tab only. */
import { useState } from 'preact/hooks';
import { setToken } from '../api/session.ts';
import { goLive } from '../model/live.ts';

export function SignIn({ words }: { readonly words: string }) {
  const [text, setText] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    setToken(text.trim());
    goLive();
  };
  return (
    <form class="sign-in card" onSubmit={submit} aria-labelledby="sign-in-title">
      <h2 id="sign-in-title">Sign in</h2>
      <p role="alert">{words}</p>
      <label>
        Token
        <input
          type="password"
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p class="hint">It is kept in this tab until it is closed, and sent to this server only.</p>
      <button type="submit" class="primary">
        Sign in
      </button>
    </form>
  );
}
