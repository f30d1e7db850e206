export { abandonable, type Abandonable } from './abandonable.js'
export { BoundedQueue } from './bounded-queue.js'
export { Latest } from './latest.js'
