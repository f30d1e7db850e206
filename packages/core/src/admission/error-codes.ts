/** Codes of errors of the webhooks' frame, with the meaning of each. */
export const admissionErrorCodes = {
  OSM_ADMISSION_REVIEW:
    'a request to a webhook is no AdmissionReview of admission.k8s.io/v1, is nested too deeply, or has a name that Kubernetes does not allow',
  OSM_ADMISSION_CLIENT_CA:
    'the file with the CA of those who may call a webhook can not be read or holds no certificate',
} as const

/** A code of {@link admissionErrorCodes}. */
export type AdmissionErrorCode = keyof typeof admissionErrorCodes
