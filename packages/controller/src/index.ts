export { controllerErrorCodes, type ControllerErrorCode } from './errors.js'
export type { Attachment, ControllerOptions, RunningController } from './options.js'
export { startController } from './start-controller.js'
export { providerOpener } from './certificates/provider-opener.js'
export { choicesOfObjects } from './certificates/provider-choice.js'
export {
  instanceSpecOf,
  isShownTwice,
  type Machine,
  machineRefusals,
  type Machines,
  MAX_MACHINES,
  type StoredMachine,
  warnOfMissingListeners,
  WithheldVariables,
  warnOfSilence,
} from './machines/machine.js'
export { machineEnrolment } from './machines/machine-enrolment.js'
