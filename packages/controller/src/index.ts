export { controllerErrorCodes, type ControllerErrorCode } from './errors.js'
export type { ControllerOptions, RunningController } from './options.js'
export { startController } from './start-controller.js'
