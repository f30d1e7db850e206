/** Codes of this driver's errors and log entries, with the meaning of each. */
export const pipyErrorCodes = {
  OSM_PIPY_TRANSLATION: 'a policy could not be translated; the last good configuration stays',
  OSM_PIPY_TRUST: 'the certificate or the roots of the control plane can not be used',
} as const

/** A code of {@link pipyErrorCodes}. */
export type PipyErrorCode = keyof typeof pipyErrorCodes
