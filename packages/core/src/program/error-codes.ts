/** Codes of errors that end a program of the control plane before or while it starts. */
export const programErrorCodes = {
  OSM_PROGRAM_FLAG: 'a command-line flag is unknown, missing or has a value that it cannot have',
  OSM_PROGRAM_CERTIFICATE_MANAGER: 'the certificate provider that the flags name is not available in this version',
  OSM_PROGRAM_LISTEN: 'a server of the program cannot listen on its address and port',
  OSM_PROGRAM_FAULT: 'the program met a fault of its own; this is worth a report',
} as const

/** A code of {@link programErrorCodes}. */
export type ProgramErrorCode = keyof typeof programErrorCodes
