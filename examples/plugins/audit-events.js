// Webhook events of a code host, reshaped into one flat audit record a change; the rest is dropped
// (transform returns undefined). Dates become UTC, and every record has the same keys.
//
//   halter run audit-events.js audit-events.in.ndjson

const kinds = {
  push: event => event.commits.map(commit => commit.id.slice(0, 8)).join(' '),
  pull_request: event => `#${event.number} ${event.action}`,
  member: event => `${event.action} ${event.member.login}`,
  branch_protection: event => `${event.action} ${event.rule}`,
};

globalThis.transform = ({ type, actor, repository, at, payload }) => {
  if (!Object.hasOwn(kinds, type)) return undefined;
  return {
    time: new Date(at).toISOString(),
    who: actor?.login ?? 'unknown',
    where: repository.full_name,
    what: type,
    detail: kinds[type](payload),
    risky: type === 'branch_protection' || payload.forced === true,
  };
};
