/** Codes of errors that end a program of the control plane before or while it starts. */
export const programErrorCodes = {
  OSM_PROGRAM_FLAG: 'a command-line flag is unknown, missing or has an invalid value',
  OSM_PROGRAM_CERTIFICATE_MANAGER: 'flags of the certificate provider are missing or contradict each other',
  OSM_PROGRAM_LISTEN: 'a server of the program cannot listen on its address and port',
  OSM_PROGRAM_FAULT: 'the program has a bug; please report it',
} as const

/** A code of {@link programErrorCodes}. */
export type ProgramErrorCode = keyof typeof programErrorCodes
