// The page before there is a text or a model: what this is, a place for files, a box to paste into, the bundled text, runs kept
// from before.

import { useSignal } from '@preact/signals';
import { OpenArea } from '../../../components/open_area';
import { takeExample, takeFiles, takePasted } from '../controller';
import { runError, starting } from '../run/run';
import { SavedRuns } from '../saved/saved_runs';
import { kExample, openError, opening } from './text';

export const kAccept = '.txt,.md,.csv,.json,.html,.tex,.py,.js,.ts,.c,.cc,.h,.zip,.safetensors,text/*';

export function Start() {
  const reading = opening.value;
  const pasted = useSignal('');
  return (
    <div class="start">
      <section class="intro">
        <h1>Train a language model on your own text</h1>
        <p class="lead">
          A small model learns from scratch, here in this tab, to write like the text that you give it. Watch what it
          writes while it learns, then keep it: its files load in Hugging Face’s tools. Nothing leaves your device.
        </p>
      </section>

      <OpenArea
        label="Text"
        invitation="Drop text files here, or choose some"
        hint="Any UTF-8 text, from a few hundred kilobytes on: books, notes, code. Or a model that was saved before: its ZIP file."
        accept={kAccept}
        many
        reading={reading}
        starting={starting.value}
        error={openError.value ?? runError.value}
        onFiles={takeFiles}
      />

      <section>
        <h2>Or begin with a book</h2>
        <ul class="examples">
          <li>
            <button type="button" onClick={takeExample} disabled={reading !== null}>
              <strong>{kExample.title}</strong>
              <span>Herman Melville, 1851. 1.2 MB of sea, whales and obsession, free of rights.</span>
            </button>
          </li>
        </ul>
        <h2 class="paste-title">Or paste a text</h2>
        <form
          class="paste"
          onSubmit={(event) => {
            event.preventDefault();
            takePasted(pasted.value);
          }}
        >
          <textarea
            rows={4}
            aria-label="Text to learn from"
            value={pasted.value}
            onInput={(e) => (pasted.value = e.currentTarget.value)}
          />
          <button type="submit" disabled={pasted.value === '' || reading !== null}>
            Use this text
          </button>
        </form>
      </section>

      <SavedRuns />
    </div>
  );
}
