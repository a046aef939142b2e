// The transform that all ways run: a realistic reshaping of an event.
globalThis.transform = event => ({
  time: event.at,
  who: event.actor.login,
  where: event.repository.full_name,
  what: event.type,
  risky: event.payload.forced || event.actor.admin,
  text: event.payload.message.toUpperCase(),
});
