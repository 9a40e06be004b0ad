import { render } from 'preact';
import { startEngine } from './engine/engine';
import { readyForEngine } from './shell/isolation';
import { address } from './shell/routes';
import { Shell } from './shell/shell';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/controls.css';
import './styles/figures.css';
import './pages/forecast/forecast.css';
import './pages/lm/lm.css';

render(<Shell />, document.getElementById('app')!);

// threads=1 in the address holds the engine to one thread, for comparisons; else all cores.
void readyForEngine().then(() => startEngine(Number(address.peek().query.threads) || 0));
