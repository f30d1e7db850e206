/** Codes of errors of the webhooks' frame, with the meaning of each. */
export const admissionErrorCodes = {
  OSM_ADMISSION_REVIEW:
    'a request to a webhook is no AdmissionReview of admission.k8s.io/v1, is nested too deeply, has too many values, or has a name that Kubernetes does not allow',
  OSM_ADMISSION_WORK: 'a review takes more work than one review may take, or was not done in time for all the others',
  OSM_ADMISSION_BUSY:
    'a webhook has as many requests, or large requests, under way as it takes, in all or from one address',
  OSM_ADMISSION_CLIENT_CA:
    'the file with the CA of those who may call a webhook cannot be read or holds no certificate',
} as const

/** A code of {@link admissionErrorCodes}. */
export type AdmissionErrorCode = keyof typeof admissionErrorCodes
