/** Codes of problems with what is read from an API server, with the meaning of each. */
export const sourceErrorCodes = {
  OSM_SOURCE_KIND_MISSING:
    'the API server does not serve a kind that the mesh reads; nothing of that kind has an effect',
  OSM_SOURCE_POD: 'a pod has an invalid setting for its sidecar',
  OSM_SOURCE_STALE: 'the API server is unavailable; the last known state stays in force',
} as const

/** A code of {@link sourceErrorCodes}. */
export type SourceErrorCode = keyof typeof sourceErrorCodes
