// Addresses of the site as text: "#/page?key=value&…". All after the # stays in the browser, so shared settings never reach a server.

export interface Address {
  page: string;
  query: Record<string, string>;
}

export const kHomePage = 'forecast';

export function parseAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { page: path || kHomePage, query: Object.fromEntries(new URLSearchParams(query)) };
}

export function formatAddress({ page, query }: Address): string {
  const text = new URLSearchParams(query).toString();
  // Commas and slashes read better bare, and are allowed in a fragment.
  return `#/${page}${text && '?'}${text.replaceAll('%2C', ',').replaceAll('%2F', '/')}`;
}
