/** What an HTTPRoute of the Gateway API says. */
export interface HttpRouteSpec {
  readonly parentRefs?: readonly ParentRef[]
  readonly rules?: readonly RouteRule[]
}

interface ParentRef {
  readonly group?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name: string
  readonly sectionName?: string
  readonly port?: number
}

export interface RouteRule {
  readonly matches?: readonly RouteMatch[]
  readonly filters?: readonly RouteFilter[]
  readonly backendRefs?: readonly BackendRef[]
}

export interface RouteMatch {
  readonly path?: { readonly type?: string; readonly value?: string }
  readonly headers?: readonly ValueMatch[]
  readonly queryParams?: readonly ValueMatch[]
  readonly method?: string
}

export interface ValueMatch {
  readonly type?: string
  readonly name: string
  readonly value: string
}

export interface RouteFilter {
  readonly type: string
  readonly requestHeaderModifier?: HeaderModifier
  readonly responseHeaderModifier?: HeaderModifier
  readonly requestRedirect?: {
    readonly scheme?: string
    readonly hostname?: string
    readonly port?: number
    readonly statusCode?: number
    readonly path?: PathModifier
  }
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier }
}

export interface HeaderModifier {
  readonly set?: readonly NamedValue[]
  readonly add?: readonly NamedValue[]
  readonly remove?: readonly string[]
}

export interface NamedValue {
  readonly name: string
  readonly value: string
}

export interface PathModifier {
  readonly type: string
  readonly replaceFullPath?: string
  readonly replacePrefixMatch?: string
}

export interface BackendRef {
  readonly group?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name: string
  readonly port?: number
  readonly weight?: number
  readonly filters?: readonly RouteFilter[]
}
