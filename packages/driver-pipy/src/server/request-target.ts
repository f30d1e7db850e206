/** What a worker asks for, as its path says it. */
export type RequestTarget =
  /** The list of files, and where status reports go. */
  | { readonly kind: 'manifest'; readonly codebase: string }
  | { readonly kind: 'file'; readonly codebase: string; readonly path: string }
  /** The files with their ETags. */
  | { readonly kind: 'etags'; readonly codebase: string }
  /** The long poll for configuration. */
  | { readonly kind: 'config'; readonly query: URLSearchParams }
  /** Where a worker tells which plugins fail. */
  | { readonly kind: 'plugins' }

/** All codebases of sidecars are below it, as in osm-edge. */
const CODEBASE_FOLDER = 'osm-edge-sidecar'

const CODEBASE = /^[a-z0-9](?:[a-z0-9.-]{0,510}[a-z0-9])?$/
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/
const MAX_DEPTH = 8
const CONFIG = '/config'
const PLUGINS = '/plugins'
const REPO = `/repo/${CODEBASE_FOLDER}/`

/**
 * Reads the target of a request line, byte for byte: nothing is decoded and nothing normalized, so that there is one way only to name a thing. Undefined
 * for everything else: escapes, dot segments, empty segments, other hosts.
 */
export function readTarget(url: string): RequestTarget | undefined {
  const mark = url.indexOf('?')
  const path = mark < 0 ? url : url.slice(0, mark)
  if (path === CONFIG) return { kind: 'config', query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)) }
  if (mark >= 0) return undefined
  if (path === PLUGINS) return { kind: 'plugins' }
  if (!path.startsWith(REPO)) return undefined
  const [codebase = '', ...segments] = path.slice(REPO.length).split('/')
  if (!CODEBASE.test(codebase) || segments.length === 0 || segments.length > MAX_DEPTH) return undefined
  const [first] = segments
  if (segments.length === 1 && first === '') return { kind: 'manifest', codebase }
  if (segments.length === 1 && first === '_etags') return { kind: 'etags', codebase }
  if (!segments.every((segment) => SEGMENT.test(segment))) return undefined
  return { kind: 'file', codebase, path: `/${segments.join('/')}` }
}

/** Name of the codebase of a sidecar, below {@link CODEBASE_FOLDER}. */
export function codebaseName({ uuid, identity }: { readonly uuid: string; readonly identity: string }): string {
  return `${uuid}.sidecar.${identity}`
}

/** Path of the codebase of a sidecar on the repo server. */
export function codebasePath(proxy: { readonly uuid: string; readonly identity: string }): string {
  return `${REPO}${codebaseName(proxy)}/`
}
