// A proxy that lets nothing through and writes down what wanted out. Browsers do not send requests to 127.0.0.1 through a
// proxy, so whatever arrives here left the machine's own servers: from pages, workers, service workers, or the browser itself.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Outside {
  /** "127.0.0.1:PORT" */
  address: string;
  port: number;
  /** "host:port" of each refused tunnel, the URL of each refused plain request. */
  attempts: string[];
  close(): Promise<void>;
}

export async function refuseOutside(): Promise<Outside> {
  const attempts: string[] = [];
  const server = createServer((request, response) => {
    attempts.push(request.url ?? '?');
    response.writeHead(502).end();
  });
  server.on('connect', (request, socket) => {
    attempts.push(request.url ?? '?');
    socket.on('error', () => {});
    socket.end('HTTP/1.1 502 Refused by the test\r\n\r\n');
  });
  await new Promise<void>((ready, failed) => server.once('error', failed).listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    port,
    attempts,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
