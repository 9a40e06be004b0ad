// Service worker: keeps the app for use without a network, and adds the headers that let threads run on hosts that do not send them.
//
// Does: keeps the core files at installation and whatever else of the site is loaded (the engine's build that runs here).
// Does not: touch requests to other origins, keep people's data (the engine's worker does, in OPFS).
//
// Invariants:
// - File names under assets/ carry a hash of their content, so what is kept under such a name is never stale.
// - Pages come from the network when there is one, so a new version is seen at the next load.

export {}; // a module, so that `self` can have its own type
declare const self: ServiceWorkerGlobalScope;
declare const __VERSION__: string;
declare const __FILES__: string[];
declare const __HEADERS__: Record<string, string>;

/** A network that has not answered a page's request by then counts as none. */
const kPageTimeoutMs = 4000;

const scope = self.registration.scope;
/** Caches are the whole origin's; other copies of the site may lie under other paths. */
const kPrefix = `tabgrad-site ${new URL(scope).pathname} `;
const kCache = kPrefix + __VERSION__;
const indexUrl = new URL('index.html', scope).href;

async function install(): Promise<void> {
  const cache = await caches.open(kCache);
  await Promise.all(
    __FILES__.map(async (name) => {
      const url = new URL(name, scope).href;
      const response = await fetch(url, { cache: name.startsWith('assets/') ? 'default' : 'no-cache' });
      if (!response.ok) throw new Error(`${url}: ${response.status}`);
      await cache.put(url, response);
    }),
  );
  await self.skipWaiting();
}

async function activate(): Promise<void> {
  const names = await caches.keys();
  await Promise.all(
    names.filter((name) => name.startsWith(kPrefix) && name !== kCache).map((name) => caches.delete(name)),
  );
  await self.clients.claim();
}

function withHeaders(response: Response): Response {
  if (response.type === 'opaque' || response.type === 'opaqueredirect' || response.type === 'error') return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(__HEADERS__)) {
    if (!headers.has(name)) headers.set(name, value);
  }
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

async function page(request: Request): Promise<Response> {
  const cache = await caches.open(kCache);
  try {
    return await fetch(request, { signal: AbortSignal.timeout(kPageTimeoutMs) });
  } catch {
    return (await cache.match(indexUrl)) ?? Response.error();
  }
}

async function file(request: Request): Promise<Response> {
  const cache = await caches.open(kCache);
  const hashed = new URL(request.url).pathname.startsWith(new URL('assets/', scope).pathname);
  const found = await cache.match(request.url);
  if (found && hashed) return found;
  try {
    const response = await fetch(request);
    if (response.status === 200) await cache.put(request.url, response.clone());
    return response;
  } catch {
    return found ?? Response.error();
  }
}

self.addEventListener('install', (event) => event.waitUntil(install()));
self.addEventListener('activate', (event) => event.waitUntil(activate()));
self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method !== 'GET' || !request.url.startsWith(scope)) return;
  event.respondWith((request.mode === 'navigate' ? page(request) : file(request)).then(withHeaders));
});
