// What all pages share: header with navigation, how the engine runs here, footer.

import type { ComponentType } from 'preact';
import { ForecastPage } from '../pages/forecast/forecast_page';
import { kPageName } from '../pages/lm/controller';
import { LmPage } from '../pages/lm/lm_page';
import { later } from './later';
import { RuntimeLine } from './runtime_line';
import { kHomePage } from './address';
import { address } from './routes';

interface Page {
  name: string;
  title: string;
  view: ComponentType;
}

/** One row a page: its name in the address, its title in the navigation. */
const kPages: Page[] = [
  { name: kHomePage, title: 'Forecast', view: ForecastPage },
  { name: kPageName, title: 'Language model', view: LmPage },
  { name: 'speed', title: 'Speed', view: later(() => import('../pages/speed/speed_page')) },
  { name: 'dispatch', title: 'Dispatch', view: later(() => import('../pages/dispatch/dispatch_page')) },
];

export function Shell() {
  const page = kPages.find((known) => known.name === address.value.page);
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to content
      </a>
      <header class="site-header">
        <a class="wordmark" href="#/">
          <Mark />
          tabgrad
        </a>
        <nav aria-label="Pages">
          {kPages.map(({ name, title }) => (
            <a key={name} href={`#/${name}`} aria-current={page?.name === name ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        {page ? <page.view /> : <NoSuchPage />}
      </main>
      <footer class="site-footer">
        <RuntimeLine />
      </footer>
    </>
  );
}

/** The address after # names the page, so a plain link to #main would leave it. */
function skipToMain(event: Event) {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function NoSuchPage() {
  return (
    <section class="intro">
      <h1>There is no such page</h1>
      <p>
        The address may be mistyped or of another version. <a href="#/">Go to the forecast page.</a>
      </p>
    </section>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M2 6 C7 6 7 17 12 17" />
      <path class="mark-fan" d="M12 17 L22 8 L22 15 Z" />
      <path d="M12 17 L22 11.5" />
    </svg>
  );
}
