// A static server on 127.0.0.1 for tests and benches: folders under URL prefixes, with or without cross-origin isolation,
// below any base path. A page hands its result back by POST to /__result.
//
// Not a server for users (tools serve apps/web for them): it caches nothing and knows only the types in kTypes.
// Nothing outside the mounted folders is served; a POSTed result is kept until somebody takes it.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, resolve, sep } from 'node:path';

const kTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.map': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.wasm': 'application/wasm',
  '.csv': 'text/csv',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

export interface ServerOptions {
  /** Send the COOP and COEP headers that give a page threads (default true). */
  isolated?: boolean;
  /** Everything is served below this path, as on a project page of a static host (default '/'). */
  base?: string;
  /** 0 takes a free port. A test that stops a server and starts it again at its address names the port. */
  port?: number;
  /** More headers for every answer, such as a Content-Security-Policy. */
  headers?: Record<string, string>;
}

export interface Server {
  /** "http://127.0.0.1:PORT" */
  origin: string;
  /** Origin and base path, ending in a slash. */
  url: string;
  port: number;
  /** Paths asked for, in order. */
  requests: string[];
  /** The oldest result that nobody took yet, waited for. */
  result(): Promise<unknown>;
  close(): Promise<void>;
}

/** Serves folders: a path for '/', or URL prefixes to folders, of which the longest match wins. */
export async function serve(folders: string | Record<string, string>, options: ServerOptions = {}): Promise<Server> {
  const { isolated = true, base = '/', port = 0, headers = {} } = options;
  const mounts = Object.entries(typeof folders === 'string' ? { '/': folders } : folders)
    .map(([prefix, folder]) => [prefix.endsWith('/') ? prefix : `${prefix}/`, resolve(folder)] as const)
    .sort((a, b) => b[0].length - a[0].length);
  const requests: string[] = [];
  const results: unknown[] = [];
  const waiting: ((value: unknown) => void)[] = [];
  const common = {
    'cache-control': 'no-cache',
    ...(isolated && {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-resource-policy': 'same-origin',
    }),
    ...headers,
  };
  const end = (response: ServerResponse, status: number, text = '') =>
    response.writeHead(status, { ...common, 'content-type': 'text/plain; charset=utf-8' }).end(text);

  const find = async (path: string): Promise<string | null> => {
    if (!path.startsWith(base)) return null;
    const below = `/${path.slice(base.length)}`;
    for (const [prefix, folder] of mounts) {
      if (!below.startsWith(prefix)) continue;
      const file = join(folder, below.slice(prefix.length));
      if (file !== folder && !file.startsWith(folder + sep)) continue;
      const found = await stat(file).catch(() => null);
      if (found?.isFile()) return file;
      if (found?.isDirectory() && below.endsWith('/') && (await stat(join(file, 'index.html')).catch(() => null)))
        return join(file, 'index.html');
    }
    return null;
  };

  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    let value: unknown;
    try {
      value = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch (error) {
      return end(response, 400, `not JSON: ${error}`);
    }
    const next = waiting.shift();
    if (next) next(value);
    else results.push(value);
    end(response, 204);
  };

  const server = createServer((request, response) => {
    void (async () => {
      const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
      requests.push(path);
      if (request.method === 'POST' && path === '/__result') return take(request, response);
      if (path === '/favicon.ico') return end(response, 204);
      const file = await find(path);
      if (!file) return end(response, 404, `no ${path}`);
      response.writeHead(200, { ...common, 'content-type': kTypes[extname(file)] ?? 'application/octet-stream' });
      createReadStream(file).pipe(response);
    })().catch((error) => end(response, 500, String(error)));
  });
  await new Promise<void>((ready, failed) => server.once('error', failed).listen(port, '127.0.0.1', ready));
  const at = (server.address() as AddressInfo).port;
  return {
    origin: `http://127.0.0.1:${at}`,
    url: `http://127.0.0.1:${at}${base}`,
    port: at,
    requests,
    result: () => (results.length ? Promise.resolve(results.shift()) : new Promise((done) => waiting.push(done))),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
