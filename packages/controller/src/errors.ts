/** Codes of errors of the controller program. */
export const controllerErrorCodes = {
  OSM_CONTROLLER_LISTEN: 'a server of the controller cannot listen on its port',
} as const

/** A code of {@link controllerErrorCodes}. */
export type ControllerErrorCode = keyof typeof controllerErrorCodes
