/** Keywords that a structural schema may have outside alternatives, as far as the mesh uses any. */
const keywords = new Set([
  ...['type', 'format', 'description', 'default', 'enum', 'minimum', 'maximum', 'minItems', 'maxItems'],
  ...['items', 'properties', 'required', 'additionalProperties', 'oneOf'],
  ...['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys'],
])
const scalars = ['string', 'integer', 'number', 'boolean']

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => value !== null && typeof value === 'object' && !Array.isArray(value)
const membersOf = (node: Node): Node => (isNode(node.properties) ? node.properties : {})

/**
 * What an API server would call no structural schema, or a default that does not fit: the rules of the Kubernetes
 * documentation on custom resources, for the keywords that the mesh uses.
 */
export function faultsOfStructure(schema: unknown, path = '$'): readonly string[] {
  if (!isNode(schema)) return [`${path}: is not a schema`]
  return [
    ...Object.keys(schema).flatMap((name) => (keywords.has(name) ? [] : [`${path}: has ${name}`])),
    ...faultsOfType(schema, path),
    ...faultsOfMembers(schema, path),
    ...faultsOfList(schema, path),
    ...faultsOfDefault(schema, path),
    ...Object.entries(membersOf(schema)).flatMap(([name, member]) => faultsOfStructure(member, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : faultsOfStructure(schema.items, `${path}[]`)),
    ...(schema.additionalProperties === undefined ? [] : faultsOfStructure(schema.additionalProperties, `${path}{}`)),
  ]
}

function faultsOfType(schema: Node, path: string): readonly string[] {
  const { type } = schema
  const free = schema['x-kubernetes-preserve-unknown-fields']
  if (free !== undefined && free !== true) return [`${path}: preserves unknown fields or says nothing of it`]
  if (type === undefined) return free === true ? [] : [`${path}: has no type`]
  const known = [...scalars, 'object', 'array'].some((name) => name === type)
  if (!known) return [`${path}: its type is none`]
  if (free === true && type !== 'object') return [`${path}: only objects have unknown fields`]
  const bounds = ['minimum', 'maximum'].filter((name) => schema[name] !== undefined)
  return bounds.length > 0 && type !== 'integer' && type !== 'number' ? [`${path}: only numbers have bounds`] : []
}

function faultsOfMembers(schema: Node, path: string): readonly string[] {
  const { properties, additionalProperties, required = [], oneOf = [], type } = schema
  const found: string[] = []
  if (properties !== undefined && additionalProperties !== undefined) found.push(`${path}: is a map and has members`)
  if ((properties ?? additionalProperties) !== undefined && type !== 'object') found.push(`${path}: is not an object`)
  const alternatives = oneOf as readonly Node[]
  for (const alternative of alternatives)
    if (Object.keys(alternative).join() !== 'required') found.push(`${path}: an alternative says more than required`)
  const named = [...(required as string[]), ...alternatives.flatMap((it) => it.required as string[])]
  for (const name of named)
    if (!Object.hasOwn(membersOf(schema), name)) found.push(`${path}: demands ${name}, which it does not have`)
  return found
}

function faultsOfList(schema: Node, path: string): readonly string[] {
  const { type, items } = schema
  const keys = schema['x-kubernetes-list-map-keys']
  if ((type === 'array') !== (items !== undefined)) return [`${path}: lists have items and nothing else has`]
  if ((schema['x-kubernetes-list-type'] === 'map') !== (keys !== undefined)) return [`${path}: maps have keys`]
  if (keys === undefined || !isNode(items)) return []
  return (keys as readonly string[]).flatMap((key) => {
    const member = membersOf(items)[key]
    const fits = isNode(member) && scalars.includes(String(member.type)) && (items.required as string[]).includes(key)
    return fits ? [] : [`${path}: key ${key} is not a scalar that is always there`]
  })
}

function faultsOfDefault(schema: Node, path: string): readonly string[] {
  if (schema.default === undefined) return []
  const { default: value, type, enum: words } = schema
  const fitsType = type === 'array' ? Array.isArray(value) : typeof value === (type === 'integer' ? 'number' : type)
  const fitsWords = words === undefined || (words as readonly unknown[]).includes(value)
  return fitsType && fitsWords ? [] : [`${path}: its default does not fit`]
}
