export * from './snapshot.js'
