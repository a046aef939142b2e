// A status line from a snapshot of a terminal's tabs: what a prompt or a window title shows.
//
//   halter run status-line.js status-line.in.ndjson

const marks = { failed: '✗', waiting: '…', running: '▶', idle: '·' };
const order = Object.keys(marks);

/** The end of a path says more than its beginning. */
const short = path => path.length <= 18 ? path : '…' + path.slice(-17);

globalThis.transform = ({ tabs = [], focus = 0 }) => {
  const count = Object.fromEntries(order.map(state => [state, 0]));
  for (const tab of tabs) count[tab.state in marks ? tab.state : 'idle']++;
  const counts = order.filter(state => count[state] > 0).map(state => marks[state] + count[state]);
  const tab = tabs[focus];
  const where = tab ? [tab.title, short(tab.cwd ?? '')].filter(Boolean).join(' in ') : 'no tab';
  return { text: [where, counts.join(' ')].filter(Boolean).join(' | '), alert: count.failed > 0 };
};
