// Lets an alert through once in five minutes, and says how many like it were held back. It keeps
// state between records, so it is for one guest (--jobs 1): each guest has globals of its own.
//
//   halter run dedupe.js dedupe.in.ndjson

const quietMs = 5 * 60 * 1000;
const mostKept = 10000; // so that memory does not grow with the stream
const seen = new Map();

globalThis.transform = alert => {
  const at = Date.parse(alert.time);
  const key = JSON.stringify([alert.service, alert.name]);
  const last = seen.get(key);
  if (last && at - last.at < quietMs) {
    last.held++;
    return undefined;
  }
  seen.delete(key); // so that the map's order is that of the last alert let through
  seen.set(key, { at, held: 0 });
  if (seen.size > mostKept) seen.delete(seen.keys().next().value);
  return last?.held ? { ...alert, heldBack: last.held } : alert;
};
