export { checkSidecarPatch } from './patch-check.js'
export { DriverRegistry } from './registry.js'
