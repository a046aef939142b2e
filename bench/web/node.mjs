/**
 * node.mjs: one measurement in a Node of its own: node.mjs FILES-JSON WHAT HOW-JSON; JSON comes out.
 *
 * @module
 */
import {PC} from '../../web/pc-node.js';
import * as measure from './measure.js';

const [files, what, how] = process.argv.slice(2);
const result = await measure[/** @type {'boot'} */ (what)](/** @type {any} */ (PC), JSON.parse(files), JSON.parse(how));
if (/** @type {unknown} */ (result) instanceof PC) {
  process.stdout.write('null\n'); // an idle PC: it stays until whoever counts has counted
} else process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
