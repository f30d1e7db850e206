export { abandonable, type Abandonable } from './abandonable.js'
export { BoundedQueue } from './bounded-queue.js'
export { atOnce, inTurns, type Steps, type TurnsOptions } from './in-turns.js'
export { Latest } from './latest.js'
