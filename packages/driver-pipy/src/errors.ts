/** Codes of this driver's errors and log entries, with the meaning of each. */
export const pipyErrorCodes = {
  OSM_PIPY_CERTIFICATE_EXPIRED:
    'a worker showed a certificate that has expired; it is told nothing until it has another',
  OSM_PIPY_CERTIFICATE_REFUSED:
    'somebody showed the repo server no certificate, or one that this control plane has not signed; nothing was told',
  OSM_PIPY_CONFIG_REFUSED:
    'a worker refused its configuration; what it has stays in force, and it is not sent that one again before it changes',
  OSM_PIPY_CREDENTIAL_MISSING:
    'a Secret that a policy references is unavailable; parts that need it are closed until it is available',
  OSM_PIPY_CREDENTIAL_UNUSABLE:
    'a worker cannot use what stands in a Secret that a policy names; what needs it is closed, and everything else goes on',
  OSM_PIPY_DOWNLOAD_LOST:
    'a worker has not got all of its codebase, or runs another one; it is asked to reload everything',
  OSM_PIPY_DUPLICATE_WORKER:
    'several workers use the certificate of one proxy: its Secret was copied, or two processes were started with it',
  OSM_PIPY_NOT_ACKNOWLEDGED:
    'a worker has not acknowledged its configuration in 15 seconds; it is asked to reload everything',
  OSM_PIPY_PLUGIN_FAILED:
    'a script of a Plugin threw, or took too many steps; each time it cost one request or connection',
  OSM_PIPY_PLUGIN_NOT_LOADED:
    'a worker could not load the script of a Plugin; what would come to it is refused until the script is another one',
  OSM_PIPY_PLUGIN_REFUSED:
    'the script of a Plugin cannot go to workers: it is too long, or made of what Pipy does not read; what would come to it is refused',
  OSM_PIPY_REQUEST_INVALID:
    'a worker asked for something that the repo server does not have, in a way that no worker does',
  OSM_PIPY_TRANSLATION: 'a policy could not be translated; the last good configuration stays',
  OSM_PIPY_TRUST: 'the certificate or the roots of the control plane cannot be used',
  OSM_PIPY_WORKER_REFUSED:
    'a request to the repo server was refused: its certificate is not accepted, is that of another sidecar, or has too many connections',
} as const

/** A code of {@link pipyErrorCodes}. */
export type PipyErrorCode = keyof typeof pipyErrorCodes
