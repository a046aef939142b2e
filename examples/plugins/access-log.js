// Lines of a web server's access log ("combined" format) as objects. A line that is none is an
// error of that line: see it with --dead-letter, or pass over it with --on-error skip.
//
//   halter run --text access-log.js access-log.in.log

const format = /^(\S+) \S+ (\S+) \[([^\]]+)\] "([A-Z]+) (\S+) ([^"]+)" (\d{3}) (\d+|-) "([^"]*)" "([^"]*)"$/;
const months = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** "02/Mar/2026:08:14:07 +0100" in ISO 8601. */
function isoTime(text) {
  const [, day, month, year, time, hours, minutes] =
    /^(\d\d)\/(\w{3})\/(\d{4}):([\d:]{8}) ([+-]\d\d)(\d\d)$/.exec(text);
  const number = String(months.indexOf(month) / 3 + 1).padStart(2, '0');
  return new Date(`${year}-${number}-${day}T${time}${hours}:${minutes}`).toISOString();
}

globalThis.transform = line => {
  const found = format.exec(line);
  if (!found) throw new SyntaxError('this line is not in the combined format');
  const [, client, user, time, method, target, protocol, status, bytes, referrer, agent] = found;
  const [path, query] = target.split('?', 2);
  return {
    time: isoTime(time), client, user: user === '-' ? null : user, method, path,
    query: query ?? null, protocol, status: Number(status), bytes: bytes === '-' ? 0 : Number(bytes),
    referrer: referrer === '-' ? null : referrer, bot: /bot|crawl|spider/i.test(agent),
  };
};
