import type { JsonValue } from '@bufbuild/protobuf'
import type { Reference } from '@osm-ts/driver-api'

/** Names of the files that are beside the sidecar. */
export const files = {
  bootstrap: 'bootstrap.yaml',
  certificateSecret: 'tls_certificate_sds_secret.yaml',
  validationSecret: 'validation_context_sds_secret.yaml',
  roots: 'cacert.pem',
  certificate: 'sds_cert.pem',
  privateKey: 'sds_key.pem',
} as const

/** Member of a node's metadata that says where the sidecar has the key of its proxy certificate. */
export const KEY_FILE_METADATA = 'osm.private_key_file'

/** Members of Envoy's configuration that name files. Only this driver writes them, always with one of {@link files}. */
const FILE_MEMBERS = new Set(['path', 'filename', KEY_FILE_METADATA])

/**
 * JSON text, which is YAML as well, in which the names of files are references: only the host knows where they are. Without spaces: it is half as long, and
 * every pod of a mesh has a Secret with it.
 */
export function textWithFiles(value: JsonValue): readonly (string | Reference)[] {
  const parts: (string | Reference)[] = []
  const write = (part: string | Reference): void => {
    const last = parts.at(-1)
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part
    else parts.push(part)
  }
  print(value, write)
  write('\n')
  return parts
}

function print(value: JsonValue, write: (part: string | Reference) => void): void {
  if (typeof value !== 'object' || value === null) {
    write(JSON.stringify(value))
    return
  }
  const list = Array.isArray(value)
  write(list ? '[' : '{')
  Object.entries(value).forEach(([name, member], index) => {
    write(`${index === 0 ? '' : ','}${list ? '' : `${JSON.stringify(name)}:`}`)
    if (!list && FILE_MEMBERS.has(name) && isFile(member)) {
      write('"')
      write({ ref: 'file', path: member })
      write('"')
    } else print(member, write)
  })
  write(list ? ']' : '}')
}

function isFile(value: JsonValue): value is string {
  return (Object.values(files) as readonly JsonValue[]).includes(value)
}
