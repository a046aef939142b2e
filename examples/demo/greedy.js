// Counts clients, and keeps what it has seen. On one line it is asked for "all", and takes all the
// memory there is.

const clients = new Map();

globalThis.transform = line => {
  const client = line.slice(0, line.indexOf(' '));
  clients.set(client, (clients.get(client) ?? 0) + 1);
  const kept = [];
  while (line.includes('/export?range=all')) kept.push(new Uint8Array(4 << 20).fill(1));
  return `${client.slice(0, client.indexOf('.'))} ${line.length}`;
};
