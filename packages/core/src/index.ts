export * from './endpoints/index.js'
export * from './problem.js'
export * from './snapshot/index.js'
export * from './spec/index.js'
