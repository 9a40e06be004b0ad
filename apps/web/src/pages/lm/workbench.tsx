// The page with a text or a model: what it is, the settings beside it, then the run and what it writes.

import { PageError } from '../../components/alert';
import { PageDrop } from '../../components/file_drop';
import { AttentionPanel } from './attention/attention_panel';
import { saveModel, takeFiles } from './controller';
import { RunPanel } from './run/run_panel';
import { run, runError, starting } from './run/run';
import { SettingsPanel } from './settings/settings_panel';
import { openError, text } from './text/text';
import { TextPanel } from './text/text_panel';
import { WritePanel } from './write/write_panel';

export function Workbench() {
  return (
    <div class={`workbench${text.value ? '' : ' workbench-plain'}`}>
      <PageDrop onFiles={takeFiles} onOver={() => {}} />
      <h1 class="unseen">Language model</h1>
      <div class="texts">
        <TextPanel />
      </div>
      {text.value && <SettingsPanel />}
      <div class="run">
        <PageError errors={[openError, runError]} />
        {run.value ? (
          <RunPanel run={run.value} />
        ) : (
          text.value && (
            <p class="placeholder">
              {starting.value
                ? 'Setting up the run …'
                : 'Press Train: the loss appears here while the model learns, with what it writes by then.'}
            </p>
          )
        )}
        <WritePanel />
        <AttentionPanel />
        {run.value && run.value.state !== 'failed' && <Keep />}
      </div>
    </div>
  );
}

function Keep() {
  return (
    <section aria-labelledby="keep-title">
      <h2 id="keep-title">Keep it</h2>
      <ul class="downloads">
        <li>
          <button type="button" onClick={() => void saveModel('run')}>
            Save model
          </button>
          <span class="note">
            A ZIP of config.json, model.safetensors and tokenizer.json: for this page, the tabgrad shell program, and
            Hugging Face’s transformers where the model is of GPT-2’s shape.
          </span>
        </li>
      </ul>
    </section>
  );
}
