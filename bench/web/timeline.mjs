/**
 * timeline.mjs: slices and gaps as an SVG, one strategy above the other on one axis of time.
 *
 * @module
 */

/** @typedef {{kind: string, beginMs: number, endMs: number}} Span */

const SHOWN_MS = 120;
const WIDTH = 960, LEFT = 130, RIGHT = 20, LANE = 46, TOP = 44;

/** The middle of a run, when the engine has compiled what it will. @param {Span[]} spans */
function window(spans) {
  if (!spans.length) return [];
  const middle = spans[Math.floor(spans.length / 2)].beginMs;
  return spans.filter((span) => span.beginMs >= middle && span.endMs <= middle + SHOWN_MS)
      .map((span) => ({...span, beginMs: span.beginMs - middle, endMs: span.endMs - middle}));
}

/** @param {Span[]} spans */
function duty(spans) {
  const sum = (/** @type {string} */ kind) => spans.filter((span) => span.kind === kind)
      .reduce((total, span) => total + span.endMs - span.beginMs, 0);
  return sum('slice') / (sum('slice') + sum('gap'));
}

/** @param {{name: string, note: string, spans: Span[]}[]} lanes */
export function drawTimelines(lanes) {
  const scale = (WIDTH - LEFT - RIGHT) / SHOWN_MS, x = (/** @type {number} */ ms) => (LEFT + ms * scale).toFixed(1);
  const height = TOP + lanes.length * (LANE + 16) + 40;
  const out = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">`,
    '<title id="title">Slices of work and the gaps between them, over 120 ms, for two ways to yield</title>',
    '<style>text{font:13px system-ui,sans-serif;fill:#333}.name{font-weight:600}.note,.axis{fill:#777;font-size:12px}.slice{fill:#2a7de1}',
    '.gap{fill:#f0a35e}.tick{stroke:#ccc}@media(prefers-color-scheme:dark){text{fill:#ddd}.note,.axis{fill:#999}.tick{stroke:#444}}</style>',
    `<rect class="slice" x="${LEFT}" y="12" width="12" height="12"/><text x="${LEFT + 18}" y="23">the guest runs</text>`,
    `<rect class="gap" x="${LEFT + 130}" y="12" width="12" height="12"/><text x="${LEFT + 148}" y="23">the event loop’s turn</text>`];
  lanes.forEach(({name, note, spans}, i) => {
    const y = TOP + i * (LANE + 16), shown = window(spans);
    out.push(`<text class="name" x="0" y="${y + 18}">${name}</text><text class="note" x="0" y="${y + 34}">${note}</text>`);
    for (const {kind, beginMs, endMs} of shown)
      if (kind !== 'nap') out.push(`<rect class="${kind}" x="${x(beginMs)}" y="${y}" width="${Math.max(0.4, (endMs - beginMs) * scale).toFixed(1)}" height="${LANE - 8}"/>`);
    out.push(`<text class="note" x="${LEFT}" y="${y + LANE + 6}">duty ratio ${duty(spans).toFixed(3)}</text>`);
  });
  const base = height - 24;
  for (let ms = 0; ms <= SHOWN_MS; ms += 20)
    out.push(`<line class="tick" x1="${x(ms)}" x2="${x(ms)}" y1="${base - 6}" y2="${base}"/><text class="axis" x="${x(ms)}" y="${base + 14}" text-anchor="middle">${ms}${ms === SHOWN_MS ? ' ms' : ''}</text>`);
  return `${out.join('\n')}\n</svg>\n`;
}
