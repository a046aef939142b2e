/**
 * halter/pump: for whoever slices work in a Worker.
 *
 * @typedef {import('./pump/pump.js').PumpOptions} PumpOptions
 * @typedef {import('./pump/pump.js').Turn} Turn
 * @typedef {import('./pump/pump.js').Span} Span
 * @typedef {import('./pump/yield.js').Strategy} Strategy
 * @typedef {import('./pump/audit.js').Audit} Audit
 *
 * @module
 */
export {auditLoop} from './pump/audit.js';
export {Histogram} from './pump/histogram.js';
export {Pump} from './pump/pump.js';
export {strategies} from './pump/yield.js';
