/** trouble.js: what went wrong, and what is worth knowing, above the page until it is put away. @module */
import {byId, make} from './dom.js';

const NOTE_MS = 6000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let fades;

export function clearTrouble() {
  clearTimeout(fades);
  byId('trouble').replaceChildren();
}

/** @param {string} text @param {boolean} isNote */
function show(text, isNote) {
  clearTrouble();
  const place = byId('trouble');
  place.classList.toggle('note', isNote);
  place.append(make('p', {}, text), make('button', {type: 'button', ariaLabel: 'Put away', onclick: clearTrouble}, '×'));
  if (isNote) fades = setTimeout(clearTrouble, NOTE_MS);
}

/** An error: it stays. @param {string} text */
export function showTrouble(text) {
  show(text, false);
}

/** News: it goes away by itself. @param {string} text */
export function showNote(text) {
  show(text, true);
}
