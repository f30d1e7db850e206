/** A text of a line, or a command that stands for a fact: one of Envoy's format strings. */
export type LogPiece =
  | string
  | {
      readonly command: string
      /** Lower case; for `REQ` and `RESP`. */
      readonly header?: string
      /** The header that is taken where the first is absent. */
      readonly otherwise?: string
      /** Characters after which the value is cut. */
      readonly limit?: number
    }

/** A member of an object in the access log: a line, or an object again. */
export type LogField =
  | { readonly key: string; readonly line: readonly LogPiece[] }
  | { readonly key: string; readonly fields: readonly LogField[] }

/** What the access log says of a request or connection: one line, or an object. */
export type LogFormat = { readonly line: readonly LogPiece[] } | { readonly fields: readonly LogField[] }
