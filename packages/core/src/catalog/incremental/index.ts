export type { QueryCount } from './counters.js'
export { Engine, touched, type Touched } from './engine.js'
export { deepEqual, sameItems } from './equality.js'
export { defineInput, defineQuery, textKey, type Input, type Query, type QueryContext } from './query.js'
