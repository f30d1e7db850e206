/** Codes of problems with what is read from an API server, with the meaning of each. */
export const sourceErrorCodes = {
  OSM_SOURCE_KIND_MISSING:
    'the API server does not serve a kind that the mesh reads; nothing of that kind has an effect',
  OSM_SOURCE_POD: 'a pod says something about its sidecar that cannot be used',
  OSM_SOURCE_STALE: 'the API server cannot be reached; everything known before stays in force',
} as const

/** A code of {@link sourceErrorCodes}. */
export type SourceErrorCode = keyof typeof sourceErrorCodes
