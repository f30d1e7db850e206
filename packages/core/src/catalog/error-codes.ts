/** Codes of problems and errors of the catalog, with the meaning of each. */
export const catalogErrorCodes = {
  OSM_QUERY_CYCLE: 'a query of the catalog reads itself; this is a fault of the program',
  OSM_QUERY_MISUSE: 'a query of the catalog is used against its rules; this is a fault of the program',
} as const

/** A code of {@link catalogErrorCodes}. */
export type CatalogErrorCode = keyof typeof catalogErrorCodes
