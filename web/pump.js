/** halter/pump: for whoever slices work in a Worker. @module */
export {auditLoop} from './pump/audit.js';
export {Histogram} from './pump/histogram.js';
export {Pump} from './pump/pump.js';
export {strategies} from './pump/yield.js';
