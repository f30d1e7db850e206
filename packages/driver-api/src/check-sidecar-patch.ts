import { annotationPrefix, driverKey } from './driver-name.js'
import { OsmError } from './errors.js'
import type { SidecarPatch, Value } from './sidecar-patch.js'

const FILE_NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/
const CONTAINER_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const BINARY = /^[A-Za-z0-9/._-]+$/
const MAX_FILE_CHARACTERS = 1 << 20

/**
 * Refuses a sidecar patch that exceeds the permissions of a driver.
 *
 * The type {@link SidecarPatch} cannot express host namespaces, privileges or foreign containers; this function checks the values.
 *
 * @throws OsmError `OSM_DRIVER_PATCH_REFUSED`, listing every reason
 */
export function checkSidecarPatch(patch: SidecarPatch, driverName: string): void {
  const reasons = [...sidecarReasons(patch), ...fileReasons(patch), ...surroundingReasons(patch, driverKey(driverName))]
  if (reasons.length === 0) return
  throw new OsmError(
    'OSM_DRIVER_PATCH_REFUSED',
    `the patch of driver ${driverName} is refused: ${reasons.join('; ')}`,
    {
      details: { driver: driverName, reasons },
    },
  )
}

function* sidecarReasons(patch: SidecarPatch): Generator<string> {
  const { sidecar } = patch
  if (sidecar.security.runAsUser === 0) yield 'the sidecar must not run as root'
  if (!BINARY.test(sidecar.binary))
    yield `sidecar.binary ${JSON.stringify(sidecar.binary)} is not a plain file name or path`
  if (sidecar.image === '') yield 'sidecar.image is empty'
  for (const port of sidecar.ports) {
    if (!CONTAINER_NAME.test(port.name) || port.name.length > 15)
      yield `port name ${JSON.stringify(port.name)} is not a DNS label of at most 15 characters`
    if (!isPort(port.port)) yield `port ${port.name} is ${port.port}, outside 1 to 65535`
  }
  for (const { name } of sidecar.env)
    if (!ENV_NAME.test(name)) yield `environment name ${JSON.stringify(name)} is malformed`
  const known = new Set(patch.files.map((file) => file.path))
  for (const value of [...(sidecar.initWrapper ?? []), ...sidecar.args])
    if (typeof value !== 'string') yield* unknownFiles(value, known)
  for (const { value } of sidecar.env) if (typeof value !== 'string') yield* unknownFiles(value, known)
  if (patch.admin !== undefined && !isPort(patch.admin.port))
    yield `admin port ${patch.admin.port} is outside 1 to 65535`
  if (!isPort(patch.ready.http.port)) yield `ready port ${patch.ready.http.port} is outside 1 to 65535`
  if (patch.interception?.proxyUid === 0) yield 'interception cannot leave traffic of uid 0 alone'
}

function* fileReasons(patch: SidecarPatch): Generator<string> {
  const seen = new Set<string>()
  for (const { path, content } of patch.files) {
    if (!FILE_NAME.test(path))
      yield `file name ${JSON.stringify(path)} is not made of lower-case letters, digits, ".", "_" and "-"`
    if (seen.has(path)) yield `file ${path} is given twice`
    seen.add(path)
    if (!('text' in content)) continue
    const length =
      typeof content.text === 'string'
        ? content.text.length
        : content.text.reduce((sum, piece) => sum + (typeof piece === 'string' ? piece.length : 0), 0)
    if (length > MAX_FILE_CHARACTERS) yield `file ${path} has ${length} characters, more than ${MAX_FILE_CHARACTERS}`
  }
  for (const { content } of patch.files)
    if ('text' in content && typeof content.text !== 'string') yield* unknownFiles(content.text, seen)
}

function* surroundingReasons(patch: SidecarPatch, driver: string): Generator<string> {
  const prefix = annotationPrefix(driver)
  for (const key of Object.keys(patch.annotations)) {
    if (!key.startsWith(prefix)) yield `annotation ${JSON.stringify(key)} is outside the driver's prefix ${prefix}`
  }
  for (const init of patch.initContainers) {
    if (!CONTAINER_NAME.test(init.name) || !init.name.startsWith(`${driver}-`)) {
      yield `init container ${JSON.stringify(init.name)} must be a DNS label that starts with ${driver}-`
    }
  }
  for (const volume of patch.volumes) {
    if (!CONTAINER_NAME.test(volume.name) || !volume.name.startsWith(`${driver}-`)) {
      yield `volume ${JSON.stringify(volume.name)} must be a DNS label that starts with ${driver}-`
    }
    if (!volume.mountPath.startsWith('/') || volume.mountPath.includes('..') || volume.mountPath.includes(':')) {
      yield `volume ${volume.name} is mounted at ${JSON.stringify(volume.mountPath)}, which is not a plain absolute path`
    }
  }
}

function* unknownFiles(value: Exclude<Value, string>, known: ReadonlySet<string>): Generator<string> {
  for (const piece of value) {
    if (typeof piece !== 'string' && piece.ref === 'file' && !known.has(piece.path))
      yield `file ${JSON.stringify(piece.path)} is referred to but not given`
  }
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65535
}
