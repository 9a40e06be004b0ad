// Where the site is: the address as a signal.

import { signal } from '@preact/signals';
import { type Address, formatAddress, parseAddress } from './address';

export const address = signal<Address>(parseAddress(location.hash));
addEventListener('hashchange', () => (address.value = parseAddress(location.hash)));

/** Puts the page's settings into the address without a new entry in the history. */
export function replaceQuery(query: Record<string, string>): void {
  const next = { page: address.peek().page, query };
  const text = formatAddress(next);
  if (text === location.hash) return;
  history.replaceState(history.state, '', text);
}
