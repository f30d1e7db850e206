export { BoundedQueue } from './bounded-queue.js'
export { Latest } from './latest.js'
