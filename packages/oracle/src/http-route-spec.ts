/** What an HTTPRoute of the Gateway API says. */
export interface HttpRouteSpec {
  readonly parentRefs?: readonly ParentRef[]
  readonly rules?: readonly RouteRule[]
}

export interface ParentRef {
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
  readonly retry?: { readonly codes?: readonly number[]; readonly attempts?: number }
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
  readonly requestMirror?: Mirror
}

export interface Mirror {
  readonly backendRef: BackendRef
  readonly percent?: number
  readonly fraction?: { readonly numerator: number; readonly denominator?: number }
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

/** What a GRPCRoute of the Gateway API says. */
export interface GrpcRouteSpec {
  readonly parentRefs?: readonly ParentRef[]
  readonly rules?: readonly (Pick<RouteRule, 'filters' | 'backendRefs'> & { readonly matches?: readonly CallMatch[] })[]
}

export interface CallMatch {
  readonly method?: { readonly type?: string; readonly service?: string; readonly method?: string }
  readonly headers?: readonly ValueMatch[]
}

/** What a TCPRoute of the Gateway API says, and a TLSRoute, which has names. */
export interface ConnectionRouteSpec {
  readonly parentRefs?: readonly ParentRef[]
  readonly hostnames?: readonly string[]
  readonly rules?: readonly { readonly backendRefs?: readonly BackendRef[] }[]
}
