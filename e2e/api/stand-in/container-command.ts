import type { Container, EnvironmentVariable, Pod } from './objects.js'

/** Reads a key of a Secret or ConfigMap of the pod's namespace; undefined if there is none. */
export type ReadKey = (kind: 'Secret' | 'ConfigMap', name: string, key: string) => Promise<string | undefined>

/** What a container is about to run. */
export interface ContainerCommand {
  readonly argv: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
}

/** Programs by the last word of an image's name: what its entry point is. */
export type Images = Readonly<Record<string, readonly [string, ...string[]]>>

/**
 * The command of a container as the kubelet would make it: with the environment of its pod, and references to variables expanded.
 */
export async function commandOf(
  container: Container,
  { pod, images, read }: { readonly pod: Pod; readonly images: Images; readonly read: ReadKey },
): Promise<ContainerCommand> {
  const env: Record<string, string> = {}
  for (const variable of container.env ?? []) {
    const value = await valueOf(variable, pod, env, read)
    if (value !== undefined) env[variable.name] = value
  }
  const program = images[imageName(container.image)]
  const command =
    program === undefined ? (container.command ?? []) : [...program, ...(container.command ?? []).slice(1)]
  const words = [...command, ...(container.args ?? [])].map((word) => expand(word, env))
  const [file, ...args] = words
  if (file === undefined || command.length === 0) throw new Error(`nothing here stands for image ${container.image}`)
  return { argv: [file, ...args], env }
}

/** `registry/team/name:tag@digest` → `name` */
function imageName(image: string): string {
  return image.replace(/@.*$/, '').replace(/^.*\//, '').replace(/:.*$/, '')
}

/** `$(NAME)` stands for a variable that was defined before, `$$` for a dollar sign. */
function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^)]+)\)/g, (match, name?: string) =>
    name === undefined ? '$' : (env[name] ?? match),
  )
}

async function valueOf(
  { value, valueFrom }: EnvironmentVariable,
  pod: Pod,
  env: Readonly<Record<string, string>>,
  read: ReadKey,
): Promise<string | undefined> {
  if (valueFrom?.fieldRef !== undefined) return fieldOf(pod, valueFrom.fieldRef.fieldPath)
  const { secretKeyRef: secret, configMapKeyRef: map } = valueFrom ?? {}
  if (secret !== undefined) return required(await read('Secret', secret.name, secret.key), secret)
  if (map !== undefined) return required(await read('ConfigMap', map.name, map.key), map)
  return expand(value ?? '', env)
}

function required(
  value: string | undefined,
  ref: { readonly name: string; readonly key: string; readonly optional?: boolean },
): string | undefined {
  if (value === undefined && ref.optional !== true) throw new Error(`${ref.name} has no key ${ref.key}`)
  return value
}

/** A field as the downward API gives it. */
export function fieldOf(pod: Pod, path: string): string {
  const { metadata, spec, status } = pod
  const [, kind, key] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path) ?? []
  if (kind !== undefined && key !== undefined) return metadata[kind as 'labels' | 'annotations']?.[key] ?? ''
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.serviceAccountName': spec.serviceAccountName,
    'spec.nodeName': 'stand-in',
    'status.podIP': status?.podIP,
    'status.podIPs': status?.podIP,
    'status.hostIP': status?.podIP,
  }
  const value = fields[path]
  if (value === undefined) throw new Error(`the stand-in knows no field ${path}`)
  return value
}
