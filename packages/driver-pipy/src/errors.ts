/** Codes of this driver's errors and log entries. */
export const pipyErrorCodes = {
  OSM_PIPY_CERTIFICATE_EXPIRED:
    'a worker presented an expired certificate; it receives nothing until it presents a valid one',
  OSM_PIPY_CERTIFICATE_REFUSED:
    'a client of the repo server presented no certificate, or one that this control plane did not sign; it receives nothing',
  OSM_PIPY_CONFIG_REFUSED:
    'a worker rejected its configuration; the current one stays in force, and the rejected one is not sent again until it changes',
  OSM_PIPY_CREDENTIAL_MISSING:
    'a Secret that a policy references is unavailable; parts that need it are closed until it is available',
  OSM_PIPY_CREDENTIAL_UNUSABLE:
    'a worker cannot use the content of a Secret that a policy references; parts that need it are closed, everything else stays in force',
  OSM_PIPY_DOWNLOAD_LOST: 'a worker has an incomplete or different codebase; it is asked to reload everything',
  OSM_PIPY_DUPLICATE_WORKER:
    'several workers use the certificate of one proxy: its Secret was copied or is used by two processes',
  OSM_PIPY_NOT_ACKNOWLEDGED:
    'a worker did not acknowledge its configuration within 15 seconds; it is asked to reload everything',
  OSM_PIPY_PLUGIN_FAILED:
    'the script of a Plugin threw an error or took too many steps; the request or connection failed',
  OSM_PIPY_PLUGIN_NOT_LOADED:
    'a worker could not load the script of a Plugin; its requests and connections are refused until the script changes',
  OSM_PIPY_PLUGIN_REFUSED:
    'the script of a Plugin cannot be sent to workers: it is too long or has unsupported syntax; its requests and connections are refused',
  OSM_PIPY_REQUEST_INVALID: 'a worker sent an invalid request to the repo server',
  OSM_PIPY_TRANSLATION: 'a policy could not be translated; the last good configuration stays in force',
  OSM_PIPY_TRUST: 'the certificate or the roots of the control plane cannot be used',
  OSM_PIPY_WORKER_REFUSED:
    'a request to the repo server was refused: its certificate is invalid, belongs to another sidecar, or has too many connections',
} as const

/** A code of {@link pipyErrorCodes}. */
export type PipyErrorCode = keyof typeof pipyErrorCodes
