/** Codes of errors that stop a program of the control plane at start-up. */
export const programErrorCodes = {
  OSM_PROGRAM_FLAG: 'a command-line flag is unknown, missing or has an invalid value',
  OSM_PROGRAM_CERTIFICATE_MANAGER: 'flags of the certificate provider are missing or contradict each other',
  OSM_PROGRAM_LISTEN: 'a server of the program cannot listen on its address and port',
  OSM_PROGRAM_FAULT: 'the program has a bug; please report it',
} as const

/** A code of {@link programErrorCodes}. */
export type ProgramErrorCode = keyof typeof programErrorCodes

/** Codes of errors of the webhook server. */
export const admissionErrorCodes = {
  OSM_ADMISSION_REVIEW:
    'a request to a webhook is not an AdmissionReview of admission.k8s.io/v1, is nested too deeply, has too many values, or has a name that Kubernetes does not allow',
  OSM_ADMISSION_WORK:
    'a review exceeds the limit of work per review, or could not be completed in time because of other reviews',
  OSM_ADMISSION_BUSY:
    'a webhook has reached its limit of concurrent requests or large requests, in total or from one address',
  OSM_ADMISSION_CLIENT_CA: 'the file with the CA for webhook clients cannot be read or contains no certificate',
} as const

/** A code of {@link admissionErrorCodes}. */
export type AdmissionErrorCode = keyof typeof admissionErrorCodes
